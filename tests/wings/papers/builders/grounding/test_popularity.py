"""Numbers of popularity, and the cut into popular and unpopular documents."""

from __future__ import annotations

from decimal import Decimal

import pytest

from trueground.errors import InputError
from trueground.wings.papers.builders.grounding.sets import (
    check_popularity,
    popularity_field,
    popularity_lists,
)


def test_three_tenths_of_ten_are_three() -> None:
    """0.3 · 10 is 3 exactly, which it is not in binary fractions with every size."""
    numbers = {f"d{n}": float(n) for n in range(10)}
    found = popularity_lists(numbers, Decimal("0.3"))
    assert {one for one, level in found.items() if level == "low"} == {"d0", "d1", "d2"}
    assert {one for one, level in found.items() if level == "high"} == {"d7", "d8", "d9"}


@pytest.mark.parametrize(
    ("size", "share", "each"),
    [(2, "0.3", 1), (3, "0.3", 1), (7, "0.3", 2), (9, "0.3", 2), (100, "0.29", 29), (5, "0.5", 2)],
)
def test_sizes_of_the_lists(size: int, share: str, each: int) -> None:
    found = popularity_lists({f"{n:03}": float(n) for n in range(size)}, Decimal(share))
    assert list(found.values()).count("low") == each
    assert list(found.values()).count("high") == each


def test_ties_at_the_borders_are_cut_by_id() -> None:
    numbers = dict.fromkeys("gfedcba", 5.0) | {"x": 9.0, "y": 1.0, "z": 1.0}
    expected = {"y": "low", "z": "low", "a": "low", "f": "high", "g": "high", "x": "high"}
    assert popularity_lists(numbers, Decimal("0.3")) == expected
    backwards = dict(reversed(numbers.items()))
    assert popularity_lists(backwards, Decimal("0.3")) == expected


def test_one_document_is_neither() -> None:
    assert popularity_lists({"a": 1.0}, Decimal("0.3")) == {}


def test_the_field_is_the_first_known_one() -> None:
    rows = [{"views": 3, "color": "red"}, {"popularity": 2}]
    assert popularity_field(rows, None) == "popularity"
    assert popularity_field(rows, "color") == "color"
    assert popularity_field([], "links") == "links"


def test_no_field_is_an_error_that_shows_the_way() -> None:
    with pytest.raises(InputError, match=r"found: 'color'.*--popularity-field links"):
        popularity_field([{"color": "red"}], None)
    with pytest.raises(InputError, match="a field 'stars'"):
        popularity_field([{"color": "red"}], "stars")


def test_numbers_that_tell_nothing() -> None:
    check_popularity({"a": 1.0, "b": 2.0})
    with pytest.raises(InputError, match="all 2 documents have the popularity 0"):
        check_popularity({"a": 0.0, "b": 0.0})
    with pytest.raises(InputError, match="1 of the documents"):
        check_popularity({"a": 1.0})
