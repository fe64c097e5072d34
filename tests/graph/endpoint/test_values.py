"""Times of Wikidata as far as they are known, in the years that people count."""

from __future__ import annotations

import pytest

from trueground.graph.base import PropertyValue
from trueground.graph.endpoint.results import SparqlTerm
from trueground.graph.endpoint.values import Detail, value_of
from trueground.graph.rdf import XSD


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
    term = SparqlTerm("literal", text, datatype=XSD + "dateTime")
    assert value_of(term, Detail(precision), wikidata=True) == PropertyValue(expected, "date")


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
    term = SparqlTerm("literal", text, datatype=XSD + "dateTime")
    assert value_of(term, Detail(precision), wikidata=True) == PropertyValue(expected)


def test_what_is_vaguer_than_a_millennium_is_left_out() -> None:
    term = SparqlTerm("literal", "-13798000000-01-01T00:00:00Z", datatype=XSD + "dateTime")
    assert value_of(term, Detail(3), wikidata=True) is None


def test_everywhere_years_count_as_historians_count_them() -> None:
    term = SparqlTerm("literal", "-0043-03-15", datatype=XSD + "date")
    assert value_of(term, Detail(), wikidata=True) == PropertyValue("-0044-03-15", "date")
    term = SparqlTerm("typed-literal", "-0043-03-15T00:00:00Z", datatype=XSD + "dateTime")
    assert value_of(term, Detail(), wikidata=False) == PropertyValue("-0044-03-15", "date")


def test_quantities() -> None:
    term = SparqlTerm("literal", "+1.85", datatype=XSD + "decimal")
    assert value_of(term, Detail(), wikidata=True) == PropertyValue("1.85", "quantity")
    metres = PropertyValue("1.85 metre", "quantity", unit="metre")
    assert value_of(term, Detail(unit="metre"), wikidata=True) == metres
    assert value_of(
        SparqlTerm("literal", "a"), Detail(unit="metre"), wikidata=True
    ) == PropertyValue("a")
