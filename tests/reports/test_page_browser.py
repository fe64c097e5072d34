"""The page in a real browser: it works, it is quiet, and no text of a record becomes markup."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.chromium import Chromium
from tests.reports.browser import needs_a_browser, resize
from tests.reports.report_fixture import make_item, sample_run, write_run

from trueground import score
from trueground.records.formulas import guard
from trueground.reports.answers import MIN_COMPRESSED_ANSWERS, PAGE_BLOCK_ANSWERS
from trueground.reports.run_pages import write_run_page
from trueground.runs.files import RunFiles
from trueground.runs.worst import write_worst_csv
from trueground.types import Passage, Turn

pytestmark = needs_a_browser
PAYLOAD = (
    '</script><script>window.hit=1</script><img src=x onerror="window.hit=1"> "onerror=" {{7*7}} &'
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run_page(sample_run(tmp_path_factory.mktemp("run"), 240))


def run(browser: Chromium, script: str, *values: Any) -> Any:
    return browser.execute_script(script, *values)


def set_control(browser: Chromium, name: str, value: str, event: str = "change") -> None:
    script = """const done = arguments[3], control = document.querySelector(arguments[0]);
        control.value = arguments[1];
        control.dispatchEvent(new Event(arguments[2], {bubbles: true}));
        setTimeout(done, 30)"""
    browser.execute_async_script(script, name, value, event)


def press(browser: Chromium, selector: str) -> None:
    """Click by script and wait until the page is drawn again."""
    script = "document.querySelector(arguments[0]).click(); setTimeout(arguments[1], 30)"
    browser.execute_async_script(script, selector)


def listed(browser: Chromium) -> list[str]:
    script = "return [...document.querySelectorAll('#list .id')].map((p) => p.textContent)"
    return list(run(browser, script))


def words(browser: Chromium, selector: str) -> str:
    browser.wait_until(lambda: browser.find_elements("css selector", selector))
    return str(run(browser, "return document.querySelector(arguments[0]).innerText", selector))


def open_first(browser: Chromium) -> None:
    """Click the first item and wait for it: the address changes first, the page follows."""
    browser.find_element("css selector", "#list a").click()
    browser.wait_until(lambda: browser.find_elements("css selector", "#item h1"))


def follow(browser: Chromium, address: str) -> None:
    """Go to a place in the page and wait until the page has drawn it."""
    script = """const done = arguments[1];
        addEventListener('hashchange', () => setTimeout(done), {once: true});
        location.hash = arguments[0]"""
    browser.execute_async_script(script, address)


def test_nothing_is_asked_of_the_network(browser: Chromium, page: Path) -> None:
    browser.get("about:blank")
    browser.requests()
    browser.get(page.as_uri())
    assert browser.requests() == [page.as_uri()]
    assert browser.messages() == []


def test_list_has_pages(opened: Chromium) -> None:
    assert words(opened, "#count") == "240 answers"
    first = listed(opened)
    assert len(first) == 50
    press(opened, ".pager button:last-child")
    assert words(opened, ".pager span") == "page 2 of 5"
    assert opened.current_url.endswith("#items?page=2")
    assert not set(first) & set(listed(opened))


def in_view(browser: Chromium) -> bool:
    """Whether the list's heading is at the top of the window."""
    script = "return document.getElementById('items').getBoundingClientRect().top"
    return 0 <= run(browser, script) < 120


def test_a_link_to_a_filtered_list_opens_at_the_list(browser: Chromium, tmp_path: Path) -> None:
    score("examples/answers.jsonl", out=tmp_path / "run")
    address = (tmp_path / "run" / "report.html").as_uri() + "#items?verdict=not_grounded"
    browser.get(address)
    browser.wait_until(lambda: in_view(browser))
    assert words(browser, "#count") == "25 of 64 answers match"
    assert run(browser, "return document.getElementById('verdict').value") == "not_grounded"


def test_answers_without_a_verdict_have_a_tile(browser: Chromium, tmp_path: Path) -> None:
    score("examples/answers.jsonl", out=tmp_path / "run")
    browser.get((tmp_path / "run" / "report.html").as_uri())
    tiles = run(browser, "return [...document.querySelectorAll('.tile')].map((t) => t.innerText)")
    assert tiles[4].split("\n") == ["5 %", "– not judged", "3 answers, 0 to 12 %"]
    run(browser, "document.querySelectorAll('.tile')[4].click()")
    browser.wait_until(lambda: words(browser, "#count") == "3 of 64 answers match")
    browser.get("about:blank")
    rows = [{"response": "It is.", "contexts": ["It is."]}]
    score(rows, metrics="support", out=tmp_path / "one")
    browser.get((tmp_path / "one" / "report.html").as_uri())
    assert "not judged" not in words(browser, ".tiles")


def test_a_page_of_many_answers_is_compressed_and_the_same(
    browser: Chromium, tmp_path: Path
) -> None:
    page = write_run_page(sample_run(tmp_path / "run", MIN_COMPRESSED_ANSWERS + 20))
    data = page.read_bytes()
    n_blocks = -(-(MIN_COMPRESSED_ANSWERS + 20) // PAGE_BLOCK_ANSWERS)
    assert write_run_page(tmp_path / "run").read_bytes() == data
    assert data.count(b'type="application/zstd"') == 1 + n_blocks
    plain = sum(file.stat().st_size for file in (tmp_path / "run").glob("items.jsonl"))
    assert len(data) < plain / 2
    browser.get(page.as_uri())
    assert words(browser, "#count") == f"{MIN_COMPRESSED_ANSWERS + 20:,} answers"
    open_first(browser)
    assert words(browser, "#item .response")
    assert browser.messages() == []


def shown_scores(browser: Chromium, metric: str) -> list[str]:
    """What stands behind the metric's name in each row of the list."""
    script = """return [...document.querySelectorAll('#list .answer-row')].map((row) =>
        [...row.querySelectorAll('.tag')].map((tag) => tag.textContent)
        .find((text) => text.startsWith(arguments[0] + ' ')).slice(arguments[0].length + 1))"""
    return list(run(browser, script, metric))


def test_the_worst_come_first(opened: Chromium) -> None:
    values = [float(text) for text in shown_scores(opened, "grounding_f1")]
    assert values == sorted(values)
    ids = "return [...document.querySelectorAll('.answer-row .id')].map((p) => p.textContent)"
    assert len(set(run(opened, ids))) == len(run(opened, ids)) == 50  # none is listed twice


def test_sort_by_metric_and_id(opened: Chromium) -> None:
    set_control(opened, "#sort", "+id")
    ids = listed(opened)
    assert ids == sorted(ids)
    set_control(opened, "#sort", "-f1")
    values = [float(text) for text in shown_scores(opened, "f1")]
    assert len(values) == 50
    assert values == sorted(values, reverse=True)


def test_unscored_items_come_last_in_both_orders(opened: Chromium) -> None:
    for order in ("+grounding_f1", "-grounding_f1"):
        set_control(opened, "#sort", order)
        assert shown_scores(opened, "grounding_f1")[0] != "declined to answer"
        for _ in range(4):
            press(opened, ".pager button:last-child")
        assert shown_scores(opened, "grounding_f1")[-1] == "declined to answer"


def test_filters_narrow_together_and_stand_in_the_address(opened: Chromium) -> None:
    set_control(opened, "#text", "MERIAN insects", "input")
    merian = listed(opened)
    assert merian
    assert all(name.startswith("biography") for name in merian)
    set_control(opened, "#low", "0.2", "input")
    set_control(opened, "#high", "0.9", "input")
    some = listed(opened)
    assert 0 < len(some) < len(merian)
    second = run(opened, "return document.querySelector('select.by').options[2].value")
    set_control(opened, "select.by", second)
    fewer = listed(opened)
    assert set(fewer) < set(some)
    address = opened.current_url
    opened.get("about:blank")
    opened.get(address)
    assert listed(opened) == fewer
    press(opened, "#reset")
    assert words(opened, "#count") == "240 answers"
    set_control(opened, "#status", "abstained")
    answers = [cell.text for cell in opened.find_elements("css selector", "#list .answer")]
    assert answers
    assert all(answer.startswith("I don't know") for answer in answers)
    set_control(opened, "#text", "no such words", "input")
    assert words(opened, "#count") == "0 of 240 answers match"


# The text of the file that a button saves, instead of the file.
SAVED = """const done = arguments[1], make = URL.createObjectURL;
    const click = HTMLAnchorElement.prototype.click;
    HTMLAnchorElement.prototype.click = () => {};
    URL.createObjectURL = (blob) => {
      URL.createObjectURL = make;
      setTimeout(() => { HTMLAnchorElement.prototype.click = click; blob.text().then(done); });
      return 'blob:none';
    };
    document.querySelector(arguments[0]).click();"""


def test_listed_answers_can_be_saved(opened: Chromium) -> None:
    set_control(opened, "#text", "merian", "input")
    lines = str(opened.execute_async_script(SAVED, "#save-jsonl")).splitlines()
    saved = [json.loads(line) for line in lines]
    many = int(words(opened, "#count").split()[0])
    assert len(saved) == many
    assert [one["id"] for one in saved[:50]] == listed(opened)
    table = str(opened.execute_async_script(SAVED, "#save-csv"))
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["id"] for row in rows] == [one["id"] for one in saved]
    assert [row["response"] for row in rows] == [one["response"] for one in saved]


@pytest.mark.parametrize("max_items", [20_000, 40])
def test_the_saved_table_says_what_is_not_supported_as_the_command_does(
    browser: Chromium, tmp_path: Path, max_items: int
) -> None:
    path = sample_run(tmp_path / "run", 600)
    browser.get(write_run_page(path, max_items=max_items).as_uri())
    table = str(browser.execute_async_script(SAVED, "#save-csv"))
    saved = {row["id"]: row for row in csv.DictReader(io.StringIO(table, newline=""))}
    lines = (path / "items.jsonl").read_bytes().splitlines()
    write_worst_csv(
        tmp_path / "worst.csv", lambda: iter(lines), lambda: RunFiles(path).iter_texts()
    )
    with (tmp_path / "worst.csv").open(newline="", encoding="utf-8") as file:
        expected = list(csv.DictReader(file))
    assert len(saved) == len(expected) == 600
    for row in expected:
        for name in ("question", "response", "unsupported", "reasons"):
            assert saved[row["id"]][name] == row[name]
    assert sum(bool(row["unsupported"]) for row in expected) > 50


def test_no_cell_that_is_saved_is_a_formula(browser: Chromium, tmp_path: Path) -> None:
    signs = list("=+-@'＝；;|\t\x0b\x1c\x85\u2028a")
    spaces = ["", " ", '"', "\xa0", "\u3000", "\u200b", "\n"]
    texts = [f"{a}{space}{b}1" for a in signs for b in signs for space in spaces]
    run = sample_run(tmp_path / "run", len(texts), records=False)
    lines = [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]
    with (run / "items.jsonl").open("w") as items:
        for line, text in zip(lines, texts, strict=True):
            items.write(json.dumps(line | {"id": text, "scores": {"f1": -0.5}}) + "\n")
    browser.get(write_run_page(run).as_uri())
    set_control(browser, "#sort", "+row")
    table = str(browser.execute_async_script(SAVED, "#save-csv"))
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    assert [row["id"] for row in rows] == [guard(text, numbers=False) for text in texts]
    assert {row["f1"] for row in rows} == {"-0.5"}


def test_fields_that_are_called_as_our_columns_lose_nothing(
    browser: Chromium, tmp_path: Path
) -> None:
    page = write_run_page(sample_run(tmp_path / "run", 20)).read_text()
    page = page.replace('"topic"', '"response"')  # as --by response
    (tmp_path / "page.html").write_text(page)
    browser.get((tmp_path / "page.html").as_uri())
    lines = str(browser.execute_async_script(SAVED, "#save-jsonl")).splitlines()
    responses = {json.loads(line)["response"] for line in lines}
    assert len(responses) > 5
    assert {json.loads(line)["by.response"] for line in lines}.isdisjoint(responses)


def test_item_opens_by_keyboard_and_the_back_button_returns(opened: Chromium) -> None:
    set_control(opened, "#sort", "+row")
    link = opened.find_elements("css selector", "#list a")[3]
    address = link.get_attribute("href")
    link.press("Enter")
    assert opened.current_url == address
    assert not opened.find_element("id", "overview").is_displayed()
    assert run(opened, "return document.activeElement.tagName") == "H1"
    title = words(opened, "#item h1")
    opened.back()
    opened.wait_until(opened.find_element("id", "overview").is_displayed)
    opened.wait_until(lambda: run(opened, "return document.activeElement.href") == address)
    opened.forward()
    opened.wait_until(lambda: opened.find_elements("css selector", "#item h1"))
    assert words(opened, "#item h1") == title
    key = "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))"
    run(opened, key, "ArrowRight")
    opened.wait_until(lambda: opened.current_url != address)
    opened.wait_until(lambda: "5" in words(opened, "#item .id"))
    run(opened, key, "k")
    opened.wait_until(lambda: opened.current_url == address)
    run(opened, key, "Escape")
    opened.wait_until(opened.find_element("id", "overview").is_displayed)
    assert opened.current_url.endswith("#items?sort=%2Brow")


def test_deep_link_and_unknown_item(opened: Chromium, page: Path) -> None:
    name = listed(opened)[7]
    opened.get("about:blank")
    opened.get(f"{page.as_uri()}#item-{name}")
    assert name in words(opened, "#item .id")
    follow(opened, "#item-%zz")
    assert "Not on this page" in words(opened, "#item")


@pytest.fixture(scope="module")
def claims_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One item with an emoji before its claims, a long way down to the passage that matters."""
    record, item = make_item(0, random.Random(1))
    record.response = "🌊🌊 Tides rise. Moons fall. Nobody knows."
    record.contexts = [
        Passage(text="Filler. " * 900),
        Passage(text="🌙 " + "Quiet. " * 400 + "The tide rises twice a day."),
    ]
    start = len(record.contexts[1].text) - len("The tide rises twice a day.")
    window = [start, len(record.contexts[1].text)]
    claims = [
        {"text": "Tides rise.", "start": 3, "end": 14, "supported": True, "probability": 0.9},
        {"text": "Moons fall.", "start": 15, "end": 26, "supported": False, "probability": 0.1},
        {"text": "Nobody knows.", "start": 27, "end": 40, "supported": None, "probability": None},
    ]
    for claim in claims:
        claim |= {"text_index": None, "window": None, "reasons": []}
    claims[0] |= {"text_index": 1, "window": window, "reasons": ["The same words stand there."]}
    item["id"] = "ümlaut & space"
    record.id = item["id"]
    facts = [{"text": "Moons fall.", "supported": True, "probability": 0.8, "window": [15, 26]}]
    item["evidence"] = {
        "grounding_precision": {"claims": claims},
        "grounding_recall": {"facts": facts},
        "grounding_f1": {"see": "grounding_precision"},
    }
    return write_run_page(write_run(tmp_path_factory.mktemp("claims"), [(record, item)]))


def test_claims_point_at_their_window(browser: Chromium, claims_page: Path) -> None:
    resize(browser, 1200)
    browser.get(claims_page.as_uri())
    open_first(browser)
    marks = browser.find_elements("css selector", ".response mark")
    assert [mark.text for mark in marks] == ["Tides rise.", "Moons fall.", "Nobody knows."]
    styles = {mark.value_of_css_property("text-decoration-style") for mark in marks}
    assert styles == {"solid", "wavy", "dotted"}
    marks[0].click()
    assert words(browser, ".passages mark.active") == "The tide rises twice a day."
    assert words(browser, ".verdict.active .text") == "Tides rise."
    assert "The same words stand there." in words(browser, "#item")
    inside = """const mark = document.querySelector('.passages mark.active');
        const place = mark.getBoundingClientRect();
        return place.top >= 0 && place.bottom <= innerHeight"""
    assert run(browser, inside)
    rows = browser.find_elements("css selector", ".verdict")
    rows[-1].click()
    assert words(browser, ".response mark.active") == "Moons fall."
    assert "Other evidence" not in words(browser, "#item")


def test_hover_shows_and_a_click_holds(browser: Chromium, claims_page: Path) -> None:
    resize(browser, 1200)
    browser.get("about:blank")
    browser.get(claims_page.as_uri() + "#item-%C3%BCmlaut%20%26%20space")
    marks = browser.find_elements("css selector", ".response mark")
    marks[0].hover()
    assert words(browser, ".verdict.active .text") == "Tides rise."
    marks[1].click()
    marks[0].hover()
    assert words(browser, ".verdict.active .text") == "Moons fall."


@pytest.fixture(scope="module")
def judged_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two items seen by two judges, of which one looked at the gold contexts too."""
    text = "The mill was built in 1903. It burned down."
    answer = "The mill is from 1903. It still stands."

    def claims(first: bool | None, second: bool, **more: Any) -> list[dict[str, Any]]:
        return [
            {"text": answer[:22], "start": 0, "end": 22, "supported": first, "text_index": 0}
            | {"window": [0, 27], "reasons": [], "probability": 0.75}
            | more,
            {"text": answer[23:], "start": 23, "end": 39, "supported": second, "text_index": 0}
            | {"window": [28, 43], "reasons": [], "probability": None},
        ]

    lost = {"status": "unparseable", "reply": "Hard to say.", "probability": None}
    facts = [
        {"text": "It was built in 1903.", "supported": True, "window": [0, 22], "reasons": []},
        {"text": "It burned down.", "supported": False, "window": None, "reasons": []},
    ]
    pairs = []
    for number in (0, 1):
        record, item = make_item(number, random.Random(number))
        record.response, record.contexts = answer, [Passage(text=text)]
        item["evidence"] = {
            "grounding_precision": {"claims": claims(True, False)},
            "grounding_recall": {"facts": facts},
            "grounding_f1": {"see": "grounding_precision"},
            "support(scope=gold)": {"claims": claims(True, True)},
            "context_entails@llm": {
                "response": [{"text_index": 0, "supported": False, "window": [0, 27]}]
            },
            "grounding_f1@llm": {"claims": claims(None, True, **lost), "facts": facts[::-1]},
        }
        pairs.append((record, item))
    return write_run_page(write_run(tmp_path_factory.mktemp("judged"), pairs))


def test_unsupported_words_that_a_reason_quotes_are_marked(
    browser: Chromium, tmp_path: Path
) -> None:
    record, item = make_item(0, random.Random(0))
    record.response, record.contexts = "It fell in 1923.", [Passage(text="It fell in 1903.")]
    reason = "not supported: 'in 1923' (number 0.93), \"nowhere's\" (0.60)"
    claim = {"text": record.response, "start": 0, "end": 16, "supported": False, "text_index": 0}
    claim |= {"window": [0, 16], "reasons": ["probability of support 0.07", reason]}
    item["evidence"] = {"grounding_precision": {"claims": [claim]}}
    browser.get(write_run_page(write_run(tmp_path, [(record, item)])).as_uri())
    open_first(browser)
    assert words(browser, ".verdict .text mark") == "in 1923"
    assert words(browser, ".verdict .text") == record.response


@pytest.fixture(scope="module")
def doubts_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tower, really judged: with a question, without one, and told at length."""
    text = "The tower is a landmark. It was finished in 1931 by Ada Voss. Many people visit it."
    filler = "Many people visit it, and it is a landmark. " * 12
    said = "It was finished in 1913 by Ada Voss."
    rows = [
        {"id": "asked", "question": "When was it finished?", "response": said},
        {"id": "claim", "response": said, "references": [said]},
        {"id": "long", "question": "When?", "response": filler + said},
    ]
    path = tmp_path_factory.mktemp("doubts") / "run"
    score([row | {"contexts": [text]} for row in rows], out=path, resamples=10)
    return path / "report.html"


def test_lists_mark_the_words_in_doubt_within_the_claim(
    browser: Chromium, doubts_page: Path
) -> None:
    resize(browser, 390)
    browser.get(doubts_page.as_uri())
    script = """return Object.fromEntries([...document.querySelectorAll(arguments[0])].map((row) => {
        const word = row.querySelector('.doubt'), claim = word.closest('mark');
        const box = word.closest('a, p').getBoundingClientRect(), place = word.getBoundingClientRect();
        const style = (e) => getComputedStyle(e).backgroundColor;
        return [row.querySelector('.id').textContent, [word.textContent, claim.textContent,
          style(claim), style(word) === style(claim), place.bottom <= box.bottom + 1,
          !!claim.closest('a')]];
    }))"""  # noqa: E501
    found = run(browser, script, "#list .answer-row")
    said = "It was finished in 1913 by Ada Voss."
    bare = "rgba(0, 0, 0, 0)"
    assert found["asked"] == ["1913", said, bare, False, True, False]
    assert found["claim"] == ["1913", said, bare, False, True, True]
    assert found["long"] == ["1913", said, bare, False, True, False]
    resize(browser, 1200)


@pytest.mark.parametrize("width", [390, 1200])
def test_a_claim_its_doubt_and_its_best_sentence_are_seen_at_once(
    browser: Chromium, doubts_page: Path, width: int
) -> None:
    resize(browser, width)
    browser.get("about:blank")
    browser.get(doubts_page.as_uri() + "#item-asked")
    browser.wait_until(lambda: browser.find_elements("css selector", "#item .passages"))
    assert words(browser, ".response .doubt") == "1913"
    assert words(browser, ".verdict .doubt") == "1913"
    browser.find_element("css selector", ".response .doubt").click()
    assert words(browser, ".passages .nearest") == "It was finished in 1931 by Ada Voss."
    both = """const at = (name) => document.querySelector(name).getBoundingClientRect();
        const seen = ['.response .doubt', '.verdict', '.passages .nearest'].map(at)
          .every(({top, bottom}) => top >= 0 && bottom <= innerHeight);
        const scores = [...document.querySelectorAll('#item h3')].find((e) => e.innerText === 'Scores');
        return [seen, at('.verdicts').bottom <= scores.getBoundingClientRect().top,
                at('#item .passages h3').top < scores.getBoundingClientRect().top,
                document.querySelector('.passages').compareDocumentPosition(scores) & 4]"""  # noqa: E501
    assert run(browser, both) == [True, True, True, 4]
    resize(browser, 1200)


def test_of_a_window_the_sentence_that_says_most_stands_out(
    browser: Chromium, tmp_path: Path
) -> None:
    record, item = make_item(0, random.Random(0))
    text = "🌙 It rained. The tower was finished in 1931, they say. Nobody came."
    record.response, record.contexts = "The tower fell in 1931.", [Passage(text=text)]
    claim = {"text": record.response, "start": 0, "end": 23, "supported": True, "text_index": 0}
    claim |= {"window": [0, len(text)], "reasons": []}
    item["evidence"] = {"grounding_precision": {"claims": [claim]}}
    browser.get(write_run_page(write_run(tmp_path, [(record, item)])).as_uri())
    open_first(browser)
    browser.find_element("css selector", ".response mark").click()
    marks = browser.find_elements("css selector", ".passages mark.active")
    assert " ".join(mark.text for mark in marks) == text
    assert words(browser, ".passages .nearest") == "The tower was finished in 1931, they say."
    colors = [mark.value_of_css_property("background-color") for mark in marks]
    assert len(set(colors)) == 2
    browser.find_element("css selector", ".response mark").click()


def test_scores_have_names_and_those_without_a_value_are_folded(
    browser: Chromium, doubts_page: Path
) -> None:
    browser.get("about:blank")
    browser.get(doubts_page.as_uri() + "#item-asked")
    browser.wait_until(lambda: browser.find_elements("css selector", "#item .scores"))
    lines = words(browser, "#item .scores").splitlines()
    assert "Mean probability that the contexts support a claim of the response" in lines
    assert not any(line.startswith("–") for line in lines)
    browser.find_element("xpath", "//section[h3='Scores']//summary").click()
    folded = words(browser, "#item section:has(.scores) details")
    assert folded.count("a needed field is missing") == 1
    assert "exact_match" in folded


def test_groups_of_reasons_read_as_words(browser: Chromium, doubts_page: Path) -> None:
    resize(browser, 320)
    browser.get("about:blank")
    browser.get(doubts_page.as_uri())
    assert words(browser, ".tiles.small .tile") == "3 claims:\nnumber or date not in the context"
    assert (
        run(browser, "return document.querySelector('.small .value').getClientRects().length") == 1
    )
    resize(browser, 1200)


def test_the_reader_switches_the_judge(browser: Chromium, judged_page: Path) -> None:
    browser.get(judged_page.as_uri())
    open_first(browser)

    def verdicts() -> list[str]:
        marks = browser.find_elements("css selector", ".response mark")
        return [mark.get_attribute("class").split()[1] for mark in marks]

    def press(name: str) -> None:
        browser.find_element("xpath", f"//fieldset/button[.='{name}']").click()

    names = [b.text for b in browser.find_elements("css selector", ".judges button")]
    assert names == ["lexical", "lexical (scope=gold)", "llm"]
    assert verdicts() == ["supported", "unsupported"]
    assert "Claims: 1 of 2 supported" in words(browser, "#item")
    tags = [tag.text for tag in browser.find_elements("css selector", ".verdict .tag")]
    assert tags[:2] == ["llm: not checked", "lexical (scope=gold): supported"]
    press("lexical (scope=gold)")
    assert verdicts() == ["supported", "supported"]
    assert "Whole answer" not in words(browser, "#item")
    press("llm")
    assert run(browser, "return document.activeElement.textContent") == "llm"
    assert verdicts() == ["unknown", "supported"]
    shown = words(browser, "#item")
    assert "no verdict in the judge's reply" in shown
    assert "Whole answer" in shown
    assert "The answer as a whole" in shown
    browser.find_element("css selector", ".reply summary").click()
    assert words(browser, ".reply pre") == "Hard to say."
    browser.find_element("css selector", ".verdict").click()
    assert words(browser, ".passages mark.active") == "The mill was built in 1903."
    browser.find_element("link text", "Next").click()
    browser.wait_until(
        lambda: "Next" not in [a.text for a in browser.find_elements("css selector", ".itemnav a")]
    )
    assert words(browser, ".judges [aria-pressed=true]") == "llm"
    assert browser.messages() == []


def test_missing_facts_come_first(browser: Chromium, judged_page: Path) -> None:
    browser.get("about:blank")
    browser.get(judged_page.as_uri())
    open_first(browser)
    section = browser.find_element("xpath", "//section[h3[starts-with(., 'Gold facts')]]")
    lines = section.text.splitlines()
    assert lines[:3] == [
        "Gold facts: 1 of 2 stated",
        "Missing from the answer (1)",
        "It burned down.",
    ]
    assert lines[3].startswith("missing")
    assert "Stated in the answer (1)" in lines
    section.find_elements("css selector", ".verdict")[-1].click()
    assert words(browser, ".response mark.active") == "The mill is from 1903."


def hostile_run(folder: Path) -> Path:
    record, item = make_item(0, random.Random(0))
    record.id = item["id"] = record.question = record.response = PAYLOAD
    record.history = [Turn(PAYLOAD, PAYLOAD)]
    record.contexts = [Passage(text=PAYLOAD, id=PAYLOAD, title=PAYLOAD, source=PAYLOAD)]
    record.references = record.gold_facts = [PAYLOAD]
    record.model = PAYLOAD
    record.meta = {"topic": PAYLOAD, PAYLOAD: PAYLOAD}
    part = {"text": PAYLOAD, "supported": False, "window": [0, 9], "reasons": [PAYLOAD]}
    claim = part | {"start": 0, "end": 20, "text_index": 0, "probability": PAYLOAD}
    item["scores"][PAYLOAD] = 0.5
    item["status"][PAYLOAD] = PAYLOAD
    item["evidence"] = {
        "grounding_precision": {"claims": [claim]},
        "grounding_recall": {"facts": [part]},
        "abstained": {"phrase": PAYLOAD},
        PAYLOAD: {"raw": PAYLOAD},
    }
    pair, (second, plain) = (record, item), make_item(1, random.Random(0))
    plain["scores"][PAYLOAD], plain["status"][PAYLOAD] = None, "error"
    return write_run(
        folder,
        [pair, (second, plain)],
        abstention_rate=0.5,
        abstention={"p_ir": 0.5, "confusion": {PAYLOAD: {PAYLOAD: 1}}},
        skipped_rows=[PAYLOAD],
    )


def test_hostile_text_stays_text(browser: Chromium, tmp_path: Path) -> None:
    path = hostile_run(tmp_path / "run")
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"lexical"', '"<img src=x onerror=hit()>"'))
    browser.get(write_run_page(path).as_uri())
    safe = "return [window.hit, document.images.length, document.querySelectorAll('script').length]"
    assert run(browser, safe) == [None, 0, 5]
    assert PAYLOAD in words(browser, "#overview")
    set_control(browser, "#text", "</SCRIPT>", "input")
    assert words(browser, "#count") == "1 of 2 answers match"
    open_first(browser)
    run(browser, "for (const d of document.querySelectorAll('details')) d.open = true")
    shown = words(browser, "#item")
    assert shown.count(PAYLOAD) >= 12
    browser.find_element("css selector", ".verdict").click()
    assert words(browser, ".passages mark.active") == PAYLOAD[:9]
    assert run(browser, safe) == [None, 0, 5]
    browser.refresh()
    assert PAYLOAD in words(browser, "#item h1")
    assert browser.messages() == []


@pytest.mark.parametrize("width", [320, 390])
def test_phone_has_no_sideways_scroll(opened: Chromium, width: int) -> None:
    resize(opened, width)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert run(opened, wide) == 0
    open_first(opened)
    assert run(opened, wide) == 0
    resize(opened, 1200)


def test_theme_turns(opened: Chromium) -> None:
    color = "return getComputedStyle(document.body).backgroundColor"
    button = opened.find_element("id", "theme")
    button.click()
    light = run(opened, color)
    button.click()
    assert button.text == "Theme: dark"
    assert run(opened, color) != light


def test_breakdown_follows_the_chosen_metric(opened: Chromium) -> None:
    run(opened, "for (const d of document.querySelectorAll('#overview > details')) d.open = true")
    opened.wait_until(lambda: opened.find_elements("css selector", ".choice select"))
    shown = (
        "return [...document.querySelectorAll('.choice figcaption code')].map((c) => c.innerText)"
    )
    assert run(opened, shown) == ["grounding_f1", "grounding_f1"]
    options = run(
        opened, "return [...document.querySelector('.choice select').options].map((o) => o.text)"
    )
    set_control(opened, ".choice select", str(options.index("f1")))
    assert run(opened, shown) == ["f1", "f1"]


def test_without_records_scores_and_evidence_remain(browser: Chromium, tmp_path: Path) -> None:
    browser.get(write_run_page(sample_run(tmp_path / "run", 12, records=False)).as_uri())
    assert "doesn't store records" in words(browser, "#items")
    open_first(browser)
    assert "Claims:" in words(browser, "#item")
    assert not browser.find_elements("css selector", ".passages, .response")
    assert browser.messages() == []


def test_print_shows_the_list_without_controls(opened: Chromium) -> None:
    opened.send("Emulation.setEmulatedMedia", media="print")
    assert not opened.find_element("id", "filters").is_displayed()
    assert opened.find_element("css selector", "#list .answer").is_displayed()
    opened.send("Emulation.setEmulatedMedia", media="")


@pytest.mark.long
def test_twenty_thousand_items_stay_quick(browser: Chromium, tmp_path: Path) -> None:
    page = write_run_page(sample_run(tmp_path / "run", 20_000))
    browser.get(page.as_uri())
    # The browser reports the first paint some frames after it painted.
    paint = "return (performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime"
    browser.wait_until(lambda: run(browser, paint) is not None)
    assert run(browser, paint) < 3000
    timed = """const box = document.getElementById('text'), start = performance.now();
        box.value = 'merian'; box.dispatchEvent(new Event('input', {bubbles: true}));
        const done = arguments[0];
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)))"""
    assert browser.execute_async_script(timed) < 1500
    assert words(browser, "#count").endswith("of 20,000 answers match")


@pytest.mark.long
def test_a_hundred_thousand_answers_open_in_two_seconds(browser: Chromium, tmp_path: Path) -> None:
    page = write_run_page(sample_run(tmp_path / "run", 100_000))
    browser.get("about:blank")
    browser.get(page.as_uri())
    done = "return performance.getEntriesByType('navigation')[0].domComplete"
    assert run(browser, done) < 5000  # two seconds on a machine that does nothing else
    assert words(browser, "#count") == "100,000 answers"


def test_details_beside_the_page_are_loaded_when_opened(browser: Chromium, tmp_path: Path) -> None:
    page = write_run_page(sample_run(tmp_path / "run", 600), max_items=20)
    browser.get("about:blank")
    browser.get(page.as_uri())
    assert words(browser, "#count") == "600 answers"
    index = [f"#list li:nth-child({k}) a" for k in (40, 41)]
    press(browser, index[0])
    browser.wait_until(lambda: browser.find_elements("css selector", "#item .passages"))
    assert words(browser, "#item .response")
    assert browser.messages() == []
    moved = page.parent.parent / "alone.html"
    moved.write_bytes(page.read_bytes())
    browser.get(moved.as_uri())
    browser.wait_until(lambda: words(browser, "#count") == "20 of 600 answers match")
    assert "report_items is missing next to this page" in words(browser, "#items")
    open_first(browser)
    assert words(browser, "#item .response")
    browser.messages()  # the missing file is told in the console too
