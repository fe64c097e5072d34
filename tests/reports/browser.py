"""A real browser for the tests of pages: opening a page, and what to measure in it."""

from __future__ import annotations

import shutil

import pytest
from tests.chromium import Chromium

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_a_browser = pytest.mark.skipif(not BROWSER, reason="no chromium (or google-chrome) here")
WIDE = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Relative luminance by WCAG 2; transparent backgrounds show what lies below them.
CONTRAST = """
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const rgb = (color) => {
    if (!known.has(color)) known.set(color, painted(color));
    return known.get(color);
  };
  const painted = (color) => {
    context.clearRect(0, 0, 1, 1); context.fillStyle = color; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const found = rgb(getComputedStyle(e).backgroundColor);
      if (found[3] === 255) return found;
    }
    throw new Error('no background');
  };
  const elements = document.querySelectorAll(
    'th, td, caption span, .quiet, .tag, .scale span, p, li, figcaption, code');
  return Math.min(...[...elements].map((e) => {
    const pair = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  }));
"""
# Boxes of text overlap by more than their own air only where one hides the other.
OVERLAP = """
    return [...document.querySelectorAll('svg.scatter')].flatMap((chart) => {
      const boxes = [...chart.querySelectorAll('.number')]
        .map((text) => text.getBoundingClientRect());
      return boxes.flatMap((a, k) => boxes.slice(k + 1).map((b) => [
        Math.min(a.right, b.right) - Math.max(a.left, b.left),
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)]));
    }).filter(([x, y]) => x > 2 && y > 5).length"""
# What sticks out of the window to either side.
STICKING_OUT = """return [...document.querySelectorAll('svg.scatter text, figcaption, figure p')]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1
      || e.getBoundingClientRect().left < -1).length"""


def resize(browser: Chromium, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.send("Emulation.setDeviceMetricsOverride", **size)


def emulate(browser: Chromium, scheme: str = "", media: str = "") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.send("Emulation.setEmulatedMedia", media=media, features=features)
