"""No text and no address can become anything but one term of a query."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st
from pyoxigraph import Literal, NamedNode, QuerySolutions, Store

from trueground.errors import GraphError, UsageError
from trueground.wings.graphs.sparql import iri, is_iri, language, literal, term, values

STORE = Store()
texts = st.text(
    alphabet=st.one_of(
        st.sampled_from("\\\"'uU0022nrt{}<>?$#.\n\r\t\0 "), st.characters(exclude_categories=["Cs"])
    )
)
addresses = st.text(
    alphabet=st.one_of(
        st.sampled_from(':/?#[]@%2F<>{}|\\^`" \n\x01'), st.characters(exclude_categories=["Cs"])
    )
).map("http://example.org/".__add__)


def parsed(written: str) -> object:
    found = STORE.query(f"SELECT ?x WHERE {{ {values('x', [written])} }}")
    assert isinstance(found, QuerySolutions)
    rows = [row["x"] for row in found]
    assert len(rows) == 1
    return rows[0]


@given(texts)
@example('O\'Brien "x" \\ }')
@example('\\u0022 } ?s ?p "')
@example("\\\\u0022\\U00000022\\")
@example('"""\n\r\t\0')
def test_any_text_is_read_back_as_itself(text: str) -> None:
    assert parsed(literal(text)) == Literal(text)
    assert parsed(literal(text, "en-GB")) == Literal(text, language="en-gb")


@given(texts)
def test_engines_that_read_escapes_first_see_the_same(text: str) -> None:
    """Sesame and its children, and parsers that replace escapes without looking behind them."""
    naive = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda m: chr(int(m[1], 16)), literal(text))
    counting = re.sub(
        r"(?<!\\)((?:\\\\)*)\\u([0-9A-Fa-f]{4})", lambda m: m[1] + chr(int(m[2], 16)), literal(text)
    )
    assert parsed(naive) == parsed(counting) == Literal(text)


@given(addresses)
@example("http://example.org/a> } ?s ?p <b")
@example("http://example.org/\\u003E")
def test_an_address_is_one_or_refused(text: str) -> None:
    if not is_iri(text):
        with pytest.raises(GraphError, match="isn't an IRI"):
            iri(text)
    else:
        assert parsed(iri(text)) == NamedNode(text)


@pytest.mark.parametrize(
    "good",
    [
        "urn:trueground:entity:a%20b",
        "http://dbpedia.org/resource/Ö–ß",
        "http://[::1]:80/a?b=?c#d",
        "https://u@example.org/(a),'b'",
    ],
)
def test_addresses(good: str) -> None:
    assert parsed(iri(good)) == NamedNode(good)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "Q42",
        "no scheme",
        "http://a b",
        "http://a\0b",
        "http://a%zz",
        "http://a/[b]",
        "<http://a>",
        "http://a\ud800",
    ],
)
def test_no_addresses(bad: str) -> None:
    with pytest.raises(GraphError, match="isn't an IRI"):
        iri(bad)


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(GraphError, match="half of a character"):
        literal("a\ud800")


def test_languages() -> None:
    assert language("pt-BR") == "pt-BR"
    for bad in ("", "en }", "e_n", 'en"'):
        with pytest.raises(UsageError, match="is no language"):
            language(bad)


def test_what_a_binding_stands_for() -> None:
    assert term("<http://example.org/a>") == "<http://example.org/a>"
    assert term("http://example.org/a") == '"http://example.org/a"'
    assert term("<>") == '"<>"'
    with pytest.raises(GraphError):
        term("<no address>")
