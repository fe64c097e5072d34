"""A comparison, and errors, in a real browser: links, both widths, texts that stay texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.chromium import Chromium
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser, resize

import trueground as tg
from trueground.studies.comparing import compare
from trueground.studies.comparison_pages import write_comparison
from trueground.wings.papers.errors.lines import read_selected
from trueground.wings.papers.errors.page import write_errors
from trueground.wings.papers.errors.study import sort_errors

pytestmark = needs_a_browser
HOSTILE = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with odd names, their comparison, and the errors of the first."""
    path = tmp_path_factory.mktemp("runs")
    for name, answer in (("a run", "1931"), ("b#1", "1913")):
        rows = [
            {
                "id": f"q {i}/?#ü'",
                "question": f"When? {HOSTILE}",
                "references": ["1931"],
                "response": f"It was {answer}, I think, and not later. {HOSTILE}",
                "human": {"correct": 1},
            }
            for i in range(5)
        ]
        tg.score(rows, metrics="recall,f1", out=path / name, resamples=10)
    (path / "pages").mkdir()
    found = compare([path / "a run", path / "b#1"]).as_dict()
    write_comparison(path / "pages" / "c.html", found)
    errors = sort_errors(path / "a run", at_most=0.9)
    write_errors(path / "pages" / "e.html", errors, read_selected(Path(errors["file"])))
    return path


def test_links_open_the_item(browser: Chromium, folder: Path) -> None:
    page = folder / "pages" / "c.html"
    for answer, label in (("1931", "a run"), ("1913", "b#1")):
        browser.get("about:blank")
        browser.get(page.as_uri())
        browser.find_element("css selector", ".entry").find_element("link text", label).click()
        browser.wait_until(lambda: browser.find_element("id", "item").is_displayed())
        shown = browser.find_element("id", "item").text
        assert "q 0/?#ü'" in shown
        assert answer in shown
        assert "Not on this page" not in shown


@pytest.mark.parametrize("name", ["c", "e"])
@pytest.mark.parametrize("width", [320, 1200])
def test_pages_fit_and_nothing_in_them_runs(
    browser: Chromium, folder: Path, name: str, width: int
) -> None:
    page = folder / "pages" / f"{name}.html"
    browser.get("about:blank")
    browser.requests()
    resize(browser, width)
    browser.get(page.as_uri())
    assert browser.requests() == [page.as_uri()]
    assert browser.execute_script(WIDE) <= 0
    assert browser.execute_script("return window.hit === undefined")
    assert "<script>window.hit" in browser.find_element("tag name", "main").text
    for scheme in ("light", "dark"):
        emulate(browser, scheme)
        assert browser.execute_script(CONTRAST) >= 4.5
    assert browser.messages() == []


@pytest.mark.parametrize("width", [390, 1200])
def test_sentences_then_items_then_folded_numbers(
    browser: Chromium, tmp_path: Path, width: int
) -> None:
    text = "The tower was finished in 1931 by Ada Voss."
    for name, answer in (("old", "It fell in 1913."), ("new", text)):
        rows = [
            {"id": str(k), "response": answer if k % 4 else text, "contexts": [text]}
            for k in range(12)
        ]
        tg.score(rows, out=tmp_path / name, resamples=10)
    found = compare([tmp_path / "old", tmp_path / "new"]).as_dict()
    write_comparison(tmp_path / "c.html", found)
    resize(browser, width)
    browser.get((tmp_path / "c.html").as_uri())
    assert browser.find_element("css selector", "main .lead strong").text == "new"
    order = """const at = (one) => document.querySelector(one).getBoundingClientRect().top;
        return [at('main ul'), at('.entry'), ...[...document.querySelectorAll('main > details')]
          .filter((e) => !e.innerText.startsWith('other')).map((e) => e.open ? -1 : e.getBoundingClientRect().top)]"""  # noqa: E501
    tops = browser.execute_script(order)
    assert tops == sorted(tops)
    assert min(tops) >= 0
    assert len(tops) >= 6
    shown = browser.find_element("css selector", ".entry .facts").text
    assert "change +0." in shown
    for title, first in (("Shares of the verdicts", "+75.0"), ("Means and differences", "+0.")):
        fold = browser.find_element("xpath", f"//details[summary='{title}']")
        fold.find_element("tag name", "summary").click()
        cell = fold.find_element("css selector", "td.estimate")
        assert first in cell.text
        edges = """return [...arguments[0].querySelectorAll('td')].every((one) => {
            const box = one.getBoundingClientRect();
            return box.left >= 0 && box.right <= innerWidth; })"""
        assert browser.execute_script(edges, fold)  # both runs' columns are seen
    assert browser.execute_script(WIDE) <= 0
    resize(browser, 1200)


def test_answers_stand_side_by_side_with_their_changes(browser: Chromium, folder: Path) -> None:
    resize(browser, 1200)
    browser.get((folder / "pages" / "c.html").as_uri())
    boxes = browser.execute_script("""return [...document.querySelectorAll('.entry .grid > div')]
        .slice(0, 2).map((one) => [one.getBoundingClientRect().left, one.innerText])""")
    assert boxes[0][0] < boxes[1][0]
    marked = "return [...document.querySelector('.entry').querySelectorAll('ins, del')].map((e) => e.innerText.trim())"  # noqa: E501
    assert browser.execute_script(marked) == ["1931,", "1913,"]
    folds = "return [...document.querySelectorAll('details > summary')].map((e) => e.innerText)"
    assert {"Tests", "Sizes of the effects", "How to read this"} <= set(
        browser.execute_script(folds)
    )
