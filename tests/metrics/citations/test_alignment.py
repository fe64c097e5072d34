"""Do sentences say what they cite?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.metrics.citations.made import PairJudge, claim, graph, k

import trueground as tg
from trueground.errors import UsageError
from trueground.metrics.registry import METRICS
from trueground.testing import FakeJudge
from trueground.wings.papers.kalma.entailment import find_value

METRICS.load()

# k1 and k2 stand in the first sentence, nothing in the others; the last stands alone.
ANSWER = f"It has Value 1 and value 2 {k(1)}{k(2)}. It is so {k(1)}[Q1]. Thus {k(3)} [NA]."
ROW = {"response": ANSWER, "knowledge": [graph(1, 2, 3)]}


def aligned(judge: Any, **fields: Any) -> dict[str, Any]:
    return tg.score([ROW | fields], metrics="alignment", judge=judge).evidence[0]


def test_a_value_in_the_sentence_needs_no_judge() -> None:
    judge = PairJudge([("It is so.", claim(1))])
    found = aligned(judge)
    assert found["scores"]["alignment"] == 3 / 5
    assert [(r.texts, r.claim) for r in judge.asked] == [
        (("It is so.",), claim(1)),
        (("Thus.",), claim(3)),
    ]
    told = found["evidence"]["alignment"]["alignment"]
    assert [(c["text"], c["sentence"], c["supported"]) for c in told] == [
        (claim(1), 0, True),
        (claim(2), 0, True),
        (claim(1), 1, True),
        ("Q1", 1, False),
        (claim(3), 2, False),
    ]
    assert told[0]["reasons"] == ["the value stands in the sentence"]
    assert told[0]["window"] == [7, 14]  # "Value 1"
    assert ANSWER[told[0]["start"] : told[0]["end"]] == k(1)
    assert "lacks" in told[3]["reasons"][0]


@pytest.mark.parametrize(
    ("value", "sentence", "place"),
    [
        ("Hitler's Piano Player", "He is in “Hitler’s piano\u00a0player”.", (10, 31)),
        ("Hitler’s Piano Player", "Hitler's Piano Player it was.", (0, 21)),
        ("1914–1918", "It was in 1914-1918.", (10, 19)),
        ("Rolls-Royce", "A Rolls‑Royce.", (2, 13)),
        ("art", "It was a party.", None),
    ],
)
def test_where_a_value_stands(value: str, sentence: str, place: tuple[int, int] | None) -> None:
    assert find_value(value, sentence) == place


def test_judges_agree_only_in_what_they_were_asked() -> None:
    yes, no = FakeJudge(default=1.0), FakeJudge(default=0.0)
    yes.name, no.name = "yes", "no"
    metrics = "alignment,alignment(variant=paper)"
    found = tg.score([ROW], metrics=metrics, judge=[yes, no]).summary.raw["judge_agreement"]
    # Of five citations two stand in their sentence and one is incomplete.
    assert [(entry["of"], entry["n"], entry["agreement"]) for entry in found] == [
        ("alignment", 2, 0.0),
        ("alignment:paper", 4, 0.0),
    ]
    settled = ROW | {"response": f"It has value 1 {k(1)}."}
    (entry,) = tg.score([settled], metrics="alignment", judge=[yes, no]).summary.raw[
        "judge_agreement"
    ]
    assert (entry["n"], entry["agreement"], entry["kappa"]) == (0, None, None)


def test_the_papers_variant_asks_always() -> None:
    judge = FakeJudge(default=0.0)
    result = tg.score([ROW], metrics="alignment(variant=paper)", judge=judge)
    assert result.summary["alignment(variant=paper)"].mean == 0.0
    assert len(judge.requests) == 4  # k1 in two sentences; never about an incomplete citation
    both = tg.score([ROW], metrics="alignment,alignment(variant=paper)", judge="lexical")
    assert list(both.summary.raw["metrics"]) == [
        "alignment",
        "alignment_micro",
        "alignment(variant=paper)",
        "alignment_micro(variant=paper)",
    ]
    (check,) = METRICS["alignment"].queries({"variant": "paper"})
    assert str(check) == "alignment:paper"


def test_alignment_of_citation_without_id_is_judged() -> None:
    judge = PairJudge([("It is so.", claim(2))])
    found = aligned(
        judge, response="It has value 1 [trait 1: value 1]. It is so [x, trait 2: value 2]."
    )
    assert found["scores"]["alignment"] == 1.0
    assert [r.claim for r in judge.asked] == [claim(2)]


def test_brackets_alone_are_aligned_with_nothing() -> None:
    judge = FakeJudge(default=1.0)
    found = aligned(judge, response=k(1))
    assert found["scores"]["alignment"] == 0.0
    assert judge.requests == []


def test_statuses() -> None:
    judge = FakeJudge(default=1.0)
    assert aligned(judge, response="None here [NA].")["status"] == {"alignment": "no_claims"}
    assert aligned(judge, knowledge=[])["status"] == {"alignment": "not_applicable"}
    assert aligned(judge, knowledge=None)["status"] == {"alignment": "missing_field"}
    assert judge.requests == []
    unread = aligned(FakeJudge(default=None))
    assert (unread["scores"], unread["status"]) == (
        {"alignment": None},
        {"alignment": "unparseable"},
    )


def test_micro_leaves_out_what_has_no_verdict() -> None:
    judge = FakeJudge({claim(1): 1.0, claim(2): None}, default=0.0)
    rows = [
        {"response": f"A {k(1)}{k(3)}{k(3)}{k(3)}.", "knowledge": [graph(1, 3)]},
        {"response": f"B {k(1)}.", "knowledge": [graph(1)]},
        {"response": f"C {k(1)}{k(2)}.", "knowledge": [graph(1, 2)]},
    ]
    found = tg.score(rows, metrics="alignment", judge=judge).summary
    assert found["alignment"].mean == (1 / 4 + 1) / 2
    assert found["alignment_micro"].mean == 2 / 5
    assert found.raw["metrics"]["alignment_micro"]["unscored"] == {"unparseable": 1}


def test_several_judges() -> None:
    yes, no = FakeJudge(default=1.0), FakeJudge(default=0.0)
    yes.name, no.name = "yes", "no"
    found = tg.score([ROW], metrics="alignment,citation_correctness", judge=[yes, no]).summary
    assert [(key, found[key].mean) for key in found.raw["metrics"]] == [
        ("alignment", 4 / 5),
        ("alignment_micro", 4 / 5),
        ("citation_correctness", 4 / 5),
        ("citation_correctness_micro", 4 / 5),
        ("alignment@no", 2 / 5),
        ("alignment_micro@no", 2 / 5),
    ]


def test_the_list_function() -> None:
    graphs = [[graph(1, 2, 3)], []]
    values = tg.metrics.alignment([ANSWER, "B."], knowledge=graphs, supported=[[1, 1, 0, 0, 0], []])
    np.testing.assert_array_equal(values, [0.4, np.nan])
    with pytest.raises(UsageError, match=r"supported\[0\] has 1 verdicts; expected 5"):
        tg.metrics.alignment([ANSWER], knowledge=[graphs[0]], supported=[[1]])
    with pytest.raises(UsageError, match="supported="):
        tg.metrics.alignment([ANSWER], knowledge=[graphs[0]])
