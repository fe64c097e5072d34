"""The page and the data card of a build: what they say, and that no text becomes more than text."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from markdown_it import MarkdownIt
from tests.reports.payload import blocks, payload, words
from tests.wings.papers.builders.finished import HOSTILE, finished, write_labels

from trueground.reports.markdown import escaped, fenced
from trueground.wings.papers.builders.pages import RowSample, build_page
from trueground.wings.papers.builders.people import read_people


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("build") / "out").path


@pytest.fixture
def made(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    summary = orjson.loads((folder / "summary.json").read_bytes())
    return summary, orjson.loads((folder / "manifest.json").read_bytes())


def page_text(summary: dict[str, Any], manifest: dict[str, Any], people: Any = None) -> str:
    return words(build_page(summary, manifest, people).to_html())


def card_text(summary: dict[str, Any], manifest: dict[str, Any], people: Any = None) -> str:
    return build_page(summary, manifest, people).to_markdown()


def text_of(file: Path) -> str:
    """All that a reader sees of the page or the card."""
    text = file.read_text()
    return words(text) if file.suffix == ".html" else text


def test_the_funnel_tells_every_stage_and_reason(folder: Path) -> None:
    page = payload((folder / "report.html").read_text())
    funnel, reasons, *_ = blocks(page, "table")
    assert [
        (cells[0][0]["text"], cells[1], cells[2]["value"], cells[3])
        for cells in (row["cells"] for row in funnel["rows"])
    ] == [("read", 100, 90, 10), ("rewrite", 90, 81, 9), ("choose", 81, 60, 21)]
    assert funnel["columns"][2]["high"] == 100
    rows = [row["cells"] for row in reasons["rows"]]
    assert ["same_text", 9, "the changed context is the original one"] in rows
    text = words(page)
    assert "trueground run faitheval/unanswerable --data dataset --model NAME" in text
    links = [part["href"] for part in spans(page) if "href" in part]
    assert "dataset/items%20%3C1%3E.jsonl" in links
    assert "stages/02-rewrite.jsonl" in links


def spans(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        own = [value] if "text" in value and "type" not in value else []
        return own + [one for each in value.values() for one in spans(each)]
    return [one for each in value for one in spans(each)] if isinstance(value, list) else []


def test_the_items_are_there_to_be_read(folder: Path) -> None:
    items, _ = blocks((folder / "report.html").read_text(), "entries")
    lines = (folder / "items.jsonl").read_bytes().splitlines()
    assert len(items["entries"]) == len(lines) == 60
    for entry, line in zip(items["entries"], map(orjson.loads, lines), strict=True):
        assert entry["title"] == line["question"]
        assert [one["text"] for one in entry["blocks"]] == [*line["contexts"], line["id"]]
        assert entry["note"][1] == line["answers"][0]
        assert entry["tags"].items() >= line["factors"].items()
        assert entry["tags"]["judge says answerable"] == ("yes" if line["answerable"] else "no")
        assert entry["values"] == line["numbers"]


def test_rejected_items_are_filtered_by_reason_and_stage(folder: Path) -> None:
    _, fell = blocks((folder / "report.html").read_text(), "entries")
    tags = [tuple(entry["tags"].values()) for entry in fell["entries"]]
    assert len(tags) == 40
    assert [tags.count(one) for one in dict.fromkeys(tags)] == [10, 9, 21]
    assert ("same_text", "rewrite") in tags
    notes = [one["note"] for one in fell["entries"] if one["tags"]["reason"] == "same_text"]
    assert notes[0] == f"the changed context is the original one: {HOSTILE}"


def test_page_lists_kept_and_rejected_items(
    made: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    refused = {"new_context": "a text", "facts": ["one", "two"], "score": 2}
    row = {"stage": "rewrite", "id": "x", "reason": "same_text", "detail": "", "made": refused}
    page = build_page(*made, dropped=RowSample([row], 7)).to_html()
    text = words(page)
    for told in ("new context  a text", "facts  one\ntwo", "score  2"):
        assert told in text
    assert "This list has every 7th of them; all are in dropped.jsonl." in text
    assert [one["id"] for one in blocks(page, "section") if one.get("id") == "items"] == []


def test_the_same_build_at_another_time_and_cost_is_the_same_page(
    made: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    summary, manifest = made
    models = {r: {**m, "calls": 999, "tokens_in": 12_345} for r, m in manifest["models"].items()}
    later = {**manifest, "start": "2001", "finished": "2002", "models": models, "command": ["x"]}
    for render in (page_text, card_text):
        assert render(summary, later) == render(summary, manifest)
        assert manifest["start"] not in render(summary, manifest)


def test_hostile_text_is_text_on_the_page(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert page.count("</script>") == 2  # the data's and the viewer's own
    assert "<img" not in page
    assert HOSTILE in words(page)
    assert "default-src 'none'" in page


def test_the_card_is_markdown_whatever_the_texts_hold(folder: Path) -> None:
    text = (folder / "card.md").read_text()
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inner = [child for token in tokens for child in token.children or []]
    kinds = {token.type for token in [*tokens, *inner]}
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}
    headings = [b.content for a, b in pairwise(tokens) if a.tag == "h2"]
    assert [h for h in headings if h] == [
        "From source to dataset",
        "How to use it",
        "Contents",
        "Question, answer and contexts",
        "Judges and human labels",
        "How it was made",
        "Known limits",
        "License",
    ]
    fences = [token.content for token in tokens if token.type == "fence"]
    assert fences == ["trueground run faitheval/unanswerable --data dataset --model NAME\n"]
    cells: list[int] = []  # of each row of the first table
    for token in tokens:
        if token.type == "tr_open":
            cells.append(0)
        if token.type in ("th_open", "td_open"):
            cells[-1] += 1
        if token.type == "table_close":
            break
    assert cells == [4, 4, 4, 4]


@pytest.mark.parametrize("text", ["a|b", "`x`", "<b>", "[a](b)", "*a* _b_ ~~c~~", "&amp;", "a\\"])
def test_signs_stay_signs(text: str) -> None:
    (paragraph,) = (t for t in MarkdownIt().parse(f"x {escaped(text)}") if t.type == "inline")
    assert "".join(c.content for c in paragraph.children or []) == f"x {text}"
    assert escaped(" a\n\u202eb\t ") == "a b"


def test_no_backticks_end_a_block_of_code() -> None:
    text = "run ``` and ````\n````"
    (block,) = MarkdownIt().parse(fenced(text))
    assert block.content == text + "\n"


def test_a_judge_of_what_is_left_is_no_measure_of_the_judge(folder: Path) -> None:
    for file in ("report.html", "card.md"):
        text = text_of(folder / file)
        assert re.search(r"A judge model called \d+ of 60 remaining items answerable", text)
        assert "passed the checks of every stage" in text


def test_page_shows_human_labels_next_to_judge(folder: Path) -> None:
    for file in ("report.html", "card.md"):
        text = text_of(folder / file)
        assert "People have labeled 20 of 60 tasks" in text
        assert "no 1, yes 19" in text
        assert re.search(r"\d\d\.\d % of 20", text)
        assert "Cohen" in text


def test_labels_that_came_later(
    folder: Path, made: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    said = read_people(folder, write_labels(tmp_path / "labels.jsonl"))
    page, card = page_text(*made, said), build_page(*made, said).to_markdown()
    for text in (page, card):
        assert "labels.jsonl" in text
        assert "13 agreed, 23 majority" in text
        assert "36 of 60" in text
        assert "77.8 %" in text
    assert "4 labels are for tasks" in page


def test_many_sources_are_counted(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    summary, manifest = made
    many = [{"path": f"doc-{number}.txt", "sha256": "0" * 64} for number in range(75)]
    for render in (page_text, card_text):
        text = render(summary, {**manifest, "inputs": many})
        assert "doc-49.txt" in text
        assert "doc-50.txt" not in text
        assert "25 more are in" in text


def test_page_reports_items_left_out_by_limit(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    summary, manifest = made
    for render in (page_text, card_text):
        assert "The limit left out" not in render(summary, manifest)
        text = render({**summary, "left_out": 1_234}, {**manifest, "limit": 10})
        assert "The limit left out 1,234 source items." in text


def test_page_lists_models_and_prompts(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    summary, manifest = made
    params = {"temperature": 0.0, "max_tokens": 99, "seed": None, "extra": {}}
    judge = {"name": "llama-3", "params": params}
    for render in (page_text, card_text):
        text = render(summary, {**manifest, "models": {"judge": judge}})
        assert "llama-3" in text
        assert re.search(r"temperature 0\.0, max\\?_tokens 99\b", text)
        assert "extra" not in text
