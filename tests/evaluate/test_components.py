"""Several judges in one run, claims that cannot be had, raters, and the names of parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueground as tg
from trueground.claims.base import Decomposed
from trueground.components.specs import ComponentSpec
from trueground.errors import UsageError
from trueground.evaluate.components import Components
from trueground.runs.directory import ITEMS, MANIFEST, SUMMARY
from trueground.stats.agreement import cohen_kappa
from trueground.testing import FakeDecomposer, FakeJudge, synthetic_records
from trueground.types import (
    Claim,
    Failure,
    JudgeRequest,
    Rating,
    RatingRequest,
    Status,
    Usage,
    Verdict,
)

RECORD = {"id": "a", "response": "p|q|r", "contexts": ["c"], "gold_facts": ["g", "h"]}
METRICS = "grounding_precision,grounding_recall,k_precision"


class Named(FakeJudge):
    def __init__(self, name: str, table: dict[str, float | None]) -> None:
        super().__init__(table, default=0.0)
        self.name = name
        self.signature = f"{name}-1"


def two_judges() -> list[Named]:
    return [
        Named("one", {"p": 1.0, "q": 1.0, "g": 1.0}),
        Named("two", {"p": 1.0, "r": None, "h": 1.0}),
    ]


def test_every_judge_has_its_own_columns_and_the_first_the_plain_ones() -> None:
    result = tg.score([RECORD], metrics=METRICS, judge=two_judges(), decomposer=FakeDecomposer())
    summary = result.summary
    assert list(summary.raw["metrics"]) == [
        "grounding_precision",
        "grounding_recall",
        "k_precision",
        "grounding_precision@two",
        "grounding_recall@two",
    ]
    assert summary["grounding_precision"].mean == pytest.approx(2 / 3)
    assert summary["grounding_precision@two"].mean is None
    assert summary.raw["metrics"]["grounding_precision@two"]["unscored"] == {"unparseable": 1}
    assert summary["grounding_recall@two"].mean == 0.5


def test_agreement_counts_the_verdicts_that_both_gave() -> None:
    result = tg.score([RECORD], metrics=METRICS, judge=two_judges(), decomposer=FakeDecomposer())
    claims, facts = result.summary.raw["judge_agreement"]
    assert claims == {
        "judges": ["one", "two"],
        "of": "claims:input",
        "n": 2,
        "agreement": 0.5,
        "kappa": 0.0,
        "supported": [1.0, 0.5],
    }
    assert (facts["of"], facts["n"], facts["agreement"], facts["kappa"]) == ("facts", 2, 0.0, -1.0)


def test_judges_of_one_name_are_numbered_and_one_alone_has_no_agreement() -> None:
    same = [Named("one", {}), Named("one", {})]
    assert Components.make(same).labels == ["one#1", "one#2"]
    assert "judge_agreement" not in tg.score([RECORD], metrics=METRICS).summary.raw


def test_two_processes_give_the_same_bytes_as_one(tmp_path: Path) -> None:
    rows = [row | {"gold_facts": [row["response"][:40]]} for row in synthetic_records(60)]
    found = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        judges = ["lexical", "lexical(threshold=0.9)"]
        tg.score(rows, metrics=METRICS, judge=judges, out=out, workers=workers)
        found.append((out / ITEMS).read_bytes() + (out / SUMMARY).read_bytes())
    assert found[0] == found[1]
    entries = json.loads((out / SUMMARY).read_text())["judge_agreement"]
    assert [entry["of"] for entry in entries] == ["claims:input", "facts"]
    assert entries[0]["supported"][0] > entries[0]["supported"][1]


def test_a_gate_may_name_another_judges_metric(tmp_path: Path) -> None:
    result = tg.score(
        [RECORD],
        metrics=METRICS,
        judge=two_judges(),
        decomposer=FakeDecomposer(),
        require=["grounding_recall@two"],
        out=tmp_path / "run",
    )
    manifest = json.loads((tmp_path / "run" / MANIFEST).read_text())
    assert [judge["name"] for judge in manifest["judges"]] == ["one", "two"]
    assert manifest["judge"] == manifest["judges"][0]
    assert manifest["metrics"]["grounding_precision@two"].endswith("|judge:two-1|claims:fake-1")
    item = json.loads((tmp_path / "run" / ITEMS).read_text())
    assert [f["supported"] for f in item["evidence"]["grounding_recall@two"]["facts"]] == [
        False,
        True,
    ]
    assert result.summary["grounding_recall"].mean == 0.5


def test_kappa() -> None:
    # Cohen 1960's kind of example by hand: observed 0.7, expected 0.5.
    assert cohen_kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)
    assert cohen_kappa(np.zeros((2, 2), np.int64)) is None
    assert cohen_kappa(np.array([[0, 0], [0, 7]])) is None


class Failing:
    """Gives no claims for texts that say so."""

    name, signature = "failing", "failing-1"

    def decompose(self, texts: Sequence[str]) -> Sequence[Decomposed]:
        return [
            Failure(Status.UNPARSEABLE, "no list in 'hm'") if "bad" in t else [Claim(t, 0, len(t))]
            for t in texts
        ]


def test_claims_that_cannot_be_had_leave_the_item_unscored_with_the_reason(tmp_path: Path) -> None:
    rows = [RECORD | {"response": "fine"}, RECORD | {"id": "b", "response": "bad"}]
    judge = FakeJudge({"fine": 1.0, "g": 1.0}, default=0.0)
    result = tg.score(
        rows, metrics="grounding_f1,support", judge=judge, decomposer=Failing(), out=tmp_path / "r"
    )
    assert result.summary.raw["metrics"]["grounding_f1"]["unscored"] == {"unparseable": 1}
    assert result.summary.raw["metrics"]["support"]["unscored"] == {"unparseable": 1}
    items = [json.loads(line) for line in (tmp_path / "r" / ITEMS).read_text().splitlines()]
    assert items[1]["scores"]["grounding_f1"] is None
    assert items[1]["evidence"]["grounding_f1"]["reason"] == "no list in 'hm'"


def test_without_contexts_nobody_is_asked_and_nothing_is_told(tmp_path: Path) -> None:
    rows = [RECORD, RECORD | {"id": "b", "contexts": [" "]}]
    judge = FakeJudge()
    metrics = "support,grounding_precision(scope=gold)"
    tg.score(rows, metrics=metrics, judge=judge, out=tmp_path / "r")
    assert len(judge.requests) == 1
    items = [json.loads(line) for line in (tmp_path / "r" / ITEMS).read_text().splitlines()]
    assert items[1]["status"]["support"] == "missing_field"
    assert items[0]["status"]["grounding_precision(scope=gold)"] == "missing_field"
    assert [list(item["evidence"]) for item in items] == [["support"], []]


def test_claims_are_made_once_for_all_judges_and_scopes() -> None:
    class Counting(FakeDecomposer):
        seen = 0

        def decompose(self, texts: Sequence[str]) -> list[list[Claim]]:
            self.seen += len(texts)
            return super().decompose(texts)

    counting = Counting()
    metrics = "support,grounding_precision(scope=gold)"
    tg.score([RECORD], metrics=metrics, judge=two_judges(), decomposer=counting)
    assert counting.seen == 1


def test_the_earlier_definition_asks_for_the_whole_response() -> None:
    judge = FakeJudge({"p|q|r": 1.0})
    rows = [RECORD, RECORD | {"id": "b", "response": " "}]
    result = tg.score(rows, metrics="context_entails(abstain=as_is)", judge=judge)
    (entry,) = result.summary.raw["metrics"].values()
    assert (entry["mean"], entry["unscored"]) == (1.0, {"no_claims": 1})
    assert [(r.claim, r.texts) for r in judge.requests] == [("p|q|r", ("c",))]
    values = tg.metrics.context_entails(responses=["x", "y"], entailed=[[True], [False]])
    assert values.tolist() == [1.0, 0.0]


def test_the_variant_reaches_the_judge() -> None:
    judge = FakeJudge()
    record = RECORD | {"contexts": [{"text": "c", "gold": True}, {"text": "d", "gold": False}]}
    metrics = "grounding_f1(scope=gold,variant=reference-code)"
    tg.score([record], metrics=metrics, judge=judge, decomposer=FakeDecomposer())
    assert {(r.texts, r.variant) for r in judge.requests} == {
        (("c",), "reference-code"),
        (("p|q|r",), "reference-code"),
    }


def test_a_rated_metric_without_a_rater_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--rater"):
        tg.score(tmp_path / "absent.jsonl", metrics="fluency")


class Rates:
    """Rates by length; nothing for responses that it cannot read."""

    name, signature = "rates", "rates-1"

    def rate(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        return [
            Rating(status=Status.UNPARSEABLE, reply="hm")
            if "?" in r.response
            else Rating(float(len(r.response)))
            for r in requests
        ]


def test_ratings_and_what_could_not_be_rated(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"id": "a", "response": "four"}, {"id": "b", "response": "???"}]
    tg.score(rows, metrics="fluency", rater=Rates(), out=tmp_path / "r")  # type: ignore[arg-type]
    items = [json.loads(line) for line in (tmp_path / "r" / ITEMS).read_text().splitlines()]
    assert [item["scores"]["fluency"] for item in items] == [4.0, None]
    assert items[1]["status"]["fluency"] == "unparseable"
    assert items[1]["evidence"]["fluency"]["reply"] == "hm"
    manifest = json.loads((tmp_path / "r" / MANIFEST).read_text())
    assert manifest["rater"] == {"name": "rates", "signature": "rates-1"}
    assert manifest["metrics"]["fluency"].endswith("|rater:rates-1")
    assert manifest["judge"] is None
    (rubric,) = manifest["prompts"]
    assert rubric["id"] == "rating/fluency-1"
    assert f"|rubric:rating/fluency-1@{rubric['sha256'][:16]}|" in manifest["metrics"]["fluency"]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("lexical", ComponentSpec("judge", "lexical")),
        ("a:b/c", ComponentSpec("judge", "a", "b/c")),
        (
            " llm:gpt-4o(base_url=http://h:8000/v1, rpm=6) ",
            ComponentSpec("judge", "llm", "gpt-4o", {"base_url": "http://h:8000/v1", "rpm": "6"}),
        ),
        (
            "nli:C:\\models\\x(threshold=0.1)",
            ComponentSpec("judge", "nli", "C:\\models\\x", {"threshold": "0.1"}),
        ),
    ],
)
def test_reading_a_name(text: str, given: ComponentSpec) -> None:
    assert ComponentSpec.parse("judge", text) == given


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot read the judge ''"),
        ("a:", "write NAME"),
        ("a(b)", "option=value"),
        ("a(b=1,b=2)", "given twice"),
        ("a(b=1", "cannot read"),
    ],
)
def test_what_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        ComponentSpec.parse("judge", text)


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ("lexica", "lexical"),
        ("lexical:model", "takes no model"),
        ("lexical(depth=3)", "depth"),
        (["lexical", "lexical"], "named twice"),
        ([], "leave it out"),
        (None, "leave it out"),
    ],
)
def test_judges_that_cannot_be_meant(judge: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tg.score([RECORD], metrics="grounding_precision", judge=judge)


def test_numbers_in_options_are_checked() -> None:
    given = ComponentSpec.parse("judge", "x(a=inf,b=-1,c=1.5,d=word)")
    for read in (
        lambda: given.number("a", 0.0),
        lambda: given.number("b", 0.0, 0.0),
        lambda: given.whole("c", 1),
        lambda: given.text("d", "", ("other",)),
    ):
        with pytest.raises(UsageError, match="expected"):
            read()
    assert given.number("z", 0.25) == 0.25
    assert given.whole("z", 7) == 7


def test_parts_that_were_handed_in_are_not_closed() -> None:
    class Closing(FakeJudge):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    judge = Closing()
    tg.score([RECORD], metrics="support", judge=judge)
    assert judge.closed == 0


def test_a_judge_that_asks_a_model_gets_small_batches_and_gives_the_same(tmp_path: Path) -> None:
    class Asking(FakeJudge):
        def __init__(self) -> None:
            super().__init__(default=1.0)
            self.spent = Usage()
            self.calls = 0

        def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
            self.calls += 1
            self.spent += Usage(len(requests), 3, 2, 1)
            return super().judge(requests)

    rows = list(synthetic_records(150))
    plain = tg.score(rows, metrics="support", judge=FakeJudge())
    asking = Asking()
    result = tg.score(rows, metrics="support", judge=asking, out=tmp_path / "r")
    assert asking.calls == 3
    assert result.summary.raw == plain.summary.raw
    manifest = json.loads((tmp_path / "r" / MANIFEST).read_text())
    assert manifest["calls"] == asking.spent.calls > 0
    assert (manifest["tokens"], manifest["cache_hits"]) == ({"in": 9, "out": 6}, 3)


def test_a_wrong_number_of_verdicts_is_told() -> None:
    class Short(FakeJudge):
        def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
            return []

    with pytest.raises(tg.errors.TruegroundError, match="verdicts"):
        tg.score([RECORD], metrics="support", judge=Short())


@pytest.mark.parametrize(
    "text",
    [
        "llm:m(base_url=http://u:PASSW0RD@h/v1",
        "llm:m(token=PASSW0RD,PASSW0RD)",
        "llm:m(PASSW0RD)",
        "llm:m(api_key_env=sk-PASSW0RD)",
    ],
)
def test_a_slip_never_shows_a_secret(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        tg.score([RECORD], metrics="support", judge=text)
    assert "PASSW0RD" not in str(caught.value)
