"""Numbers, dates and amounts as values."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trueground.judges.lexical.values import Value, agrees, find_values


def only(text: str) -> Value:
    found = find_values(text)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("1,194 people", 1194, None),
        ("1.2 million people", 1_200_000, None),
        ("1,200,000 people", 1_200_000, None),
        ("four cats", 4, None),
        ("Twenty-three cats", 23, None),
        ("one hundred and five cats", 105, None),
        ("four hundred thousand", 400_000, None),
        ("a million stars", 1_000_000, None),
        ("two dozen eggs", 24, None),
        ("61%", 61, "percent"),
        ("61 per cent", 61, "percent"),
        ("twelve percent", 12, "percent"),
        ("half of them", 50, "percent"),
        ("$5 million", 5_000_000, "USD"),
        ("US$5m", 5_000_000, "USD"),
        ("5 million dollars", 5_000_000, "USD"),
        ("£3.50", 3.5, "GBP"),
        ("5M users", 5_000_000, None),
        ("5m users", 5_000_000, None),
        ("5 M active users", 5_000_000, None),
        ("1.5k", 1500, None),
        ("1.5K followers", 1500, None),
        ("a 7B model", 7e9, None),
        ("5m of rope", 5, "metre"),
        ("300 K", 300, None),
        ("10 k", 10, None),
        ("a 401k", 401, None),
        ("5MB", 5_000_000, "byte"),
        ("3 km", 3000, "metre"),
        ("5 m long", 5, "metre"),
        ("1.4 kg", 1400, "gram"),
        ("24 hours", 86_400, "second"),
        ("35-year-old", 420, "month"),
        ("35 years old", 420, "month"),
        ("-5 degrees", -5, "degree"),
        ("4 °C", 4, "celsius"),
        ("4 degrees Celsius", 4, "celsius"),
        ("98.6°F", 37, "celsius"),
        ("5:30 pm", 17 * 60 + 30, "clock"),
        ("18:00", 18 * 60, "clock"),
    ],
)
def test_amounts(text: str, amount: float, unit: str | None) -> None:
    value = only(text)
    assert value.kind == "number"
    assert value.amount == pytest.approx(amount)
    assert value.unit == unit


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1 May 2020", (2020, 5, 1)),
        ("May 1, 2020", (2020, 5, 1)),
        ("May 1st", (None, 5, 1)),
        ("1st of May", (None, 5, 1)),
        ("2020-05-01", (2020, 5, 1)),
        ("25/12/1999", (1999, 12, 25)),
        ("12/25/1999", (1999, 12, 25)),
        ("25-12-1999", (1999, 12, 25)),
        ("3.4.2020", (2020, 4, 3)),
        ("May 2020", (2020, 5, None)),
        ("in May", (None, 5, None)),
        ("Sept. 2001", (2001, 9, None)),
        ("in 1956", (1956, None, None)),
        ("44 BC", (-44, None, None)),
        ("3,700 BC", (-3700, None, None)),
        ("1871-11", (1871, 11, None)),
        ("(born 1871-11)", (1871, 11, None)),
        ("date of birth: 1900-06", (1900, 6, None)),
        ("date_of_death: 2003-04, spouse: Bo", (2003, 4, None)),
        ("inception: 0300-05", (300, 5, None)),
        ("died: -0044-03-15", (-44, 3, 15)),
        ("died: -0044-03", (-44, 3, None)),
        ("-0044", (-44, None, None)),
    ],
)
def test_dates(text: str, parts: tuple[int | None, int | None, int | None]) -> None:
    value = only(text)
    assert value.kind == "date"
    assert (value.year, value.month, value.day) == parts


@pytest.mark.parametrize(
    ("text", "first", "years"),
    [
        ("the 1990s", 1990, 10),
        ("the 19th century", 1800, 100),
        ("the nineteenth century", 1800, 100),
        ("the twenty-first century", 2000, 100),
        ("the 3rd century BC", -300, 100),
    ],
)
def test_decades_and_centuries(text: str, first: int, years: int) -> None:
    value = only(text)
    assert (value.kind, value.year, value.years) == ("date", first, years)


def test_ranges_hold_two_years() -> None:
    assert [v.year for v in find_values("1914–18")] == [1914, 1918]
    assert [v.year for v in find_values("from 1914 to 1918")] == [1914, 1918]
    assert [v.year for v in find_values("the season 2003-04")] == [2003, 2004]
    assert [v.year for v in find_values("season: 2003-04")] == [2003, 2004]
    assert [v.year for v in find_values("in 1900-06, at that time")] == [1900, 1906]


@pytest.mark.parametrize("text", ["-0000", "12-1871-11", "1871-11-", "1871-13", "1871-11.5"])
def test_find_values_ignores_words_that_look_like_months(text: str) -> None:
    assert all(v.month is None for v in find_values(text))


@pytest.mark.parametrize(("text", "number"), [("the second man", 2), ("the 20th", 20)])
def test_ordinals(text: str, number: float) -> None:
    value = only(text)
    assert (value.kind, value.amount) == ("ordinal", number)


@pytest.mark.parametrize("text", ["", "one of them", "a cat", "They march on.", "May I go?", "no"])
def test_words_that_are_no_values(text: str) -> None:
    assert find_values(text) == []


@given(st.text() | st.text(alphabet="0123456789 ,.-/:$%kmaystndhJu", max_size=40))
def test_values_are_ordered_and_inside(text: str) -> None:
    last = 0
    for value in find_values(text):
        assert last <= value.start < value.end <= len(text)
        last = value.end


@given(st.integers(0, 10**9))
def test_grouping_does_not_change_a_number(number: int) -> None:
    assert only(f"{number:,} cats").amount == only(f"{number}.0 cats").amount == number


@pytest.mark.parametrize("text", ["03/04/2020", "3-4-2020"])
def test_a_date_that_may_be_read_in_two_ways(text: str) -> None:
    date = only(text)
    assert date.either
    for day in ("3 April 2020", "March 4, 2020", "2020-04-03", text):
        assert agrees(date, only(day))
        assert agrees(only(day), date)
    for day in ("3 May 2020", "4 April 2020", "3 April 2021", "04/03/2020", "April 2020"):
        assert not agrees(date, only(day))


@pytest.mark.parametrize(
    "text", ["04/04/2020", "13/04/2020", "04/13/2020", "3.4.2020", "2020-04-03"]
)
def test_a_date_that_has_one_reading(text: str) -> None:
    assert not only(text).either


DIGITS = [c for c in map(chr, range(0x110000)) if c.isdigit() or c.isnumeric()]


@pytest.mark.parametrize(
    "form",
    ["19{0}{0}–18", "{0}914–18", "{0}{0}{0}{0}/18", "{0}-18", "1914–{0}{0}"],
)
def test_find_values_reads_texts_with_every_digit_of_unicode(form: str) -> None:
    """Superscripts and circled numbers are digits to Python, and no numbers."""
    for digit in DIGITS:
        text = f"In {form.format(digit)} it was {digit} km, {digit}st of May {digit * 4}."
        for value in find_values(text):
            assert value.start < value.end <= len(text)


def test_end_of_a_range_behind_superscripts_is_no_year() -> None:
    assert [value.year for value in find_values("19²³–18")] == [None, None]
    assert [value.year for value in find_values("1914–18")] == [1914, 1918]


@pytest.mark.parametrize(
    ("text", "month", "amount"),
    [
        ("5 \u017feptember 1871", 9, None),
        ("5 Apr\u0131l 1871", 4, None),
        ("5 APR\u0130L 1871", 4, None),
        ("two th\u0131rds", None, 100 * 2 / 3),
        ("one f\u0131fth", None, 20.0),
    ],
)
def test_find_values_reads_letters_that_match_without_regard_to_case(
    text: str, month: int | None, amount: float | None
) -> None:
    """The long s, and the i without and with a dot."""
    (value,) = find_values(text)
    assert value.month == month
    assert value.amount == (None if amount is None else pytest.approx(amount))


CASE_VARIANTS = {"s": "\u017f", "i": "\u0131\u0130", "k": "\u212a"}
WORDY = (
    *("5 September 1871, 44 BC", "two thirds, one fifth, half of it", "twenty-six million km"),
    *(
        "the sixth century BCE, 1960s",
        "six kilometres, 300 Kelvin, 5 inches",
        "10:30 p.m. in Sept.",
    ),
)


def test_find_values_reads_every_case_variant_of_its_words() -> None:
    for text in WORDY:
        for at, letter in enumerate(text):
            for variant in CASE_VARIANTS.get(letter.lower(), ""):
                varied = text[:at] + variant + text[at + 1 :]
                assert all(value.end <= len(varied) for value in find_values(varied))
