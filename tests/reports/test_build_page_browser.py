"""The page of a build in a real browser: readable in both themes, printed and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.builders.finished import finished, write_labels
from tests.chromium import Chromium
from tests.reports.browser import (
    CONTRAST,
    WIDE,
    browser,
    emulate,
    needs_a_browser,
    opened,
    resize,
)

from trueground.builders.quality.again import draw_again

__all__ = ["browser", "opened"]  # fixtures
pytestmark = needs_a_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    return draw_again(finished(folder / "out").path, write_labels(folder / "labels.jsonl")).page


def test_nothing_is_asked_of_the_network(browser: Chromium, page: Path) -> None:
    browser.get("about:blank")
    browser.requests()
    browser.get(page.as_uri())
    assert browser.requests() == [page.as_uri()]
    assert browser.messages() == []
    assert browser.execute_script("return window.hit === undefined")


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_only_tables_scroll_sideways(opened: Chromium, width: int) -> None:
    resize(opened, width)
    assert opened.execute_script(WIDE) == 0
    cut = """return [...document.querySelectorAll('main :not(.scroll *, svg *, .hidden)')]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert opened.execute_script(cut) == 0


def test_names_have_room_on_a_phone(opened: Chromium) -> None:
    resize(opened, 320)
    script = """return Math.min(...[...document.querySelectorAll('.bars th, .funnel tbody th')]
        .filter((e) => e.offsetParent).map((e) => e.getBoundingClientRect().width))"""
    assert opened.execute_script(script) > 200


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes(opened: Chromium, scheme: str) -> None:
    emulate(opened, scheme)
    assert opened.execute_script(CONTRAST) >= 4.5
    emulate(opened)


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    emulate(opened)


def test_bars_are_as_long_as_the_stages_are_large(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('.funnel svg')].map((svg) =>
        [...svg.querySelectorAll('rect')].map((r) => Math.round(
          100 * r.getBoundingClientRect().width / svg.getBoundingClientRect().width)))"""
    assert opened.execute_script(script) == [[100, 90], [90, 81], [81, 60]]
