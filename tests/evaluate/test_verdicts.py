"""The verdict of an answer: in the items, in the summary, by groups; the same however it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from scipy.stats import binomtest

import trueground as tg
from trueground.metrics.answer_verdicts import AnswerVerdict
from trueground.runs.directory import ITEMS, SUMMARY
from trueground.stats.bootstrap import resampled_means
from trueground.testing import FakeJudge

CONTEXTS = ["c"]
# Claims that the judge supports, does not, and gives no verdict on.
YES, NO, MAYBE = "It is old.", "It is new.", "It is red."
JUDGE = FakeJudge({YES: 0.9, MAYBE: None}, default=0.0)
ANSWERS = {
    "grounded": f"{YES} {YES}",
    "partly_grounded": f"{YES} {NO}",
    "not_grounded": f"{NO} {NO}",
    "abstained": "I don't know.",
    "unscored": MAYBE,
}


def records(times: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{name}{i}",
            "response": text,
            "contexts": CONTEXTS,
            "gold_facts": [YES],
            "meta": {"half": i % 2},
        }
        for i in range(times)
        for name, text in ANSWERS.items()
    ]


def verdicts(metrics: str, rows: list[dict[str, Any]] | None = None, **rest: Any) -> list[str]:
    result = tg.score(rows or records(), metrics=metrics, judge=JUDGE, **rest)
    return [line["verdict"] for line in result.evidence]


@pytest.mark.parametrize(
    ("score", "status", "verdict"),
    [
        (1.0, "scored", "grounded"),
        (0.5, "scored", "partly_grounded"),
        (0.0, "scored", "not_grounded"),
        (None, "abstained", "abstained"),
        (None, "no_claims", "unscored"),
        (None, "error", "unscored"),
    ],
)
def test_a_verdict_follows_from_score_and_status(
    score: float | None, status: str, verdict: str
) -> None:
    assert AnswerVerdict.of_score(score, status) == verdict


@pytest.mark.parametrize(
    "metrics",
    [
        "grounding_precision",
        "support",  # its own value tells no verdict: the claims do
        "support_min,f1",
        "grounding_precision(abstain=zero)",  # an answer that declines is no ungrounded one
        "grounding_f1",
    ],
)
def test_verdicts_come_from_whatever_checks_the_claims(metrics: str) -> None:
    assert verdicts(metrics) == list(ANSWERS)


def test_without_claim_checks_there_are_none() -> None:
    result = tg.score(records(), metrics="abstained,context_entails", judge=JUDGE)
    assert "verdicts" not in result.summary.raw
    assert result.summary.verdicts is None
    assert all("verdict" not in line for line in result.evidence)


def test_claims_against_all_contexts_decide() -> None:
    contexts = [{"text": "c", "gold": True}]
    rows = [{"response": YES, "contexts": contexts}]
    both = tg.score(rows, metrics="support(scope=gold),support", judge=JUDGE).summary.raw
    gold = tg.score(rows, metrics="support(scope=gold)", judge=JUDGE).summary.raw
    assert both["verdicts"]["metric"] == "grounding_precision"
    assert gold["verdicts"]["metric"] == "grounding_precision(scope=gold)"


def test_shares_are_of_all_items_with_intervals_of_the_same_draws() -> None:
    result = tg.score(records(20), metrics="support", judge=JUDGE, by="meta.half")
    raw, shares = result.summary.raw["verdicts"], result.summary.verdicts
    assert shares is not None
    assert list(shares) == list(AnswerVerdict.NAMES)
    assert raw["n"] == 100
    for place, share in enumerate(shares.values()):
        assert (share.n, share.share) == (20, 0.2)
        given = tg_column(place, 100)
        means = resampled_means(given, None, resamples=2_000, seed=0)[0]
        assert share.ci is not None
        assert list(share.ci) == pytest.approx(sorted(percentile(means)))
    halves = raw["by"]["meta.half"]
    assert {name: half["not_grounded"]["n"] for name, half in halves.items()} == {"0": 10, "1": 10}


def tg_column(place: int, n: int) -> Any:
    import numpy as np

    return (np.arange(n) % 5 == place).astype(float)[:, None]


def percentile(means: Any) -> list[float]:
    import numpy as np

    return [float(x) for x in np.percentile(means, [2.5, 97.5])]


def test_groups_are_drawn_together() -> None:
    rows = [row | {"group": row["response"]} for row in records(20)]
    alone = tg.score(records(20), metrics="support", judge=JUDGE).summary.verdicts
    groups = tg.score(rows, metrics="support", judge=JUDGE).summary.verdicts
    assert alone is not None
    assert groups is not None
    (low, high), (lowest, highest) = (
        alone["not_grounded"].ci or (0, 0),
        groups["not_grounded"].ci or (0, 0),
    )
    assert highest - lowest > 2 * (high - low) > 0


@pytest.mark.parametrize("groups", [None, 4])
def test_a_share_of_none_or_all_has_an_exact_interval(groups: int | None) -> None:
    rows = [
        row | {"group": str(i % groups) if groups else None} for i, row in enumerate(records(20))
    ]
    same = [row | {"response": rows[0]["response"]} for row in rows]
    shares = tg.score(same, metrics="support", judge=JUDGE).summary.verdicts
    assert shares is not None
    assert shares["grounded"].share == 1
    theirs = binomtest(groups or 100, groups or 100).proportion_ci(0.95, "exact")
    assert shares["grounded"].ci == pytest.approx((theirs.low, theirs.high))
    assert shares["not_grounded"].ci == pytest.approx((0, 1 - theirs.low))


def test_why_answers_have_no_verdict() -> None:
    rows = [*records(2), {"id": "e", "contexts": ["c"], "response": ""}]
    raw = tg.score(rows, metrics="support", judge=JUDGE).summary.raw["verdicts"]
    assert raw["why_unscored"]["no_claims"] >= 1
    assert sum(raw["why_unscored"].values()) == raw["unscored"]["n"]


def test_verdicts_are_the_same_bytes_for_any_number_of_workers(tmp_path: Path) -> None:
    rows = [
        {"response": f"The tower has {i % 7} rooms. It is old.", "contexts": ["It has 3 rooms."]}
        for i in range(700)
    ]
    for name, workers in (("one", 1), ("two", 2)):
        tg.score(rows, metrics="support", out=tmp_path / name, workers=workers)
    for file in (ITEMS, SUMMARY):
        one, two = ((tmp_path / name / file).read_bytes() for name in ("one", "two"))
        assert one == two
    assert orjson.loads((tmp_path / "two" / SUMMARY).read_bytes())["verdicts"]["n"] == 700
