"""What `build contexts` reads, what it refuses and what it leaves out, before anything is paid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.contexts.world import choice_record, context, record, write_records

from trueground.errors import InputError, UsageError
from trueground.wings.papers.builders.base import BuildPlan, Rejected
from trueground.wings.papers.builders.contexts.checks import ContextQuestion, Sample
from trueground.wings.papers.builders.contexts.plan import prepare
from trueground.wings.papers.builders.flow import read_source, run_batch
from trueground.wings.papers.builders.registry import get_builder
from trueground.wings.papers.builders.settings import Material

ROLES = {"writer": "big", "judge": "small"}


def plan(path: Path, **options: str) -> BuildPlan:
    given = {name.replace("_", "-"): value for name, value in options.items()}
    material = Material(paths=(path,), roles=ROLES)
    settled = get_builder("contexts").options.resolve("contexts", given)
    return prepare(settled, material)


def read(path: Path, **options: Any) -> tuple[dict[str, ContextQuestion], list[Rejected]]:
    items, flowed, _ = read_source(plan(path, **options).source)
    return {item.id: item for item in items}, flowed.rejected


def samples(path: Path, **options: str) -> tuple[list[Sample], list[Rejected]]:
    made = plan(path, **options)
    items, *_ = read_source(made.source)
    kept, flowed = run_batch(made.stages[0], items)
    return kept, flowed.rejected


def test_all_layouts(tmp_path: Path) -> None:
    rows = [
        record("Aa"),
        {"id": 7, "question": "Q?", "contexts": ["One.", {"title": "T", "text": "Two."}]}
        | {"references": ["Two"]},
        {"header": {"dataset": "SQuAD"}},
        {
            "context": "The mill is red.",
            "qas": [{"qid": "m", "question": "Color?"} | {"answers": ["red"]}],
        },
        {
            "id": "arc",
            "question": {
                "stem": "S?",
                "choices": [{"label": "A", "text": "x"}, {"label": "B", "text": "y"}],
            },
        }
        | {"answerKey": "B"},
        record("Both") | {k: v for k, v in choice_record("Both").items() if k != "question"},
        {"question": "No id?", "context": "None here.", "answer": "None"},
    ]
    found, dropped = read(write_records(tmp_path / "my.jsonl", rows))
    assert not dropped
    assert found["7"].context == "One.\n\nT\nTwo."
    assert found["7"].subset == "my"
    assert found["m"].answers == ("red",)
    assert (found["arc"].question, found["arc"].key) == ("S?", "B")
    assert found["arc"].tasks == ("counterfactual",)
    assert found["Both"].tasks == ("unanswerable", "inconsistent", "counterfactual")
    made = next(name for name in found if name.startswith("q-"))
    more = [{"question": "Else?", "context": "x", "answer": "x"}, rows[-1]]
    assert made in read(write_records(tmp_path / "more.jsonl", more))[0]


def test_what_cannot_be_used_is_named_and_skipped(tmp_path: Path) -> None:
    rows = [
        record("Aa"),
        record("Blank") | {"context": " \n"},
        record("Bell") | {"context": "a\x07b"},
        '{"id": "Nul", "question": "Q", "context": "a\\u0000b", "answers": ["a"]}',
        record("Long") | {"context": "word " * 101},
        record("Aa") | {"id": "Twice", "context": context("Aa").upper()},
        record("Broken") | {"context": "a \ufffd b"},
        {"id": "", "question": " "},
        record("Han") | {"context": "渔" * 101},
    ]
    found, dropped = read(write_records(tmp_path / "s.jsonl", rows), max_context_words="100")
    assert list(found) == ["Aa"]
    assert {one.id: one.reason for one in dropped} == {
        "Blank": "blank",
        "Bell": "binary",
        "Nul": "binary",
        "Long": "enormous",
        "Twice": "duplicate",
        "Broken": "binary",
        str(tmp_path / "s.jsonl") + ", line 8": "blank",
        "Han": "enormous",
    }
    assert all("s.jsonl, line" in one.detail for one in dropped)
    details = {one.id: one.detail for one in dropped}
    assert details["Bell"].endswith("the control character U+0007 at character 2")
    assert details["Long"].endswith("101 words, --max-context-words 100")


def test_invalid_utf8_is_binary(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(json.dumps(record("Aa")).encode() + b"\n\xff\xfe\x00\n")
    found, dropped = read(path)
    assert list(found) == ["Aa"]
    assert [one.reason for one in dropped] == ["binary"]


BROKEN = [
    record("Aa"),
    record("One") | {"answers": []},
    record("Two") | {"question": None},
    "{not json",
    choice_record("Three") | {"answerKey": "Z"},
    record("Four") | {"context": 5},
    record("Aa") | {"question": "Another?"},
    {"id": "Five", "question": "Q?"},
]


def test_wrong_rows_are_all_named_before_anything_is_asked(tmp_path: Path) -> None:
    path = write_records(tmp_path / "s.jsonl", BROKEN)
    with pytest.raises(InputError) as error:
        read(path)
    assert "7 invalid rows" in str(error.value)
    for number in range(2, 9):
        assert f"s.jsonl, line {number}" in str(error.value)
    found, dropped = read(path, on_bad_row="skip")
    assert list(found) == ["Aa"]
    assert {one.reason for one in dropped} == {"bad_row"}
    assert len(dropped) == 7


def test_nothing_to_do_is_an_error(tmp_path: Path) -> None:
    empty = write_records(tmp_path / "empty.jsonl", [{"header": {"dataset": "SQuAD"}}])
    with pytest.raises(InputError, match="no record that can be used"):
        read(empty)
    opened = write_records(tmp_path / "open.jsonl", [record("Aa")])
    with pytest.raises(InputError, match="choices and answerKey"):
        read(opened, task="unanswerable,counterfactual")
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "options",
    [
        {"task": "unanswerible"},
        {"kept": "1.5"},
        {"kept": "nan"},
        {"max_context_words": "0"},
        {"second_sample": "many"},
        {"min_words": "1_0"},
        {"kept": " 0x1"},
        {"phrase": "all"},
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        read(write_records(tmp_path / "s.jsonl", [record("Aa")]), **options)


def test_records_that_cannot_be_changed_fall(tmp_path: Path) -> None:
    rows = [
        record("Aa"),
        record("Gone") | {"answers": ["Somebody Else"]},
        record("Headed") | {"context": f"Document: {context('Headed')}"},
        record("Yes") | {"question": "Is Yes on the coast?", "answers": ["yes"]},
    ]
    path = write_records(tmp_path / "s.jsonl", rows)
    kept, dropped = samples(path)
    assert {one.id: one.reason for one in dropped} == {
        "Gone/unanswerable": "answer_not_in_context",
        "Gone/inconsistent": "answer_not_in_context",
        "Headed/inconsistent": "heading",
    }
    assert len(kept) == 5
    kept, dropped = samples(path, require_answer="no", task="inconsistent")
    assert [one.id for one in dropped] == ["Headed/inconsistent"]
    assert len(kept) == 3
