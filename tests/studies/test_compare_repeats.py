"""Runs with several answers to a question: compared by questions, as their records tell them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.texts import comparison_text

import trueground as tg
from trueground.errors import InputError, UsageError
from trueground.stats.paired_tests import Paired
from trueground.studies.comparing import compare

Make = Callable[..., Path]
ANSWERS = ["120 metres", "130 metres", "about 120 metres", "it is tall"]


def rows(seed: int, answers: int, questions: int = 12) -> list[dict[str, Any]]:
    """Answers to questions, in an order that mixes them; ids tell nothing of the question."""
    random = np.random.default_rng(seed)
    found = [
        {
            "id": f"{seed}-{i}",
            "question": f"How tall is tower {i % questions}?",
            "references": ["120 metres"],
            "response": str(random.choice(ANSWERS)),
            "meta": {"qid": i % questions},
        }
        for i in range(questions * answers)
    ]
    return found[::-1]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(name: str, records: list[dict[str, Any]], **settings: Any) -> Path:
        settings = {"metrics": "f1", "repeats_of": "question"} | settings
        tg.score(records, out=tmp_path / name, resamples=10, **settings)
        return tmp_path / name

    return made


def by_hand(run: Path, records: list[dict[str, Any]]) -> dict[str, float]:
    """The mean of each question's scores, straight from the files."""
    items = map(json.loads, (run / "items.jsonl").read_text("utf-8").splitlines())
    scores: dict[str, list[float]] = {}
    for item, record in zip(items, records, strict=True):
        scores.setdefault(record["question"], []).append(item["scores"]["f1"])
    return {question: float(np.mean(values)) for question, values in scores.items()}


def test_answers_to_one_question_are_one_item(make: Make) -> None:
    three, five = rows(0, 3), rows(1, 5)
    a, b = make("a", three), make("b", five)
    found = compare([a, b])
    (pair,) = found.pairs
    means_a, means_b = by_hand(a, three), by_hand(b, five)
    (expected,) = Paired.compare(
        *(np.array([means[q] for q in means_a])[:, None] for means in (means_a, means_b))
    )
    result = pair.metrics["f1"].result
    assert (pair.items, pair.clusters, result.n) == (12, None, 12)
    assert (result.difference, result.p) == pytest.approx((expected.difference, expected.p))
    assert result.ci == pytest.approx(expected.ci)
    assert pair.notes == (
        "a has 3 answers to each question: each question counts once, by the mean over its "
        "answers; texts and links are those of the first",
        "b has 5 answers to each question: each question counts once, by the mean over its "
        "answers; texts and links are those of the first",
    )
    change = next(iter((*pair.metrics["f1"].changes_lost, *pair.metrics["f1"].changes_won)))
    first = {run: next(r for r in told if r["question"] == change.question)
             for run, told in (("a", three), ("b", five))}  # fmt: skip
    assert change.id == change.question
    assert change.response_a == first["a"]["response"]
    assert change.link_a == f"report.html#item-{first['a']['id']}"
    assert change.link_b == f"report.html#item-{first['b']['id']}"
    assert "group" not in comparison_text(found.as_dict())


def test_one_answer_stands_against_several_in_either_order(make: Make) -> None:
    runs = [make("a", rows(0, 3)), make("b", rows(1, 1), repeats_of=None)]
    (pair,), (turned,) = compare(runs).pairs, compare(runs[::-1]).pairs
    assert (pair.items, len(pair.notes)) == (12, 1)
    forth, back = pair.metrics["f1"].result, turned.metrics["f1"].result
    assert forth.difference == pytest.approx(-(back.difference or 0.0))


def test_another_field_and_ids_tell_questions_too(make: Make) -> None:
    runs = [make(name, rows(i, 2), repeats_of="meta.qid") for i, name in enumerate("ab")]
    assert compare(runs).pairs[0].items == 12

    def numbered(seed: int, answers: int) -> list[dict[str, Any]]:
        return [
            row | {"id": f"q{row['meta']['qid']}#{i // 12}", "meta": {"repeat": i // 12}}
            for i, row in enumerate(rows(seed, answers), start=12)
        ]

    named = [make(f"n{i}", numbered(i, i + 2), repeats_of=None) for i in range(2)]
    (pair,) = compare(named).pairs
    assert pair.items == 12
    assert pair.metrics["f1"].changes_lost[0].id.startswith("q")
    assert "#" not in pair.metrics["f1"].changes_lost[0].id


def test_groups_of_questions_are_clusters(make: Make) -> None:
    def grouped(seed: int) -> list[dict[str, Any]]:
        return [row | {"group": f"g{row['meta']['qid'] // 3}"} for row in rows(seed, 2)]

    (pair,) = compare([make("a", grouped(0)), make("b", grouped(1))]).pairs
    assert (pair.items, pair.clusters) == (12, 4)
    assert not any("group" in note for note in pair.notes)


def test_groups_of_one_item_are_no_clusters(make: Make) -> None:
    def alone(seed: int, answers: int) -> list[dict[str, Any]]:
        return [
            row | {"id": row["id"].partition("-")[2], "group": row["question"]}
            for row in rows(seed, answers)
        ]

    for answers, of in ((1, None), (2, "question")):
        runs = [make(f"{name}{answers}", alone(i, answers), repeats_of=of, metrics="exact_match")
                for i, name in enumerate("ab")]  # fmt: skip
        found = compare(runs)
        (pair,) = found.pairs
        assert pair.clusters is None
        assert "taken as clusters" not in comparison_text(found.as_dict())
        if answers == 1:
            assert pair.metrics["exact_match"].result.test == "mcnemar"


def test_without_records_answers_count_by_themselves_and_that_is_said(make: Make) -> None:
    same_ids = [row | {"id": row["id"][2:]} for row in rows(1, 3)]
    a = make("a", [row | {"id": row["id"][2:]} for row in rows(0, 3)])
    b = make("b", same_ids, keep_records=False)
    (pair,) = compare([a, b]).pairs
    assert pair.items == 36
    assert [note[:59] for note in pair.notes[:2]] == [
        f"{run} has several answers to a question, but which ones (by que"[:59] for run in "ab"
    ]
    assert "too narrow" in pair.notes[0]
    assert not any("had groups" in note for note in pair.notes)


def test_records_of_other_items_are_refused(make: Make) -> None:
    a, b = make("a", rows(0, 3)), make("b", rows(1, 3))
    (b / "records.jsonl.zst").write_bytes((a / "records.jsonl.zst").read_bytes())
    with pytest.raises(InputError, match="not those of items"):
        compare([a, b])


def test_other_questions_do_not_match(make: Make) -> None:
    a, b = make("a", rows(0, 2)), make("b", rows(1, 2, questions=14))
    with pytest.raises(UsageError, match="2 only in b"):
        compare([a, b])
