"""What ships of how verdicts agree with people."""

from __future__ import annotations

import pytest

import trueground as tg
from trueground.judges.people import LabeledVerdicts, SetCounts, VerdictCount
from trueground.metrics import AnswerVerdict


def counts(*pairs: tuple[int, int]) -> dict[str, VerdictCount]:
    names = ("grounded", "partly_grounded", "not_grounded")
    return {name: VerdictCount(*pair) for name, pair in zip(names, pairs, strict=True)}


COUNTS = LabeledVerdicts(
    "s",
    [
        SetCounts("a", "claim", counts((10, 1), (0, 0), (30, 24))),
        SetCounts("b", "claim", counts((10, 3), (4, 2), (10, 4))),
    ],
)


def test_pooled_and_mean_over_sets() -> None:
    assert COUNTS.pooled("not_grounded") == VerdictCount(40, 28)
    assert COUNTS.mean("not_grounded") == pytest.approx((0.8 + 0.4) / 2)
    assert COUNTS.mean("partly_grounded") == 0.5  # of the one set that has any
    assert COUNTS.total == VerdictCount(64, 34)
    assert "called not grounded were unsupported 70 times of 100" in COUNTS.sentence()
    assert "64 answers pooled, 53 of 100 unsupported" in COUNTS.sentence()


def test_counts_ship_for_the_default_judge_as_it_is() -> None:
    """After a change of the judge: `make validate`, or `python -m training.trust.verdicts`."""
    raw = tg.score([{"response": "It is old.", "contexts": ["c"]}], metrics="support").summary.raw
    found = LabeledVerdicts.of(raw["verdicts"]["signature"])
    assert found is not None
    assert len(found.sets) == 14
    for one in found.sets:
        assert all(0 <= count.unsupported <= count.n for count in one.verdicts.values())
    shares = [found.pooled(name).share or 0 for name in AnswerVerdict.NAMES[:3]]
    assert shares == sorted(shares)


def test_another_judge_was_not_measured() -> None:
    assert LabeledVerdicts.of("grounding_precision|v:1|judge:other") is None
