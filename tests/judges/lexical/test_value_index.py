"""The index of values gives what a comparison with each of them gives."""

from __future__ import annotations

from itertools import count

import pytest

from trueground.judges.lexical import value_index
from trueground.judges.lexical.nearest import NearestValues
from trueground.judges.lexical.value_index import ValueIndex
from trueground.judges.lexical.values import Value, agrees, find_values, same_kind

TEXT = """
17, 18, 17.0, -17, 0, 0.5, 1,000, 1000 and 1e3; 12 %, 12.2 percent, half of them, one third of it
3 km, 3,000 m, 1.86 miles, 2 miles, 3.2 km, 3 kg, 3 g, 6.6 pounds, 45 W, 45 kW, 300 K, 27 °C, 80 °F
35 years, 420 months, 2 weeks, aged 35, five million people, 5M users, 5.1 million, $5, €5
5 dollars
1931, in 1932, the 1930s, the 19th century, 44 BC, the 1st century BC, first, 1st, twelfth, 12th
3 May 1931, May 3, 1931, May 1931, in May, 3 May, 03/05/1931, 05/03/1931, 25/12/1931, 1931-05-03
10:30, 10:30 pm, twenty three, two hundred, a dozen, 40,000, 41,200, 43,000, 1871-11, 1914–18
"""
VALUES = find_values(TEXT)
CLAIMED = find_values("""
16, -20, 0.1, 990, 2400, 13 %, 90 percent, 2.9 km, 1900 metres, 2 miles, 1.9 miles, 5 g, 40 kW, 50 W
36 years, 430 months, 4.9 million, $6, €1, 1930, 1935, the 1920s, the 1930s, the 20th century, 50 BC
4 May 1931, June 1931, in May, 5 March, 03/05/1931, 3 May 1931, second, 13th, 10:00, 22:30, 40,900
about 17, 1871, 1918, 1872-03, 30 °C, 290 K, 81 °F, 25 December
""")


def positions_by_comparison(claimed: Value, about: bool) -> list[int]:
    return [i for i, value in enumerate(VALUES) if agrees(claimed, value, about)]


@pytest.mark.parametrize("about", [False, True], ids=["exactly", "about"])
def test_positions_equal_those_of_comparing_with_each_value(about: bool) -> None:
    assert len(VALUES) > 60
    index = ValueIndex(enumerate(VALUES))
    claimed = [*VALUES, *CLAIMED]
    expected = [positions_by_comparison(value, about) for value in claimed]
    assert [index.positions(value, about) for value in claimed] == expected


def test_positions_of_few_values_equal_those_of_comparing_with_each() -> None:
    for start in range(0, len(VALUES), 5):
        few = ValueIndex(enumerate(VALUES[start : start + 5], start))
        for value in VALUES:
            expected = positions_by_comparison(value, about=False)
            assert few.positions(value) == [i for i in expected if start <= i < start + 5]


def test_positions_compares_each_number_of_a_table_with_few_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = count()
    monkeypatch.setattr(
        value_index, "agrees", lambda *values: next(compared) >= 0 and agrees(*values)
    )
    table = find_values(" ".join(f"{number}.{number % 97} kg," for number in range(4000)))
    claimed = find_values(" ".join(f"{number}.5 kg and {number} km," for number in range(300)))
    index = ValueIndex(enumerate(table))
    for value in claimed:
        index.positions(value)
    assert (len(table), len(claimed)) == (4000, 600)
    assert next(compared) < len(claimed)


def test_count_candidates_counts_a_sentence_once_for_each_value() -> None:
    number, other = find_values("17 and 18")
    values = [(sentence, number) for sentence in range(20) for _ in range(50)]
    assert ValueIndex(values).count_candidates(number) == 20
    assert ValueIndex(values).count_candidates(other) == 0


def test_nearest_equals_the_nearest_of_all_values() -> None:
    nearest = NearestValues(VALUES, TEXT)
    for value in (*VALUES, *CLAIMED):
        others = [v for v in VALUES if same_kind(value, v) and is_alike(value, v)]
        distances = [(distance(value, v), TEXT[v.start : v.end]) for v in others]
        assert nearest.find(value) == (min(distances)[1] if distances else None)
    assert nearest.find(find_values("7,000,000 km")[0]) is None


def is_alike(one: Value, other: Value) -> bool:
    """At most three times as large, as it measures or as it is written."""
    a, b = abs(one.amount or 0), abs(other.amount or 0)
    pairs = [(a, b), (a / abs(one.scale), b / abs(other.scale))]
    return one.kind == "date" or any(max(pair) <= 3 * min(pair) for pair in pairs)


def distance(one: Value, other: Value) -> float:
    if one.kind == "date":
        months = [12 * (value.year or 0) + (value.month or 0) for value in (one, other)]
        return abs(months[0] - months[1])
    return abs((one.amount or 0) - (other.amount or 0))
