"""An opened answer with citations in a real browser: marks, verdicts, the drawn graph."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.chromium import Chromium
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser, resize
from tests.reports.citations_fixture import MARKUP, citation_run, invented, numbered_answers

from trueground.reports.run_pages import write_run_page

pytestmark = needs_a_browser
# Boxes that hide one another in a drawing.
OVERLAPPING = """return [...document.querySelectorAll('.net')].flatMap((net) => {
    const boxes = [...net.querySelectorAll('.node, .entity')].filter((e) => e.offsetParent)
      .map((e) => e.getBoundingClientRect());
    return boxes.flatMap((a, k) => boxes.slice(k + 1).map((b) => [
      Math.min(a.right, b.right) - Math.max(a.left, b.left),
      Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)]));
  }).filter(([x, y]) => x > 0.5 && y > 0.5).length"""
# Lines of a drawing that do not begin at the entity's box and end at a value's.
ASTRAY = """return [...document.querySelectorAll('.net')].flatMap((net) => {
    const at = (e) => e.getBoundingClientRect();
    const near = (p, r) => p.x > r.left - 2 && p.x < r.right + 2 && p.y > r.top - 2 && p.y < r.bottom + 2;
    const nodes = [...net.querySelectorAll('li')].filter((e) => e.offsetParent).map(at);
    const origin = at(net);
    const lines = [...net.querySelectorAll('path')].map((path) =>
      [path.getPointAtLength(0), path.getPointAtLength(path.getTotalLength())]
        .map(({ x, y }) => ({ x: x + origin.left, y: y + origin.top })));
    return [lines.length - nodes.length, ...lines.filter(([from, to]) =>
      !near(from, at(net.querySelector('.entity'))) || !nodes.some((node) => near(to, node)))];
  }).filter((found) => found !== 0).length"""  # noqa: E501


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_page(citation_run(tmp_path_factory.mktemp("citations") / "run"))


def go(browser: Chromium, item: str) -> None:
    browser.execute_script("location.hash = arguments[0]", f"#item-{item}")
    drawn = "return document.querySelector('#item .id')?.textContent.includes(arguments[0])"
    browser.wait_until(lambda: browser.execute_script(drawn, item))
    browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 60))")


def texts(browser: Chromium, selector: str) -> list[str]:
    return [e.text for e in browser.find_elements("css selector", selector)]


def test_every_bracket_is_a_mark_with_its_verdict(opened: Chromium) -> None:
    go(opened, "ada")
    assert texts(opened, ".response mark.cite") == [
        "[Q71, place of birth: Port Selby]",
        "[Q71, occupation: cartographer, occupation: painter]",
        "[NA]",
        "[Q72, sibling: Ada Quill]",
    ]
    classes = [
        e.get_attribute("class").split()[1]
        for e in opened.find_elements("css selector", ".response mark.cite")
    ]
    assert classes == ["supported", "unsupported", "unsupported", "supported"]
    sign = "return getComputedStyle(document.querySelector(arguments[0]), '::after').content"
    assert "✓" in opened.execute_script(sign, ".response mark.cite.supported")
    assert "✗" in opened.execute_script(sign, ".response mark.cite.unsupported")


def test_each_citation_tells_in_words_what_it_is(opened: Chromium) -> None:
    go(opened, "ada")
    heading = opened.find_element("xpath", "//h3[starts-with(., 'Sentences')]").text
    assert heading == (
        "Sentences and citations: 3 of 4 correct, 2 of 4 needed, 1 of 4 aligned, [NA] in 1"
    )
    shown = [text.splitlines() for text in texts(opened, ".sentences button")]
    assert shown[0] == ["Ada Quill (Q71) · place of birth: Port Selby", "✓ correct", "✓ needed",
                        "✓ aligned"]  # fmt: skip
    assert shown[2][1:] == ["✗ not in the graph", "– not needed", "✗ not aligned"]
    assert shown[3] == ["[NA]", "✗ points at nothing that is missing"]
    assert shown[4][1:3] == ["✓ correct", "– not needed"]
    assert "cites nothing" in texts(opened, ".sentences li")[-1]


def test_missing_knowledge_is_listed(opened: Chromium) -> None:
    go(opened, "ada")
    section = opened.find_element("xpath", "//section[h3[.='Missing knowledge']]").text
    assert "Needed, not cited (2)" in section
    assert "with 40 Plates in the given graph" in section
    assert "cause of death: drowning not in the given graph" in section
    assert "Absent from the graph (1)" in section
    assert "✗ no [NA] points at it" in section


def test_triple_in_no_graph_is_not_needed(browser: Chromium, tmp_path: Path) -> None:
    run = citation_run(tmp_path / "run", invented(), metrics=["citation_precision"])
    browser.get("about:blank")
    browser.get(write_run_page(run).as_uri())
    go(browser, "invented")
    scores = msgspec.json.decode((run / "items.jsonl").read_bytes())["scores"]
    assert scores["citation_precision"] == 0.5
    heading = browser.find_element("xpath", "//h3[starts-with(., 'Sentences')]").text
    assert heading == "Sentences and citations: 1 of 2 correct, 1 of 2 needed"
    last = texts(browser, ".sentences button")[-1].splitlines()
    assert last[1:] == ["✗ not in the graph", "– needed, does not count"]
    section = browser.find_element("xpath", "//section[h3[.='Missing knowledge']]").text
    assert "Needed, cited, but not in the given graph (1)" in section
    assert "Needed, not cited" not in section


def test_the_keyboard_joins_list_answer_and_drawing(opened: Chromium) -> None:
    go(opened, "ada")
    entry = opened.find_element("css selector", ".sentences button")
    entry.press("Enter")
    active = (
        "return [...document.querySelectorAll('.active')].map((e) => e.className.split(' ')[0])"
    )
    assert opened.execute_script(active) == ["cite", "verdict", "node"]
    node = opened.find_element("css selector", ".net button.node:not(.active)")
    node.press(" ")
    assert "cartographer" in opened.find_element("css selector", ".response mark.active").text


def test_graph_is_drawn_with_caption(opened: Chromium) -> None:
    go(opened, "ada")
    assert texts(opened, ".entity strong") == ["Ada Quill", "Bram Quill"]
    states = [text.splitlines()[-1] for text in texts(opened, "li.cited, li.needed")]
    assert states == ["✓ cited", "needed, not cited", "✓ cited", "✓ cited, not needed"]
    styles = """return ['cited', 'needed'].map((name) =>
        getComputedStyle(document.querySelector(`path.${name}`)).strokeDasharray)"""
    assert opened.execute_script(styles) == ["none", "5px, 4px"]
    opened.find_element("css selector", ".subgraph details summary").click()
    rows = texts(opened, ".subgraph details[open] tbody tr")
    assert rows[0] == "place of birth Port Selby ✓ cited"
    assert len(rows) == 6


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
@pytest.mark.parametrize("item", ["ada", "many"])
def test_nothing_overlaps_and_lines_meet_their_boxes(
    opened: Chromium, width: int, item: str
) -> None:
    resize(opened, width)
    go(opened, item)
    for button in opened.find_elements("css selector", ".subgraph button[aria-expanded]"):
        button.click()
    opened.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 60))")
    assert opened.execute_script(WIDE) == 0
    assert opened.execute_script(OVERLAPPING) == 0
    assert opened.execute_script(ASTRAY) == 0


def test_many_values_wait_for_a_click(opened: Chromium) -> None:
    go(opened, "many")
    shown = "return [...document.querySelectorAll('.net li')].filter((e) => e.offsetParent).length"
    assert opened.execute_script(shown) == 16
    button = opened.find_element("css selector", ".subgraph button[aria-expanded]")
    assert button.text == "Show 22 more values"
    button.click()
    assert opened.execute_script(shown) == 38
    assert button.get_attribute("aria-expanded") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("item", ["ada", "many"])
def test_contrast_is_enough_in_both_themes(opened: Chromium, scheme: str, item: str) -> None:
    emulate(opened, scheme)
    go(opened, item)
    more = CONTRAST.replace("'th, td,", "'mark.cite, .badge, .node span, .entity *, th, td,")
    assert more != CONTRAST
    assert opened.execute_script(more) >= 4.5
    emulate(opened)


def test_places_count_after_composition(opened: Chromium) -> None:
    go(opened, "nfd")
    assert texts(opened, ".response mark.cite") == ["[Q71, award received: Selby Medal]"]


def test_markup_in_a_graph_stays_text(opened: Chromium) -> None:
    go(opened, "markup")
    assert texts(opened, ".net li.cited .value") == [MARKUP]
    assert opened.execute_script("return [window.hit, document.images.length]") == [None, 0]
    assert "✗ incomplete" in texts(opened, ".sentences button")[-1]


def test_without_records_the_citations_remain(browser: Chromium, tmp_path: Path) -> None:
    run = citation_run(tmp_path / "run")
    (run / "records.jsonl.zst").unlink()
    browser.get("about:blank")
    browser.get(write_run_page(run).as_uri())
    go(browser, "ada")
    assert len(texts(browser, ".sentences > li")) == 5
    assert not browser.find_elements("css selector", ".net, .response")
    assert browser.messages() == []


def test_print_keeps_the_boxes(opened: Chromium) -> None:
    go(opened, "ada")
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    assert opened.find_element("css selector", ".net li.cited").is_displayed()
    emulate(opened)


def test_citations_of_passages_tell_what_they_do(browser: Chromium, tmp_path: Path) -> None:
    metrics = ["passage_citation_recall", "passage_citation_precision"]
    run = citation_run(tmp_path / "run", numbered_answers(), metrics=metrics)
    resize(browser, 1200)
    browser.get("about:blank")
    browser.get(write_run_page(run).as_uri())
    go(browser, "numbers")
    assert texts(browser, ".response mark.cite") == ["[1, 2]", "[2]", "[7]", "[2]"]
    heading = browser.find_element("xpath", "//h3[starts-with(., 'Sentences')]").text
    assert heading == "Sentences and passages: 2 of 4 supported, 2 of 5 useful citations"
    shown = [text.splitlines() for text in texts(browser, ".cites button")]
    assert shown[0] == ["Passage 1 · Lighthouse", "✓ supports it alone"]
    assert shown[1][1] == "– not needed with the others"
    assert shown[3] == ["Passage 7", "✗ no such passage"]
    assert shown[4][1] == "✗ does not support it"
    browser.find_elements("css selector", ".cites button")[1].click()
    assert "Harbour" in browser.find_element("css selector", ".passage.active").text
    assert browser.messages() == []
