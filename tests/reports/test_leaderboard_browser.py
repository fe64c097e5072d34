"""The leaderboard in a real browser: it sorts, it is quiet, it fits, and text stays text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.chromium import Chromium
from tests.reports.browser import (
    CONTRAST,
    OVERLAP,
    WIDE,
    browser,
    emulate,
    needs_a_browser,
    opened,
    resize,
)
from tests.reports.leaderboard_fixture import MODELS, benchmark_run, sweep

from trueground.reports.leaderboard.page import write_leaderboard

__all__ = ["browser", "opened"]  # fixtures
pytestmark = needs_a_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("leaderboard")
    sweep(folder / "runs")
    benchmark_run(folder / "more", "gpt-4o", "unanswerable", 0.5, limit=10, n=10)
    runs = [folder / "runs", folder / "more"]
    return write_leaderboard(runs, folder / "leaderboard.html", with_published=True)


def column(browser: Chromium, number: int) -> list[str]:
    script = """return [...document.querySelectorAll('.board tbody tr')]
        .map((row) => row.cells[arguments[0]].dataset.value ?? row.cells[arguments[0]].innerText)"""
    return list(browser.execute_script(script, number))


def test_nothing_is_asked_of_the_network(browser: Chromium, page: Path) -> None:
    browser.get("about:blank")
    browser.requests()
    browser.get(page.as_uri())
    assert browser.requests() == [page.as_uri()]
    assert browser.messages() == []


def test_a_click_sorts_and_a_second_one_turns_the_order(opened: Chromium) -> None:
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


def test_models_sort_by_name_with_the_keyboard(opened: Chromium) -> None:
    opened.find_element("css selector", ".board th button").press("Enter")
    names = [name.casefold() for name in column(opened, 0)]
    assert names[0].startswith("claude")
    assert opened.find_element("css selector", ".board th").get_attribute("aria-sort") == (
        "ascending"
    )
    sorted_heads = opened.find_elements("css selector", ".board th[aria-sort]")
    assert len(sorted_heads) == 1


def test_every_section_is_there_with_and_without_script(browser: Chromium, page: Path) -> None:
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
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.get(page.as_uri())
        text = browser.find_element("tag name", "main").text
        assert all(title in text for title in expected)
        assert not browser.find_elements("css selector", "th button")
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_only_tables_scroll_sideways(opened: Chromium, width: int) -> None:
    resize(opened, width)
    assert opened.execute_script(WIDE) == 0
    cut = """return [...document.querySelectorAll('caption > span')]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert opened.execute_script(cut) == 0


def test_names_stay_in_sight_while_a_table_scrolls(opened: Chromium) -> None:
    resize(opened, 390)
    script = """const frame = document.querySelector('.scroll'); frame.scrollLeft = 200;
        const place = frame.querySelector('tbody th').getBoundingClientRect();
        return [frame.scrollLeft, place.left - frame.getBoundingClientRect().left]"""
    assert opened.execute_script(script) == [200, 0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes(opened: Chromium, scheme: str) -> None:
    emulate(opened, scheme)
    assert opened.execute_script(CONTRAST) >= 4.5
    emulate(opened)


def test_theme_turns(opened: Chromium) -> None:
    colour = "return getComputedStyle(document.body).backgroundColor"
    button = opened.find_element("id", "theme")
    button.click()
    light = opened.execute_script(colour)
    button.click()
    assert button.text == "Theme: dark"
    assert opened.execute_script(colour) != light


def test_numbers_in_scatters_do_not_overlap(opened: Chromium) -> None:
    for width in (390, 1200):
        resize(opened, width)
        assert opened.execute_script(OVERLAP) == 0


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    assert not opened.find_element("id", "theme").is_displayed()
    emulate(opened)


def test_hostile_text_stays_text(browser: Chromium, tmp_path: Path) -> None:
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
    assert browser.messages() == []
