"""Times of Wikidata as far as they are known, in the years that people count."""

from __future__ import annotations

import pytest

from trueground.wings.graphs.base import PropertyValue
from trueground.wings.graphs.endpoint import (
    DetailedTerm,
    EndpointGraph,
    EndpointReader,
    ValueDetail,
)
from trueground.wings.graphs.rdf import XSD


def value_of(
    text: str, datatype: str, detail: ValueDetail | None = None, *, wikidata: bool = True
) -> PropertyValue | None:
    endpoint = EndpointGraph("http://127.0.0.1:9/sparql")._endpoint
    reader = EndpointReader(endpoint, "en", wikidata=wikidata)
    return reader.literal_value(DetailedTerm(text, "", datatype, detail or ValueDetail()))


@pytest.mark.parametrize(
    ("text", "precision", "expected"),
    [
        ("1871-11-01T00:00:00Z", 11, "1871-11-01"),
        ("1871-11-01T00:00:00Z", None, "1871-11-01"),
        ("1871-11-01T00:00:00Z", 10, "1871-11"),
        ("1871-01-01T00:00:00Z", 9, "1871"),
        ("-0043-03-15T00:00:00Z", 11, "-0044-03-15"),
        ("0000-01-01T00:00:00Z", 9, "-0001"),
        ("+1871-00-00T00:00:00Z", 9, "1871"),
        ("-13000-01-01T00:00:00Z", 9, "-13001"),
        ("unknown", 9, "unknown"),
    ],
)
def test_dates(text: str, precision: int | None, expected: str) -> None:
    found = value_of(text, XSD + "dateTime", ValueDetail(precision))
    assert found == PropertyValue(expected, "date")


@pytest.mark.parametrize(
    ("text", "precision", "expected"),
    [
        ("1876-01-01T00:00:00Z", 8, "1870s"),
        ("1801-01-01T00:00:00Z", 7, "19th century"),
        ("1900-01-01T00:00:00Z", 7, "19th century"),
        ("-0500-01-01T00:00:00Z", 7, "6th century BCE"),
        ("1101-01-01T00:00:00Z", 7, "12th century"),
        ("2001-01-01T00:00:00Z", 7, "21st century"),
        ("2001-01-01T00:00:00Z", 6, "3rd millennium"),
    ],
)
def test_longer_times_are_texts(text: str, precision: int, expected: str) -> None:
    found = value_of(text, XSD + "dateTime", ValueDetail(precision))
    assert found == PropertyValue(expected)


def test_what_is_vaguer_than_a_millennium_is_left_out() -> None:
    assert value_of("-13798000000-01-01T00:00:00Z", XSD + "dateTime", ValueDetail(3)) is None


def test_everywhere_years_count_as_historians_count_them() -> None:
    wanted = PropertyValue("-0044-03-15", "date")
    assert value_of("-0043-03-15", XSD + "date") == wanted
    assert value_of("-0043-03-15T00:00:00Z", XSD + "dateTime", wikidata=False) == wanted


def test_quantities() -> None:
    metres = ValueDetail(unit="metre")
    assert value_of("+1.85", XSD + "decimal") == PropertyValue("1.85", "quantity")
    assert value_of("+1.85", XSD + "decimal", metres) == PropertyValue(
        "1.85 metre", "quantity", unit="metre"
    )
    assert value_of("a", "", metres) == PropertyValue("a")


@pytest.mark.parametrize("precision", [7, 9, 11])
def test_year_of_thousands_of_digits_is_no_crash(precision: int) -> None:
    """An endpoint sends what it likes, and Python reads numbers up to 4,300 digits."""
    text = f"{'9' * 5_000}-01-01T00:00:00Z"
    value_of(text, XSD + "dateTime", ValueDetail(precision))
