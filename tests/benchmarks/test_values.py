"""Options as what they mean."""

from __future__ import annotations

import pytest

from trueground.benchmarks.values import number_of, share_of, whole_of
from trueground.errors import UsageError


@pytest.mark.parametrize(
    ("given", "share"),
    [
        ("0", 0.0),
        ("1", 1.0),
        (".5", 0.5),
        (" 0.25 ", 0.25),
        ("1e-3", 0.001),
        ("0.3", 0.3),
        ("1.", 1.0),
    ],
)
def test_shares(given: str, share: float) -> None:
    assert share_of({"kept": given}, "kept") == share


@pytest.mark.parametrize(
    "given", ["1_0", "-0.1", "1.01", "nan", "inf", "half", "0,5", "1e400", "٣"]
)
def test_no_shares(given: str) -> None:
    with pytest.raises(UsageError, match=f"--kept {given}: expected a number from 0 to 1"):
        share_of({"kept": given}, "kept")


def test_bounds_of_a_share() -> None:
    assert share_of({"x": "0.5"}, "x", 0.5, zero=False) == 0.5
    for given in ("0", "0.0", "0.51"):
        with pytest.raises(UsageError, match=r"a number above 0, 0\.5 at most, such as 0\.2"):
            share_of({"x": given}, "x", 0.5, zero=False)
    with pytest.raises(UsageError, match="--x has no value"):
        share_of({"x": None}, "x")
    with pytest.raises(UsageError, match="--x is empty"):
        share_of({"x": " "}, "x")


def test_whole_numbers() -> None:
    assert whole_of({"n": "7"}, "n", 1, 7) == 7
    assert number_of({"n": None}, "n", 1) is None
    with pytest.raises(UsageError, match="--n has no value"):
        whole_of({"n": None}, "n", 1)
    for given in ("1_0", "0", "8", "7.0", "+7", "9" * 5000, "٣"):
        with pytest.raises(UsageError, match="expected a whole number, 1 to 7"):
            whole_of({"n": given}, "n", 1, 7)
    with pytest.raises(UsageError, match="expected a whole number, 2 or more"):
        number_of({"n": "1000000000"}, "n", 2)
