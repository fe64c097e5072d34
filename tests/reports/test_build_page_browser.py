"""The page of a build in a real browser: readable in both themes, printed and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.chromium import Chromium
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser, resize
from tests.wings.papers.builders.finished import finished, write_labels

from trueground.wings.papers.builders.page_files import render_again

pytestmark = needs_a_browser
UNFOLD = """return new Promise((done) => {
    [...document.querySelectorAll('details')].slice(0, 40).forEach((e) => { e.open = true; });
    setTimeout(done, 200);
  })"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    return render_again(finished(folder / "out").path, write_labels(folder / "labels.jsonl")).page


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


def test_rejected_items_can_be_filtered(opened: Chromium) -> None:
    script = """const [reason] = document.querySelectorAll('#fell select');
        reason.value = arguments[0];
        reason.dispatchEvent(new Event('change', {bubbles: true}));
        return new Promise((done) => setTimeout(
          () => done(document.querySelectorAll('#fell .entry').length), 100))"""
    assert [opened.execute_script(script, name) for name in ("", "same_text")] == [40, 9]


def test_an_item_is_found_and_opened(opened: Chromium) -> None:
    script = """const field = document.querySelector('#items input');
        field.value = '18';  // its id
        field.dispatchEvent(new Event('input', {bubbles: true}));
        return new Promise((done) => setTimeout(
          () => done(document.querySelectorAll('#items .entry').length), 100))"""
    assert opened.execute_script(script) == 1
    opened.find_element("css selector", "#items .entry summary").click()
    assert opened.find_element("css selector", "#items .entry .folded").is_displayed()


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    emulate(opened)
