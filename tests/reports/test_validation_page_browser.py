"""The page of a validation in a real browser: both themes, a phone, no script, no network."""

from __future__ import annotations

from pathlib import Path

import pytest
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
from tests.reports.validation_fixture import validation, with_people

from trueground.reports.validation_page import write_validation

__all__ = ["browser", "opened"]  # fixtures
pytestmark = needs_a_browser
UNFOLD = "document.querySelectorAll('details').forEach((e) => { e.open = true; })"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("validation") / "validation.html"
    raw = with_people(validation(16, 6, n=120))
    raw["sets"][0]["name"] = "a_set_with_a_very_long_name_indeed_" * 3
    raw["notes"] = ["a note " + "without-a-gap-" * 20]
    write_validation(path, raw)
    return path


def test_nothing_is_asked_of_the_network(browser: Chromium, page: Path) -> None:
    browser.get("about:blank")
    browser.requests()
    browser.get(page.as_uri())
    assert browser.requests() == [page.as_uri()]
    assert browser.messages() == []
    assert browser.execute_script("return window.hit === undefined")


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_only_tables_scroll_sideways(opened: Chromium, width: int) -> None:
    resize(opened, width)
    opened.execute_script(UNFOLD)
    assert opened.execute_script(WIDE) == 0
    cut = """return [...document.querySelectorAll('main :not(.scroll *, svg *, .hidden)')]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).length"""
    assert opened.execute_script(cut) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes(opened: Chromium, scheme: str) -> None:
    emulate(opened, scheme)
    opened.execute_script(UNFOLD)
    for chosen in ("m0", "m13"):  # higher and lower is better
        opened.execute_script("document.getElementById(arguments[0]).checked = true", chosen)
        assert opened.execute_script(CONTRAST) >= 4.5
        small = CONTRAST.replace("'th, td,", "'small, sup, label, summary, dd, dt, .reasons, th,")
        assert opened.execute_script(small) >= 4.5
    emulate(opened)


def shown(browser: Chromium) -> list[str]:
    script = """return [...document.querySelectorAll('.chosen')]
        .filter((e) => e.offsetParent).map((e) => e.innerText.split(':')[0])"""
    return list(browser.execute_script(script))


def test_a_measure_is_chosen_with_the_keyboard(opened: Chromium) -> None:
    assert shown(opened) == ["AUROC"]
    first = opened.find_element("css selector", "#m0")
    first.press("ArrowRight")
    assert shown(opened) == ["Spearman ρ"]


def test_without_script_measures_can_be_chosen_and_links_open(
    browser: Chromium, page: Path
) -> None:
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.get("about:blank")
        browser.get(page.as_uri())
        browser.find_element("css selector", "#m1").click()
        assert browser.find_element("css selector", ".t1").is_displayed()
        assert not browser.find_element("css selector", ".t0").is_displayed()
        browser.get("about:blank")
        browser.get(f"{page.as_uri()}#s2-r0")
        assert browser.find_element("css selector", "#s2-r0").is_displayed()
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_link_opens_what_it_points_to(opened: Chromium) -> None:
    opened.execute_script("document.getElementById('s1').open = true")
    opened.execute_script("document.querySelector('#s1 details.metric').open = true")
    link = opened.find_element("css selector", "#s1 details.metric a")
    target = link.get_attribute("href").partition("#")[2]
    link.click()
    script = """const box = document.getElementById(arguments[0]).getBoundingClientRect();
        return box.height > 0 && box.top > -1 && box.top < innerHeight"""
    assert opened.execute_script(script, target)


def test_tables_are_sorted_by_a_click(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('#measures ~ .scroll tbody tr')]
        .map((row) => row.cells[arguments[0]].dataset.value)"""
    before = opened.execute_script(script, 1)
    assert before == sorted(before, key=float, reverse=True)
    opened.find_elements("css selector", "#measures ~ .scroll thead button")[1].click()
    opened.find_elements("css selector", "#measures ~ .scroll thead button")[1].click()
    assert opened.execute_script(script, 1) == before[::-1]


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    opened.execute_script(UNFOLD)
    assert opened.execute_script(WIDE) == 0
    emulate(opened)
