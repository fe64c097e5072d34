"""[NA]: precision, recall and F1 against what is absent."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from tests.metrics.citations.made import PairJudge, Row, claim, graph, k, triples

import trueground as tg
from trueground.errors import UsageError
from trueground.metrics import context
from trueground.testing import FakeJudge
from trueground.wings.papers.kalma.entailment import off_topic

NAMES = "na_precision,na_recall,na_f1"
ROW: Row = {
    "response": f"One {k(1)}. Two [NA]. Three [NA]{k(2)}. Four [NA][NA].",
    "knowledge": [graph(1, 2)],
    "absent_knowledge": triples(5, 6, 7),
}


def scored(judge: Any, metrics: Any = NAMES, **fields: Any) -> dict[str, Any]:
    return tg.score([ROW | fields], metrics=metrics, judge=judge).evidence[0]


def values(judge: Any, metrics: Any = NAMES, **fields: Any) -> list[float | None]:
    return list(scored(judge, metrics, **fields)["scores"].values())


def test_sentences_times_absent_triples_beyond_the_limit_are_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context, "MAX_TEXTS_COMPARED", 8)
    judge = PairJudge([])
    item = scored(judge, "na_f1")
    assert item["status"] == {"na_f1": "too_long"}
    assert "9 claims are compared with 9 texts" in json.dumps(item["evidence"])
    assert not judge.asked


def test_citations_times_sentence_beyond_the_limit_are_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(context, "MAX_CHARACTERS_COMPARED", 9)
    item = scored(PairJudge([]), "alignment")
    assert item["status"] == {"alignment": "too_long"}


def test_sentences_and_triples_are_counted_once() -> None:
    # "Two" entails two of them, "Four" one that "Two" entails too, "Three" nothing.
    judge = PairJudge([("Two.", claim(5)), ("Two.", claim(6)), ("Four.", claim(6))])
    assert values(judge) == [pytest.approx(2 / 3), pytest.approx(2 / 3), pytest.approx(2 / 3)]
    assert len(judge.asked) == 9
    again = triples(5, 6, 5, 7, 7)
    assert values(judge, absent_knowledge=again) == values(judge)


def test_no_na_and_nothing_absent() -> None:
    judge = FakeJudge(default=1.0)
    found = scored(judge, response=f"One {k(1)}.")
    assert list(found["scores"].values()) == [None, 0.0, 0.0]
    assert list(found["status"].values()) == ["no_claims", "scored", "scored"]
    found = scored(judge, absent_knowledge=[])
    assert list(found["scores"].values()) == [0.0, None, None]
    assert list(found["status"].values()) == ["scored", "no_claims", "no_claims"]
    assert judge.requests == []
    found = scored(judge, response="One.", absent_knowledge=[])
    assert list(found["status"].values()) == ["no_claims"] * 3


def test_statuses() -> None:
    judge = FakeJudge(default=1.0)
    for fields, status in (
        ({"knowledge": []}, "not_applicable"),
        ({"knowledge": None}, "missing_field"),
        ({"absent_knowledge": None}, "missing_field"),
        ({"absent_knowledge": None, "knowledge": []}, "not_applicable"),
    ):
        assert set(scored(judge, **fields)["status"].values()) == {status}
    assert judge.requests == []
    assert set(scored(FakeJudge(default=None))["status"].values()) == {"unparseable"}


def test_lone_na_is_wrong_without_a_request() -> None:
    judge = FakeJudge(default=1.0)
    assert values(judge, response="[NA]") == [0.0, 0.0, 0.0]
    assert judge.requests == []


def test_micro_and_harmonic() -> None:
    judge = PairJudge([("Alpha.", claim(5)), ("Gamma.", claim(5)), ("Gamma.", claim(6))])
    rows = [
        ROW | {"response": "Alpha [NA]. Beta [NA]."},  # 1/2, 1/3
        ROW | {"response": "Gamma [NA].", "absent_knowledge": triples(5, 6)},  # 1/1, 2/2
        ROW | {"response": "D."},  # none, 0/3
        ROW | {"response": "E [NA].", "absent_knowledge": []},  # 0/1, none
    ]
    found = tg.score(rows, metrics=NAMES, judge=judge).summary.raw["metrics"]
    p, r = (0.5 + 1 + 0) / 3, (1 / 3 + 1 + 0) / 3
    mp, mr = 2 / 4, 3 / 8
    assert {key: entry["mean"] for key, entry in found.items()} == {
        "na_precision": p,
        "na_precision_micro": mp,
        "na_recall": pytest.approx(r),
        "na_recall_micro": mr,
        "na_f1": pytest.approx(2 * p * r / (p + r)),
        "na_f1_micro": pytest.approx(2 * mp * mr / (mp + mr)),
    }


def test_only_f1_asked_for() -> None:
    """Its parts are computed for it, and do not show."""
    judge = PairJudge([("Two.", claim(5))])
    result = tg.score([ROW], metrics="na_f1", judge=judge)
    assert list(result.summary.raw["metrics"]) == ["na_f1", "na_f1_micro"]
    assert result.summary["na_f1"].mean == pytest.approx(1 / 3)
    assert list(result.evidence[0]["scores"]) == ["na_f1"]


@pytest.mark.parametrize(
    ("sentence", "question", "off"),
    [
        ("She was born in Siena.", "Where was Livia Corsi born?", False),
        ("Her father was a miller.", "Where was Livia Corsi born?", True),
        ("Corsi’s father was a miller.", "Where was Livia Corsi born?", False),
        ("They were there before.", "Where were they before?", True),
        ("", "Where?", True),
        ("She died in Naples.", "Where did she die?", False),
        ("She may die.", "Who died?", False),
        ("Corsi's father was a miller.", "Where was Livia Corsi born?", False),
        ("It is in Rome.", "Was it inland?", True),  # two letters begin many words
        ("x" * 200_000, "Is it x?", True),
    ],
)
def test_sentences_that_answer_nothing(sentence: str, question: str, off: bool) -> None:
    assert off_topic([sentence], question) == [off]


def test_off_topic_counts_as_right_on_demand() -> None:
    judge = PairJudge([])
    row = {"response": "Livia came [NA]. Her father left [NA].", "question": "Who is Livia?"}
    both = "na_precision(off_topic=right),na_f1(off_topic=right)"
    assert values(judge, **row) == [0.0, 0.0, 0.0]
    assert values(judge, both, **row) == [0.5, 0.0]
    assert values(judge, both, **row, absent_knowledge=[]) == [0.5, None]
    asked = scored(judge, both, response=row["response"])
    assert set(asked["status"].values()) == {"missing_field"}
    only = scored(judge, "na_precision(off_topic=right)", response="No mark.")
    assert set(only["status"].values()) == {"no_claims"}
    with pytest.raises(UsageError, match="does not go with"):
        values(judge, "na_precision(off_topic=right,variant=reference-code)")


def recounted(rows: list[Row], entails: set[tuple[str, str]]) -> tuple[float, float]:
    """The arithmetic of the authors' script, written anew for this test."""
    pairs = sentences = facts = 0
    for row in rows:
        if not row["marked"]:
            continue
        uncited = [n for n in row["gold"] if n not in row["cited"] and n not in row["first"]]
        pairs += sum((s, claim(n)) in entails for s in row["marked"] for n in uncited)
        sentences += len(row["marked"])
        facts += len(uncited)
    return pairs / sentences, pairs / facts


@pytest.mark.parametrize("seed", range(6))
def test_the_variant_counts_as_the_authors_script(seed: int) -> None:
    dice = random.Random(seed)
    rows, entails = [], set()
    for number in range(8):
        gold = dice.sample(range(1, 9), dice.randint(2, 6))
        marked = [f"Mark {number}{letter}." for letter in "abc"[: dice.randint(0, 3)]]
        entails |= {(s, claim(n)) for s in marked for n in gold if dice.random() < 0.4}
        cited = dice.sample(range(1, 9), 3)
        rows.append({"gold": gold, "first": gold[:1], "cited": cited, "marked": marked})
    records = [
        {
            "response": f"It {''.join(map(k, row['cited']))}. "
            + " ".join(f"{s[:-1]} [NA]." for s in row["marked"]),
            "knowledge": [graph(1, 2, 3, 4)],
            "gold_knowledge": triples(*row["gold"]),
            "absent_knowledge": [],
            "meta": {"first_round_knowledge": triples(*row["first"])},
        }
        for row in rows
    ]
    names = [f"na_{n}(variant=reference-code)" for n in ("precision", "recall", "f1")]
    found = tg.score(records, metrics=names, judge=PairJudge(entails)).summary
    precision, recall = recounted(rows, entails)
    assert found["na_precision_micro(variant=reference-code)"].mean == pytest.approx(precision)
    assert found["na_recall_micro(variant=reference-code)"].mean == pytest.approx(recall)
    assert found["na_f1_micro(variant=reference-code)"].mean == pytest.approx(
        2 * precision * recall / (precision + recall)
    )


def test_the_variant_needs_the_minimum_set() -> None:
    """And not what was taken out: the script knows nothing of it."""
    key = "na_precision(variant=reference-code)"
    assert scored(FakeJudge(), key)["status"] == {key: "missing_field"}
    fields = {"gold_knowledge": triples(1, 5), "absent_knowledge": None}
    found = scored(PairJudge([("Two.", claim(5))]), key, **fields)
    assert (found["scores"], found["status"]) == ({key: 1 / 3}, {key: "scored"})
    entries = tg.score([ROW | fields], metrics="na_f1(variant=reference-code)").summary
    assert entries["na_f1_micro(variant=reference-code)"].scored == 1
    bad = {"gold_knowledge": triples(5), "meta": {"first_round_knowledge": [["Q1"]]}}
    assert scored(FakeJudge(), key, **bad)["status"] == {key: "error"}


def test_the_list_functions() -> None:
    columns = {"knowledge": [ROW["knowledge"]], "absent_knowledge": [ROW["absent_knowledge"]]}
    supported = [[1, 1, 0, 0, 0, 0, 0, 1, 0]]
    recall = tg.metrics.na_recall([ROW["response"]], **columns, supported=supported)
    np.testing.assert_allclose(recall, [2 / 3])
    pairs = tg.metrics.na_precision(
        [ROW["response"]],
        knowledge=columns["knowledge"],
        gold_knowledge=[triples(5, 6)],
        supported=[[1, 1, 0, 0, 0, 0]],
        variant="reference-code",
    )
    np.testing.assert_allclose(pairs, [2 / 3])
    with pytest.raises(UsageError, match="expected 9: for each of the 3 sentences"):
        tg.metrics.na_precision([ROW["response"]], **columns, supported=[[1, 0]])
    with pytest.raises(UsageError, match="needs absent_knowledge="):
        tg.metrics.na_f1([ROW["response"]], knowledge=columns["knowledge"], supported=supported)
