"""SPARQL as text: terms that are escaped for themselves, and values in place of variables.

A user's query is read token by token as the grammar of SPARQL 1.1 has them (section 19.8), so that
texts and comments in it are not touched; a variable becomes a term that was escaped for itself. A
variable that is selected keeps its name and value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from trueground.errors import GraphError, UsageError
from trueground.wings.graphs.base import Row

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
# Some engines read \uXXXX before anything else. Where a text holds a backslash and a "u", the "u"
# is written as an escape itself, which means the same to them and to all others.
_UNICODE = {"\\u": "\\\\\\u0075", "\\U": "\\\\\\u0055"}
_SPECIAL = re.compile(r'\\[uU]|[\\"\n\r]')
_LANG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_WIDE = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef\U00010000-\U0001fffd\U00020000-\U0002fffd"
_PART = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/{_WIDE}]|%[0-9A-Fa-f]{{2}})"
_IRI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.\-]*:(?://(?:[^/?#]*@)?\[[0-9A-Fa-f:.]+\](?::\d*)?(?=[/?#]|\Z))?"
    rf"{_PART}*(?:\?(?:{_PART}|\?)*)?(?:#(?:{_PART}|\?)*)?"
)
_FORBIDDEN = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_NAME = r"(?:\w|[\u00b7\u203f\u2040\u0300-\u036f])+"
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\r\n]*)
      | (?P<iri><(?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
      | (?P<string>\"{3}(?:[^\\]|\\.)*?\"{3} | '{3}(?:[^\\]|\\.)*?'{3}
          | "(?:[^"\\\r\n]|\\.)*" | '(?:[^'\\\r\n]|\\.)*')
      | (?P<variable>[?$]"""
    + _NAME
    + r""")
      | (?P<lang>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
      | (?P<prefixed>(?:[^\W\d][\w.\-]*)?:(?:[\w.\-:]|%[0-9A-Fa-f]{2}|\\.)*)
      | (?P<word>[^\W\d]\w*)
      | (?P<mark>\\.|.)""",
    re.VERBOSE | re.DOTALL,
)
_CLAUSE_ENDS = {"WHERE", "FROM", "HAVING", "LIMIT", "OFFSET", "VALUES"}
UPDATES = {"INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"}


def is_text(text: str) -> bool:
    """Whether it can be sent at all: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def literal(text: str, lang: str | None = None) -> str:
    """A string as SPARQL writes it, with a language tag if one is given. Raises GraphError."""
    if not is_text(text):
        raise GraphError(f"{text!a} is no text: it holds half of a character. Fix it")
    body = _SPECIAL.sub(lambda m: _UNICODE.get(m[0]) or _ESCAPES[m[0]], text)
    return f'"{body}"' if lang is None else f'"{body}"@{language(lang)}'


def is_language(tag: str) -> bool:
    """Whether it is a language tag, "en" or "pt-BR"."""
    return _LANG.fullmatch(tag) is not None


def language(tag: str) -> str:
    """The tag itself. Raises UsageError where it is none."""
    if not is_language(tag):
        raise UsageError(f'{tag!r} is no language; expected a tag such as "en" or "pt-BR"')
    return tag


def is_iri(text: str) -> bool:
    """Whether it is an absolute address that may stand in a query."""
    return _IRI.fullmatch(text) is not None and _FORBIDDEN.search(text) is None


def iri(text: str) -> str:
    """An absolute address in angle brackets. Raises GraphError where it is none."""
    if not is_iri(text):
        raise GraphError(
            f"{text!a} isn't an IRI; expected one such as http://example.org/a, without "
            "spaces, quotes, brackets or backslashes"
        )
    return f"<{text}>"


def is_address(value: str) -> bool:
    """Whether a binding is meant as an address."""
    return len(value) > 2 and value.startswith("<") and value.endswith(">")


def term(value: str) -> str:
    """What a binding stands for: `<http://…>` is an address, all else a text. GraphError."""
    return iri(value[1:-1]) if is_address(value) else literal(value)


def values(variable: str, terms: Iterable[str]) -> str:
    """A VALUES block for one variable; the terms come from `literal` and `iri`."""
    return f"VALUES ?{variable} {{ {' '.join(terms)} }}"


class _Token(NamedTuple):
    kind: str
    text: str


def _tokens(sparql: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(sparql):
        yield _Token(match.lastgroup or "mark", match[0])


def first_word(sparql: str) -> str:
    """The first keyword behind the prefixes, in capitals; "" where there is none."""
    words = (t.text.upper() for t in _tokens(sparql) if t.kind == "word")
    return next((word for word in words if word not in ("PREFIX", "BASE")), "")


def check_reading(sparql: str) -> None:
    """Raises GraphError for what is no SELECT or ASK: updates, and queries that make triples."""
    first = first_word(sparql)
    if first in UPDATES:
        raise GraphError(f"{first} changes a graph; an endpoint is only read, with SELECT or ASK")
    if first in ("CONSTRUCT", "DESCRIBE"):
        raise GraphError(f"an endpoint is asked with SELECT or ASK; write {first} as a SELECT")
    if first not in ("SELECT", "ASK"):
        found = f"begins with {first}" if first else "has no keyword"
        raise GraphError(f"the query {found}; expected SELECT or ASK, after its prefixes")


def bound(sparql: str, bindings: Mapping[str, str]) -> tuple[str, Row]:
    """The query with values for variables, and what is to be added to each of its rows.

    `Queried.query` says how values are written. A selected variable stays in the rows; with
    SELECT * all stay, and are added. Raises GraphError for a value that is none, a variable that
    the query does not have, and one that stands where no value can: after AS, in BOUND(…), before
    the values of VALUES.
    """
    wanted = {_variable(name): term(value) for name, value in bindings.items()}
    if not wanted:
        return sparql, {}
    place = _Place()
    out, seen = [], set[str]()
    for token in _tokens(sparql):
        name = token.text[1:]
        if token.kind == "variable" and name in wanted:
            out.append(f" {place.written(name, wanted[name])} ")
            seen.add(name)
        else:
            if token.kind == "iri":
                _check_address(token.text, wanted)
            out.append(token.text)
        place.after(token)
    if absent := sorted(wanted.keys() - seen):
        raise GraphError(f"the query has no variable ?{absent[0]}; leave its value away or fix it")
    marks = [t.text.upper() for t in _tokens(sparql) if t.kind in ("word", "mark")]
    behind = iter(marks[marks.index("SELECT") + 1 :] if "SELECT" in marks else ())
    selects_all = next((m for m in behind if m not in ("DISTINCT", "REDUCED")), "") == "*"
    fixed: Row = {
        _variable(name): value[1:-1] if is_address(value) else value
        for name, value in bindings.items()
    }
    return "".join(out), fixed if selects_all else {}


def _variable(name: str) -> str:
    bare = name[1:] if name[:1] in ("?", "$") else name
    if not re.fullmatch(_NAME, bare):
        raise GraphError(f"{name!a} is no variable; expected letters, digits and underscores")
    return bare


def _check_address(text: str, wanted: Mapping[str, str]) -> None:
    """`?a<?b&&?c>?d` reads as an address; whoever wrote it meant to compare."""
    if re.match(r"<[A-Za-z][A-Za-z0-9+.-]*:", text):
        return
    for name in re.findall(rf"[?$]({_NAME})", text):
        if name in wanted:
            raise GraphError(f"{text} reads as an address; put spaces around the < before ?{name}")


class _Place:
    """Where in a query the next token stands: in which clause, in how many parentheses."""

    def __init__(self) -> None:
        self._clause, self._depth = "", 0
        self._outer: list[tuple[str, int]] = []
        self._last = self._before = ""

    def written(self, name: str, value: str) -> str:
        """What stands here for a variable of this value. Raises GraphError."""
        if self._clause == "VALUES":
            raise _no_place(name, "before the values of VALUES")
        if self._last == "AS" or (self._last == "(" and self._before == "BOUND"):
            raise _no_place(name, "after AS" if self._last == "AS" else "in BOUND(…)")
        if self._depth or self._clause not in ("SELECT", "GROUP", "ORDER"):
            return value
        return f"({value} AS ?{name})" if self._clause == "SELECT" else f"({value})"

    def after(self, token: _Token) -> None:
        """Go on behind a token."""
        if token.kind == "space":
            return
        word = token.text.upper() if token.kind in ("word", "mark") else ""
        if word == "{":
            if not self._depth:
                self._clause = ""
            self._outer.append((self._clause, self._depth))
            self._clause, self._depth = "", 0
        elif word == "}" and self._outer:
            self._clause, self._depth = self._outer.pop()
        elif word in ("(", ")"):
            self._depth = max(0, self._depth + (1 if word == "(" else -1))
        elif not self._depth and word in ("SELECT", "GROUP", "ORDER", "VALUES"):
            self._clause = word
        elif not self._depth and word in _CLAUSE_ENDS:
            self._clause = ""
        self._before, self._last = self._last, word


def _no_place(name: str, where: str) -> GraphError:
    return GraphError(
        f"?{name} stands {where}, where no value can; leave its value away or use another variable"
    )
