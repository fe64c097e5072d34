"""SPARQL against a store: only reading, only this store, values bound and never written in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from trueground.errors import GraphError
from trueground.graph.base import Row
from trueground.graph.rdf import PREFIXES
from trueground.graph.sparql.binding import bound

if TYPE_CHECKING:
    from pyoxigraph import QuerySolutions, QueryTriples, Store

_EXPECTED = "expected one SELECT, ASK, CONSTRUCT or DESCRIBE"
# What can hold a word that is no keyword: an escaped sign, a text, an address, a comment. The order
# is that in which a parser sees them.
_NO_KEYWORD = re.compile(
    r"""\\.|'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|'(?:\\.|[^'\\\n\r])*'"""
    r"""|"(?:\\.|[^"\\\n\r])*"|\#[^\n\r]*"""
    r"""|<(?:[^<>"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>""",
    re.DOTALL,
)
# SERVICE as any engine may read it: some take \u0053 for S before all else. The last letter apart.
_SERVICE, _LETTER = (
    "".join(
        rf"(?:{c}|\\u00(?:{ord(c.upper()):x}|{ord(c):x})|\\U000000(?:{ord(c.upper()):x}|{ord(c):x}))"
        for c in "servic"
    ),
    r"(?:e|\\u00[46]5|\\U000000[46]5)",
)
_ELSEWHERE = re.compile(rf"({_SERVICE})({_LETTER})", re.IGNORECASE)
_ELSEWHERE_SILENT = re.compile(rf"{_SERVICE}{_LETTER}(?:\s*SILENT)?", re.IGNORECASE)
_PROLOGUE = re.compile(r"(?:\s|PREFIX\s+[^\s:]*:\s*|BASE\s*)+", re.IGNORECASE)
_CHANGES = {"INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"}


def rows_of(
    store: Store, sparql: str, bindings: Mapping[str, str] | None, name: str
) -> Iterator[Row]:
    """The rows of a query, as `Queried.query` gives them. GraphError names what is wrong."""
    from pyoxigraph import QueryBoolean, QueryTriples

    try:
        _check_local(sparql, name)
        # The store's own substitutions want every variable selected, and miss some of its places.
        text, added = bound(sparql, bindings or {})
        if text != sparql:
            _check_local(text, name)
        # The graph of the names is no part of what is asked; all else is in the default one.
        found = store.query(text, prefixes=PREFIXES, named_graphs=[])
    except SyntaxError as error:
        raise _unreadable(*_place(sparql, text, error)) from None
    except UnicodeEncodeError:
        raise GraphError(
            f"the query is no valid Unicode; write it as UTF-8 text. {_EXPECTED}"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise _failed(name, error) from error
    if isinstance(found, QueryBoolean):
        return iter([{"ask": "true" if found else "false"}])
    if isinstance(found, QueryTriples):
        return _triples(found, name)
    return ({**row, **added} for row in _solutions(found, name))


def _solutions(found: QuerySolutions, name: str) -> Iterator[Row]:
    names = [one.value for one in found.variables]
    try:
        for solution in found:
            yield {one: _text(solution[one]) for one in names}
    except (OSError, ValueError, RuntimeError) as error:
        raise _failed(name, error) from error


def _triples(found: QueryTriples, name: str) -> Iterator[Row]:
    try:
        for subject, predicate, value in found:
            texts = (_text(subject), _text(predicate), _text(value))
            yield dict(zip(("subject", "predicate", "object"), texts, strict=True))
    except (OSError, ValueError, RuntimeError) as error:
        raise _failed(name, error) from error


def _text(term: object) -> str | None:
    from pyoxigraph import Literal, NamedNode

    if term is None:
        return None
    return term.value if isinstance(term, Literal | NamedNode) else str(term)


def _check_local(sparql: str, name: str) -> None:
    """GraphError where the store would ask another endpoint, or cannot read what could do so.

    The grammar lets keywords stick to almost anything, so its own parser is asked: a query without
    the keyword stays readable when the word is another one wherever it stands.
    """
    other = _ELSEWHERE.sub(_renamed, sparql)
    if other == sparql:
        return
    try:
        _parse(other)
    except SyntaxError as error:
        reason = str(error)
    else:
        return
    try:
        _parse(_ELSEWHERE_SILENT.sub("GRAPH", sparql))
    except SyntaxError:
        raise _unreadable(sparql, reason) from None
    raise GraphError(
        f"the query has SERVICE, which would ask another endpoint; {name} answers from its own "
        "triples only. Leave SERVICE out, or ask that endpoint itself as sparql:URL"
    )


def _renamed(service: re.Match[str]) -> str:
    """The word with an x for its last e, as long as it was and written in the same way."""
    start, last = service.groups()
    if len(last) > 1:
        return f"{start}{last[:-2]}78"
    return start + ("X" if last.isupper() else "x")


def _parse(sparql: str) -> None:
    """SyntaxError where it is no query."""
    from trueground.graph.embedded.store import empty_store

    empty_store().query(sparql, prefixes=PREFIXES)


def _place(sparql: str, text: str, error: SyntaxError) -> tuple[str, str]:
    """The query as it was written and what is wrong there, where it is wrong without values too."""
    if text != sparql:
        try:
            _parse(sparql)
        except SyntaxError as own:
            return sparql, str(own)
    return text, str(error)


def _unreadable(sparql: str, reason: str) -> GraphError:
    bare = _NO_KEYWORD.sub(" ", sparql)
    start = _PROLOGUE.match(bare)
    word = re.match(r"\w*", bare[start.end() if start else 0 :])
    if word and word[0].upper() in _CHANGES:
        return GraphError(
            f"the query begins with {word[0].upper()}, which changes a graph; {_EXPECTED}. Add "
            "triples with: trueground graph load FILE --out DIR"
        )
    place = re.match(r"error at (\d+):(\d+): ", reason)
    if place is None:
        return GraphError(f"the query cannot be read: {reason}; {_EXPECTED}")
    # What the parser would expect there is one of many, and seldom what was meant.
    line, column = int(place[1]), int(place[2])
    lines = sparql.splitlines() or [""]
    rest = lines[line - 1][column - 1 :][:30] if line <= len(lines) else ""
    found = f"found {rest!r}, which cannot stand there" if rest.strip() else "it ends too early"
    return GraphError(
        f"the query cannot be read: line {line}, column {column}: {found}; {_EXPECTED}. Fix the "
        "query"
    )


def _failed(name: str, error: Exception) -> GraphError:
    return GraphError(
        f"the query to {name} failed: {error}. Fix the query, or load the graph again"
    )
