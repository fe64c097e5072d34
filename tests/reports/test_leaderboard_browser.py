"""The leaderboard in a real browser: it sorts, it is quiet, it fits, and text stays text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.reports.leaderboard_fixture import MODELS, benchmark_run, sweep

from trueground.reports.leaderboard.page import write_leaderboard

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no chromium (or google-chrome) with chromedriver here"
)
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)
WIDE = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Relative luminance by WCAG 2; transparent backgrounds show what lies below them.
CONTRAST = """
  const canvas = Object.assign(document.createElement('canvas'), {width: 1, height: 1});
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const rgb = (colour) => {
    context.clearRect(0, 0, 1, 1); context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaderboard")
    sweep(folder / "runs")
    benchmark_run(folder / "more", "gpt-4o", "unanswerable", 0.5, limit=10, n=10)
    runs = [folder / "runs", folder / "more"]
    return write_leaderboard(runs, folder / "leaderboard.html", with_published=True)


@pytest.fixture
def opened(browser: Any, page: Path) -> Any:
    resize(browser, 1200)
    browser.get("about:blank")
    browser.get(page.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def resize(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def emulate(browser: Any, scheme: str = "", media: str = "") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def column(browser: Any, number: int) -> list[str]:
    script = """return [...document.querySelectorAll('.board tbody tr')]
        .map((row) => row.cells[arguments[0]].dataset.value ?? row.cells[arguments[0]].innerText)"""
    return list(browser.execute_script(script, number))


def test_nothing_is_asked_of_the_network(browser: Any, page: Path) -> None:
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get(page.as_uri())
    log = "\n".join(entry["message"] for entry in browser.get_log("performance"))
    assert log.count('"method":"Network.requestWillBeSent"') == 1
    assert browser.get_log("browser") == []


def test_a_click_sorts_and_a_second_one_turns_the_order(opened: Any) -> None:
    head = opened.find_element("css selector", ".board th:nth-child(4)")
    button = head.find_element("tag name", "button")
    for order in ("descending", "ascending"):
        button.click()
        assert head.get_attribute("aria-sort") == order
        keys = column(opened, 3)
        values = [float(key) for key in keys if key]
        assert values == sorted(values, reverse=order == "descending")
        assert len(values) > len(MODELS)
        assert keys[len(values) :] == [""] * (len(keys) - len(values))  # without a value: last


def test_models_sort_by_name_with_the_keyboard(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    opened.find_element("css selector", ".board th button").send_keys(Keys.ENTER)
    names = [name.casefold() for name in column(opened, 0)]
    assert names[0].startswith("claude")
    assert opened.find_element("css selector", ".board th").get_attribute("aria-sort") == (
        "ascending"
    )
    sorted_heads = opened.find_elements("css selector", ".board th[aria-sort]")
    assert len(sorted_heads) == 1


def test_every_section_is_there_with_and_without_script(browser: Any, page: Path) -> None:
    script = "return [...document.querySelectorAll('h2')].map((h) => h.innerText)"
    expected = [
        "Task by task",
        "Best model of each organisation",
        "Score and model size",
        "Original and new context",
        "Strict and loose matching",
        "Dataset by dataset",
        "What each run was",
        "Notes",
    ]
    browser.get(page.as_uri())
    assert browser.execute_script(script) == expected
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(page.as_uri())
        text = browser.find_element("tag name", "main").text
        assert all(title in text for title in expected)
        assert not browser.find_elements("css selector", "th button")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_only_tables_scroll_sideways(opened: Any, width: int) -> None:
    resize(opened, width)
    assert opened.execute_script(WIDE) == 0
    cut = """return [...document.querySelectorAll('caption > span')]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert opened.execute_script(cut) == 0


def test_names_stay_in_sight_while_a_table_scrolls(opened: Any) -> None:
    resize(opened, 390)
    script = """const frame = document.querySelector('.scroll'); frame.scrollLeft = 200;
        const place = frame.querySelector('tbody th').getBoundingClientRect();
        return [frame.scrollLeft, place.left - frame.getBoundingClientRect().left]"""
    assert opened.execute_script(script) == [200, 0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes(opened: Any, scheme: str) -> None:
    emulate(opened, scheme)
    assert opened.execute_script(CONTRAST) >= 4.5
    emulate(opened)


def test_theme_turns(opened: Any) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    button = opened.find_element("id", "theme")
    button.click()
    light = opened.execute_script(colour)
    button.click()
    assert button.text == "Theme: dark"
    assert opened.execute_script(colour) != light


def test_numbers_in_scatters_do_not_overlap(opened: Any) -> None:
    """Boxes of text overlap by more than their own air only where one hides the other."""
    script = """
        return [...document.querySelectorAll('svg.scatter')].flatMap((chart) => {
          const boxes = [...chart.querySelectorAll('.number')]
            .map((text) => text.getBoundingClientRect());
          return boxes.flatMap((a, k) => boxes.slice(k + 1).map((b) => [
            Math.min(a.right, b.right) - Math.max(a.left, b.left),
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)]));
        }).filter(([x, y]) => x > 2 && y > 5).length"""
    for width in (390, 1200):
        resize(opened, width)
        assert opened.execute_script(script) == 0


def test_print_fits_the_sheet(opened: Any) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    assert not opened.find_element("id", "theme").is_displayed()
    emulate(opened)


def test_hostile_text_stays_text(browser: Any, tmp_path: Path) -> None:
    name = '</script><script>hit=1</script><img src=x onerror="hit=1">'
    for k, mean in enumerate((0.4, 0.6)):
        benchmark_run(
            tmp_path / str(k),
            name + str(k),
            "unanswerable",
            mean,
            prompts=[{"id": name, "sha256": name}],
            params={name: name},
            outcomes={name: 1},
        )
    browser.get(write_leaderboard([tmp_path], tmp_path / "l.html").as_uri())
    browser.find_element("css selector", ".board th button").click()
    safe = "return [window.hit, document.images.length, document.querySelectorAll('script').length]"
    assert browser.execute_script(safe) == [None, 0, 1]
    assert name in browser.find_element("css selector", ".board").text
    assert browser.get_log("browser") == []
