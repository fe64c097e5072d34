"""The page of a validation in a real browser: both themes, a phone, no script, no network."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.chromium import Chromium
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser, resize
from tests.reports.validation_fixture import validation, with_people

from trueground.studies.validation.page import write_validation

pytestmark = needs_a_browser
# What is folded is drawn when it is opened: three levels of it, a few of each.
UNFOLD = """return new Promise((done) => {
    let left = 3;
    const open = () => {
      [...document.querySelectorAll('details:not([open])')].slice(0, 20)
        .forEach((e) => { e.open = true; });
      left -= 1;
      setTimeout(left ? open : done, 150);
    };
    open();
  })"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("validation") / "validation.html"
    raw = with_people(validation(16, 6, n=120))
    raw["sets"][0]["name"] = "a_set_with_a_very_long_name_indeed_" * 3
    raw["mean"]["judged"]["spearman"] = {"value": 0.99, "ci": None, "sets": 1, "why": "one group"}
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
    cut = """return [...document.querySelectorAll('main :not(.scroll *, .canvas *, .hidden)')]
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
        .map((e) => e.outerHTML.slice(0, 120))"""
    assert opened.execute_script(cut) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes(opened: Chromium, scheme: str) -> None:
    emulate(opened, scheme)
    opened.execute_script(UNFOLD)
    assert opened.execute_script(CONTRAST) >= 4.5
    emulate(opened)


def test_a_measure_is_chosen(opened: Chromium) -> None:
    said = """const choice = document.querySelector('#sets .choice select');
        const told = () => document.querySelector('#sets .choice p').textContent.split(':')[0];
        const before = told();
        choice.value = '1';
        choice.dispatchEvent(new Event('change', {bubbles: true}));
        return new Promise((done) => setTimeout(() => done([before, told()]), 100))"""
    assert opened.execute_script(said) == ["AUROC", "Spearman ρ"]


def test_tables_are_sorted_by_a_click(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('#measures tbody')[0].rows]
        .map((row) => row.cells[1].innerText.split(/\\s/u)[0])"""
    before = opened.execute_script(script)
    assert before == sorted(before, key=float, reverse=True)
    opened.find_elements("css selector", "#measures thead button")[1].click()
    opened.find_elements("css selector", "#measures thead button")[1].click()
    assert opened.execute_script(script) == before[::-1]


def test_a_mean_over_fewer_sets_is_not_marked_as_the_best(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('#measures tbody')[0].rows]
        .filter((row) => row.cells[2].querySelector('.best'))
        .map((row) => row.cells[0].innerText)"""
    assert opened.execute_script(script) == ["support"]


def test_thresholds_are_named_below_the_histogram(opened: Chromium) -> None:
    opened.execute_script(UNFOLD)
    script = "return document.querySelector('#each .chart .legend').innerText"
    assert re.search(
        r"default threshold 0\.5\s+best threshold 0\.\d+", opened.execute_script(script)
    )


def test_disagreements_are_searched_and_opened(opened: Chromium) -> None:
    script = """const field = document.querySelector('#worst input');
        field.value = document.querySelector('#worst .what').innerText.split(' ')[0];
        field.dispatchEvent(new Event('input', {bubbles: true}));
        return new Promise((done) => setTimeout(
          () => done(document.querySelectorAll('#worst .entry').length), 200))"""
    every = opened.execute_script("return document.querySelectorAll('#worst .entry').length")
    assert every == 50  # a page of the list
    assert 0 < opened.execute_script(script) < every
    opened.find_element("css selector", "#worst .entry summary").click()
    assert opened.find_element("css selector", "#worst .entry .folded").is_displayed()


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    opened.execute_script(UNFOLD)
    assert opened.execute_script(WIDE) == 0
    emulate(opened)
