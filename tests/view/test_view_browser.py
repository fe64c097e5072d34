"""`trueground view` in a real browser: the same viewer, fed by the server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zstandard
from tests.chromium import Chromium
from tests.commands import trueground
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser, resize
from tests.reports.report_fixture import sample_run
from tests.reports.test_page_browser import (
    PAYLOAD,
    hostile_run,
    listed,
    open_first,
    press,
    run,
    set_control,
    words,
)
from tests.view.view_fixture import Viewing, viewing

from trueground.view.browser import private_page
from trueground.view.pages import write_bundle

pytestmark = needs_a_browser
EXAMPLES = Path(__file__).parents[2] / "examples" / "answers.jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("browsed") / "runs"
    sample_run(runs / "sample", 240)
    hostile_run(runs / "hostile")
    for name in ("first", "second"):
        options = ("--metrics", "f1,support", "--quiet", "--out", runs / name)
        assert trueground("score", EXAMPLES, *options).returncode == 0
    (runs / "<img src=x onerror=alert(1)>").mkdir()
    (runs / "<img src=x onerror=alert(1)>" / "manifest.json").write_text("{")
    return runs


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Viewing]:
    with viewing(folder, home=folder.parent / "home") as found:
        yield found


def show(browser: Chromium, url: str, selector: str) -> None:
    resize(browser, 1200)
    browser.get("about:blank")
    browser.messages()
    browser.get(url)
    browser.wait_until(lambda: browser.find_elements("css selector", selector), 30)


def count(browser: Chromium, text: str) -> None:
    browser.wait_until(lambda: words(browser, "#count") == text)


def test_from_the_list_to_an_answer_and_back(browser: Chromium, served: Viewing) -> None:
    show(browser, served.page(), "main table")
    assert run(browser, "return document.images.length") == 0
    browser.find_element("link text", "sample").click()
    browser.wait_until(lambda: len(listed(browser)) == 50)
    count(browser, "240 answers")
    set_control(browser, "#text", "merian insects", "input")
    browser.wait_until(lambda: words(browser, "#count").endswith("of 240 answers match"))
    some = listed(browser)
    assert all(name.startswith("biography") for name in some)
    set_control(browser, "#sort", "-f1")
    browser.wait_until(lambda: listed(browser) != some)
    ordered = listed(browser)
    open_first(browser)
    assert ordered[0] in words(browser, "#item .id")
    assert words(browser, "#item .response")
    key = "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))"
    run(browser, key, "j")
    browser.wait_until(lambda: ordered[1] in words(browser, "#item .id"))
    run(browser, key, "ArrowLeft")
    browser.wait_until(lambda: ordered[0] in words(browser, "#item .id"))
    run(browser, key, "Escape")
    browser.wait_until(browser.find_element("id", "overview").is_displayed)
    assert listed(browser) == ordered
    browser.refresh()
    browser.wait_until(lambda: listed(browser) == ordered)
    press(browser, "#reset")
    count(browser, "240 answers")
    press(browser, ".pager button:last-child")
    browser.wait_until(lambda: words(browser, ".pager span") == "page 2 of 5")
    assert browser.messages() == []


def test_many_runs_are_searched_and_signs_of_direction_turn_no_other_words(
    browser: Chromium, tmp_path: Path
) -> None:
    first = tmp_path / "runs" / "run 0"
    options = ("--metrics", "f1", "--quiet", "--out", first)
    assert trueground("score", EXAMPLES, *options).returncode == 0
    odd = "turned \u202eround"
    for name in (odd, "basalt", *(f"run {k}" for k in range(1, 10))):
        shutil.copytree(first, tmp_path / "runs" / name)
    summary = json.loads((first / "summary.json").read_text())
    summary["metrics"]["f1"]["mean"] = 1e308
    (first / "summary.json").write_text(json.dumps(summary))
    with viewing(tmp_path / "runs", home=tmp_path / "home") as found:
        show(browser, found.page(), "main table")
        rows = "return [...document.querySelectorAll('tbody tr')].map(row => row.innerText)"
        assert len(run(browser, rows)) == 12
        wide = "return document.documentElement.scrollWidth <= innerWidth"
        assert any("1.0000e+308" in text for text in run(browser, rows))
        assert run(browser, wide)
        choose = "document.querySelector(`input[aria-label='choose ${arguments[0]}']`).click()"
        for label in (odd, "run 3"):
            run(browser, choose, label)
        across = """const walker = document.createTreeWalker(document.querySelector('.pair'), 4);
            for (let node; (node = walker.nextNode());) if (node.data.includes(' against ')) {
              const range = document.createRange(), at = node.data.indexOf('against');
              const left = (k) => { range.setStart(node, at + k); range.setEnd(node, at + k + 1); return range.getBoundingClientRect().left; };
              return [left(0), left(1), left(6)]; }"""  # noqa: E501
        places = run(browser, across)
        assert places == sorted(places)
        style = "return getComputedStyle(document.querySelector('tbody a')).unicodeBidi"
        assert run(browser, style) == "isolate"
        set_control(browser, "main input[type=search]", "BAS Jsonl", "input")
        assert words(browser, "main form [role=status]") == "1 of 12"
        assert len(run(browser, rows)) == 1
        set_control(browser, "main input[type=search]", "nothing of this", "input")
        assert run(browser, rows) == []


def test_the_same_answers_as_on_the_page(
    browser: Chromium, served: Viewing, folder: Path, tmp_path: Path
) -> None:
    """Lists, opened answers and filters are those of report.html, which has all in itself."""
    index = write_bundle([folder / "sample"], tmp_path / "out")
    page = next((index.parent / "runs").glob("*/report.html"))
    name = f"run/{served.key('sample')}/"
    shown = []
    for url in (served.page(name), page.as_uri()):
        found = []
        for place in (
            "",
            "?sort=-f1&page=2",
            "?status=abstained&q=the&metric=grounding_f1",
            "?metric=f1&low=0.3&high=0.8",
        ):
            show(browser, f"{url}#items{place}", "#list li")
            found.append((words(browser, "#count"), words(browser, "#list")))
        open_first(browser)
        found.append(words(browser, "#item"))
        shown.append(found)
    assert shown[0] == shown[1]
    assert browser.messages() == []


def test_the_token_leaves_the_address(browser: Chromium, served: Viewing) -> None:
    show(browser, served.page() + "#somewhere", "main table")
    assert run(browser, "return location.href") == served.url + "#somewhere"
    assert run(browser, "return document.cookie") == ""
    assert run(browser, "return document.referrer") == ""
    browser.refresh()
    browser.wait_until(lambda: browser.find_elements("css selector", "main table"))


def test_without_the_link_a_page_says_what_to_do(browser: Chromium, folder: Path) -> None:
    with viewing(folder, home=folder.parent / "home") as unopened:
        browser.get(unopened.url)
        assert "Open that link once in this browser." in words(browser, "body")
        show(browser, unopened.page(), "main table")
        browser.get("about:blank")
        browser.get(unopened.url)
        browser.wait_until(lambda: browser.find_elements("css selector", "main table"))


@pytest.mark.parametrize("way", ["private page", "link", "address"])
def test_another_site_may_lead_to_the_pages(
    browser: Chromium, folder: Path, tmp_path: Path, way: str
) -> None:
    """The browser sends a strict cookie only with requests that begin at our own pages."""
    with viewing(folder, home=folder.parent / "home") as found, ExitStack() as stack:
        if way == "address":
            show(browser, found.page(), "main table")
        target = found.url if way == "address" else found.page()
        if way == "private page":
            browser.get(stack.enter_context(private_page(target)))
        else:
            foreign = tmp_path / "foreign.html"
            foreign.write_text(f"<a href='{target}'>runs</a>")
            browser.get(foreign.as_uri())
            browser.find_element("link text", "runs").click()
        browser.wait_until(lambda: browser.find_elements("css selector", "main table"), 30)
        assert run(browser, "return location.href") == found.url
    browser.messages()  # the browser itself tells of the refusal


def test_two_runs_are_chosen_and_compared(browser: Chromium, served: Viewing) -> None:
    show(browser, served.page(), "main table")
    assert words(browser, ".pair") == "Side by side: choose two."
    for name in ("first", "second"):
        browser.find_element("css selector", f"input[aria-label='choose {name}']").click()
    browser.find_element("link text", "Side by side: second against first").click()
    browser.wait_until(lambda: words(browser, "h1") == "second against first", 60)
    browser.wait_until(lambda: browser.find_elements("link text", "second"), 60)
    browser.find_element("link text", "second").click()
    browser.wait_until(lambda: browser.find_elements("css selector", "#list li"))
    browser.find_element("link text", "All runs").click()
    browser.wait_until(lambda: words(browser, "h1") == "Runs")
    browser.find_element("link text", "Leaderboard of all finished runs").click()
    browser.wait_until(lambda: words(browser, "h1") == "Leaderboard", 60)
    browser.wait_until(lambda: browser.find_elements("css selector", "main table"), 60)
    assert browser.messages() == []


def test_hostile_text_stays_text(browser: Chromium, served: Viewing) -> None:
    show(browser, served.page(f"run/{served.key('hostile')}/"), "#list li")
    safe = "return [window.hit, document.images.length, document.querySelectorAll('script').length]"
    assert run(browser, safe) == [None, 0, 1]
    set_control(browser, "#text", "</SCRIPT>", "input")
    count(browser, "1 of 2 answers match")
    open_first(browser)
    assert PAYLOAD in words(browser, "#item")
    assert run(browser, safe) == [None, 0, 1]
    browser.refresh()
    browser.wait_until(lambda: PAYLOAD in words(browser, "#item h1"))
    assert browser.messages() == []


def test_a_run_in_progress_appears_by_itself(browser: Chromium, tmp_path: Path) -> None:
    whole, going = sample_run(tmp_path / "whole", 60), tmp_path / "runs" / "going"
    going.mkdir(parents=True)
    manifest = json.loads((whole / "manifest.json").read_text()) | {"n": 60}
    (going / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    items = (whole / "items.jsonl").read_bytes().splitlines(keepends=True)
    with (whole / "records.jsonl.zst").open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    records = plain.splitlines(keepends=True)

    def write(stop: int) -> None:
        packed = b"".join(map(zstandard.compress, records[:stop]))
        (going / "records.jsonl.zst").write_bytes(packed)
        (going / "items.jsonl").write_bytes(b"".join(items[:stop]))

    with viewing(tmp_path / "runs", home=tmp_path / "home") as served:
        show(browser, served.page(f"run/{served.key('going')}/"), "main h1")
        assert "No answers are scored yet" in words(browser, "main")
        for stop in (20, 45):
            write(stop)
            browser.wait_until(lambda stop=stop: words(browser, "#count") == f"{stop} answers", 20)
            assert f"{stop} of 60 scored" in words(browser, ".warning")
        for path in whole.iterdir():
            shutil.copy(path, going / path.name)
        browser.wait_until(lambda: words(browser, "#count") == "60 answers", 20)
        browser.wait_until(lambda: "All metrics" in words(browser, "main"), 20)
        assert not browser.find_elements("css selector", "main > .warning")
    assert browser.messages() == []


def test_a_link_to_a_filtered_list_opens_at_the_list(browser: Chromium, served: Viewing) -> None:
    """The list comes later than the page, which is too short to be scrolled before."""
    page = served.page(f"run/{served.key('first')}/")
    show(browser, f"{page}#items?verdict=not_grounded", "#list li")
    top = "return document.getElementById('items').getBoundingClientRect().top"
    browser.wait_until(lambda: 0 <= run(browser, top) < 120)
    assert run(browser, "return document.getElementById('verdict').value") == "not_grounded"


def test_on_a_phone_the_share_of_grounded_answers_comes_first(
    browser: Chromium, served: Viewing
) -> None:
    show(browser, served.page(), "main table")
    resize(browser, 390)
    script = """const row = [...document.querySelectorAll('tbody tr')].find(
          (one) => one.querySelector('th').innerText.trim() === 'first');
        const cell = row.querySelector('td'), label = getComputedStyle(cell, '::before').content;
        return [label, cell.innerText.split(' ')[0], cell.getBoundingClientRect().right < 200]"""
    assert run(browser, script) == ['"Grounded"', "38", True]
    resize(browser, 1200)


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_shows_all(browser: Chromium, served: Viewing, width: int) -> None:
    show(browser, served.page(), "main table")
    resize(browser, width)
    assert run(browser, WIDE) == 0
    show(browser, served.page(f"run/{served.key('sample')}/"), "#list li")
    resize(browser, width)
    assert run(browser, WIDE) == 0
    resize(browser, 1200)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_list_can_be_read(browser: Chromium, served: Viewing, scheme: str) -> None:
    emulate(browser, scheme)
    show(browser, served.page(), "main table")
    assert run(browser, CONTRAST) > 4.5
    emulate(browser)


def test_page_reports_stopped_server(browser: Chromium, tmp_path: Path) -> None:
    sample_run(tmp_path / "runs" / "one", 60)
    with viewing(tmp_path / "runs", home=tmp_path / "home") as served:
        show(browser, served.page(f"run/{served.key('one')}/"), "#list li")
    press(browser, ".pager button:last-child")
    browser.wait_until(lambda: "does not respond" in words(browser, ".answers .warning"))
    browser.messages()  # the browser itself tells of the connection
