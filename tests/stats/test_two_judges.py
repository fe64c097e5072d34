"""Two judges that say yes or no of the same things."""

from __future__ import annotations

import pytest

from trueground.stats.agreement import TwoJudges

# Cohen's kappa of 20, 5, 10 and 15 pairs is 0.4.
PAIRS = [
    *[(True, True)] * 20,
    *[(True, False)] * 5,
    *[(False, True)] * 10,
    *[(False, False)] * 15,
]


def test_counts_and_kappa() -> None:
    found = TwoJudges.of(PAIRS)
    assert found.table.tolist() == [[20, 5], [10, 15]]
    assert (found.n, found.agreement) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.kappa_ci is not None
    low, high = found.kappa_ci
    assert 0.1 < low < 0.2
    assert 0.6 < high < 0.7
    backwards = TwoJudges.of(iter(PAIRS[::-1]))
    assert backwards.table.tolist() == found.table.tolist()
    assert backwards.kappa_ci == found.kappa_ci


def test_two_judges_undefined_values() -> None:
    nothing = TwoJudges.of([])
    assert (nothing.n, nothing.agreement) == (0, None)
    assert (nothing.kappa, nothing.kappa_ci) == (None, None)
    alike = TwoJudges.of([(True, True)] * 4)
    assert (alike.n, alike.agreement) == (4, 1.0)
    assert (alike.kappa, alike.kappa_ci) == (None, None)
    assert TwoJudges.of([(True, False)]).kappa_ci is None


def test_groups_are_drawn_together() -> None:
    """Ten copies of each pair that belong to one item tell no more than the pair alone."""
    many = [pair for pair in PAIRS for _ in range(10)]
    items = [number for number in range(len(PAIRS)) for _ in range(10)]
    alone, together = TwoJudges.of(PAIRS), TwoJudges.of(many, items)
    assert together.kappa == pytest.approx(alone.kappa)
    assert together.kappa_ci == pytest.approx(alone.kappa_ci, abs=0.02)
    loose = TwoJudges.of(many).kappa_ci
    assert loose is not None
    assert alone.kappa_ci is not None
    assert loose[1] - loose[0] < 0.5 * (alone.kappa_ci[1] - alone.kappa_ci[0])
    assert TwoJudges.of(many, ["one"] * len(many)).kappa_ci is None
