"""Two judges that say yes or no of the same things."""

from __future__ import annotations

import pytest

from trueground.stats.agreement import table_of, two_judges

# Cohen's kappa of 20, 5, 10 and 15 pairs is 0.4.
PAIRS = [
    *[(True, True)] * 20,
    *[(True, False)] * 5,
    *[(False, True)] * 10,
    *[(False, False)] * 15,
]


def test_counts_and_kappa() -> None:
    assert table_of(PAIRS).tolist() == [[20, 5], [10, 15]]
    found = two_judges(PAIRS)
    assert (found["n"], found["agree"]) == (50, 0.7)
    assert found["kappa"] == pytest.approx(0.4)
    assert found["kappa_ci"] is not None
    low, high = found["kappa_ci"]
    assert 0.1 < low < 0.2
    assert 0.6 < high < 0.7
    assert found == two_judges(iter(PAIRS[::-1]))


def test_what_is_undefined() -> None:
    assert two_judges([]) == {"n": 0, "agree": None, "kappa": None, "kappa_ci": None}
    assert two_judges([(True, True)] * 4) == {
        "n": 4,
        "agree": 1.0,
        "kappa": None,
        "kappa_ci": None,
    }
    assert two_judges([(True, False)])["kappa_ci"] is None


def test_groups_are_drawn_together() -> None:
    """Ten copies of each pair that belong to one item tell no more than the pair alone."""
    many = [pair for pair in PAIRS for _ in range(10)]
    items = [number for number in range(len(PAIRS)) for _ in range(10)]
    alone, together = two_judges(PAIRS), two_judges(many, items)
    assert together["kappa"] == pytest.approx(alone["kappa"])
    assert together["kappa_ci"] == pytest.approx(alone["kappa_ci"], abs=0.02)
    loose = two_judges(many)["kappa_ci"]
    assert loose is not None
    assert alone["kappa_ci"] is not None
    assert loose[1] - loose[0] < 0.5 * (alone["kappa_ci"][1] - alone["kappa_ci"][0])
    assert two_judges(many, ["one"] * len(many))["kappa_ci"] is None
