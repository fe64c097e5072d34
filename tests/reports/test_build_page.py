"""The page and the data card of a build: what they say, and that no text becomes more than text."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from markdown_it import MarkdownIt
from tests.builders.finished import finished, write_labels

from trueground.builders.quality.people import people
from trueground.reports.build_card import fenced, plain, render_card
from trueground.reports.build_page import render_page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished(tmp_path_factory.mktemp("build") / "out").path


@pytest.fixture
def made(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    summary = orjson.loads((folder / "summary.json").read_bytes())
    return summary, orjson.loads((folder / "manifest.json").read_bytes())


def test_the_funnel_tells_every_stage_and_reason(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert re.findall(r'aria-label="(\w+: \d+ in, \d+ out, \d+ fell)"', page) == [
        "read: 100 in, 90 out, 10 fell",
        "rewrite: 90 in, 81 out, 9 fell",
        "choose: 81 in, 60 out, 21 fell",
    ]
    assert "<li>9 <code>same_text</code>: the changed context is the original one</li>" in page
    assert 'width="90.0%" height="12"' in page
    assert "trueground run faitheval/unanswerable --data dataset --model NAME" in page
    assert 'href="dataset/items%20%3C1%3E.jsonl"' in page


def test_the_same_build_at_another_time_and_cost_is_the_same_page(
    made: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    summary, manifest = made
    models = {r: {**m, "calls": 999, "tokens_in": 12_345} for r, m in manifest["models"].items()}
    later = {**manifest, "start": "2001", "finished": "2002", "models": models, "command": ["x"]}
    for render in (render_page, render_card):
        assert render(summary, later) == render(summary, manifest)
        assert manifest["start"] not in render(summary, manifest)


def test_hostile_text_is_text_on_the_page(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page


def test_the_card_is_markdown_whatever_the_texts_hold(folder: Path) -> None:
    text = (folder / "card.md").read_text()
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    inner = [child for token in tokens for child in token.children or []]
    kinds = {token.type for token in [*tokens, *inner]}
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}
    headings = [b.content for a, b in pairwise(tokens) if a.tag == "h2"]
    assert [h for h in headings if h] == [
        "How it was made",
        "Validation",
        "What it holds",
        "Known limits",
        "Sources and licence",
        "How to use it",
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
    assert cells == [6, 6, 6, 6]


@pytest.mark.parametrize("text", ["a|b", "`x`", "<b>", "[a](b)", "*a* _b_ ~~c~~", "&amp;", "a\\"])
def test_signs_stay_signs(text: str) -> None:
    (paragraph,) = (t for t in MarkdownIt().parse(f"x {plain(text)}") if t.type == "inline")
    assert "".join(c.content for c in paragraph.children or []) == f"x {text}"
    assert plain(" a\n\u202eb\t ") == "a b"


def test_no_backticks_end_a_block_of_code() -> None:
    text = "run ``` and ````\n````"
    (block,) = MarkdownIt().parse(fenced(text))
    assert block.content == text + "\n"


def test_a_judge_of_what_is_left_is_no_measure_of_the_judge(folder: Path) -> None:
    for file in ("report.html", "card.md"):
        text = (folder / file).read_text()
        assert re.search(r"Of 60 items that are left a judge model called \d+ answerable", text)
        assert "passed the checks of every stage" in text


def test_what_people_said_stands_beside_the_judge(folder: Path) -> None:
    for file in ("report.html", "card.md"):
        text = (folder / file).read_text()
        assert "People have labelled 20 of 60 tasks" in text
        assert "no 1, yes 19" in text
        assert re.search(r"\d\d\.\d % of 20", text)
        assert "Cohen" in text


def test_labels_that_came_later(
    folder: Path, made: tuple[dict[str, Any], dict[str, Any]], tmp_path: Path
) -> None:
    said = people(folder, write_labels(tmp_path / "labels.jsonl"))
    page, card = render_page(*made, said), render_card(*made, said)
    for text in (page, card):
        assert "labels.jsonl" in text
        assert "13 agreed, 23 majority" in text
        assert "36 of 60" in text
        assert "77.8 %" in text
    assert "4 labels are of tasks" in page


def test_many_sources_are_counted(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    summary, manifest = made
    many = [{"path": f"doc-{number}.txt", "sha256": "0" * 64} for number in range(75)]
    for render in (render_page, render_card):
        text = render(summary, {**manifest, "inputs": many})
        assert "doc-49.txt" in text
        assert "doc-50.txt" not in text
        assert "25 more stand in" in text


def test_what_a_limit_left_out_is_told(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    summary, manifest = made
    for render in (render_page, render_card):
        assert "The limit left out" not in render(summary, manifest)
        text = render({**summary, "left_out": 1_234}, {**manifest, "limit": 10})
        assert "The limit left out 1,234 source items." in text


def test_what_models_were_asked_with(made: tuple[dict[str, Any], dict[str, Any]]) -> None:
    summary, manifest = made
    params = {"temperature": 0.0, "max_tokens": 99, "seed": None, "extra": {}}
    judge = {"name": "llama-3", "params": params}
    for render in (render_page, render_card):
        text = render(summary, {**manifest, "models": {"judge": judge}})
        assert "llama-3" in text
        assert re.search(r"temperature 0\.0, max\\?_tokens 99\b", text)
        assert "extra" not in text
