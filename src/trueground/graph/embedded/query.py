"""SPARQL against a store: only reading, only this store, values bound and never written in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trueground.errors import GraphError
from trueground.graph.base import Row
from trueground.graph.embedded.folder import empty_store
from trueground.graph.rdf import PREFIXES
from trueground.graph.sparql import UPDATES, bound, first_word

if TYPE_CHECKING:
    from pyoxigraph import Store

_EXPECTED = "expected one SELECT, ASK, CONSTRUCT or DESCRIBE"


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
        # It is shown as it was written, unless it is the values that make it wrong.
        own = _syntax_error(sparql) if text != sparql else None
        raise _unreadable(*((text, str(error)) if own is None else (sparql, own))) from None
    except UnicodeEncodeError:
        raise GraphError(
            f"the query is no valid Unicode; write it as UTF-8 text. {_EXPECTED}"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:
        raise _failed(name, error) from error
    if isinstance(found, QueryBoolean):
        return iter([{"ask": "true" if found else "false"}])
    if isinstance(found, QueryTriples):
        return _rows(found, ("subject", "predicate", "object"), {}, name)
    return _rows(found, [one.value for one in found.variables], added, name)


def _rows(found: Any, names: Sequence[str], added: Row, store: str) -> Iterator[Row]:
    from pyoxigraph import Literal, NamedNode

    def text(term: object) -> str | None:
        if term is None:
            return None
        return term.value if isinstance(term, Literal | NamedNode) else str(term)

    try:
        for terms in found:
            yield {**dict(zip(names, map(text, terms), strict=True)), **added}
    except (OSError, ValueError, RuntimeError) as error:
        raise _failed(store, error) from error


def _check_local(sparql: str, name: str) -> None:
    """GraphError where the store would ask another endpoint, or cannot read what could do so.

    The grammar lets keywords stick to almost anything, so its own parser is asked: a query without
    the keyword stays readable when the word is another one wherever it stands. (In a keyword the
    parser reads no escapes; of \\u0053 for S it says itself that it cannot stand there.)
    """
    other = re.sub(r"(?i)(servic)e", r"\1x", sparql)
    if other == sparql or (reason := _syntax_error(other)) is None:
        return
    if _syntax_error(re.sub(r"(?i)service(?:\s*silent)?", "GRAPH", sparql)) is not None:
        raise _unreadable(sparql, reason)
    raise GraphError(
        f"the query has SERVICE, which would ask another endpoint; {name} answers from its own "
        "triples only. Leave SERVICE out, or ask that endpoint itself as sparql:URL"
    )


def _syntax_error(sparql: str) -> str | None:
    """What the store's parser says of what is no query; None where it is one."""
    try:
        empty_store().query(sparql, prefixes=PREFIXES)
    except SyntaxError as error:
        return str(error)
    return None


def _unreadable(sparql: str, reason: str) -> GraphError:
    if (word := first_word(sparql)) in UPDATES:
        return GraphError(
            f"the query begins with {word}, which changes a graph; {_EXPECTED}. Add triples with: "
            "trueground graph load FILE --out DIR"
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
