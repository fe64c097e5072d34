"""Replies of SPARQL endpoints: rows of terms (SPARQL 1.1 Query Results JSON Format)."""

from __future__ import annotations

import re

import msgspec

from trueground.graph.base import Row
from trueground.net.failures import HttpReply, UnusableError, readable, status_error

ACCEPT = "application/sparql-results+json, application/json;q=0.5"
_TAG = re.compile(r"(?s)<(script|style)\b.*?</\1>|<[^<>]+>")
# What an engine that gave up says, at times in the middle of a reply with status 200.
_GAVE_UP = re.compile(r"\b\w*(?:Timeout|Interrupted|Cancelled)Exception\b|(?i:query timeout)")
_COMPLAINT = re.compile(r"\b\w*(?:Malformed|Parse|Timeout|Syntax)\w*(?:Exception|Error)\b.*")
_PARTIAL = "S1TAT"  # what Virtuoso says in a header when it stopped early
_SHOWN = 300
GAVE_UP = "the endpoint gave up"


class SparqlTerm(msgspec.Struct, frozen=True):
    """An address ("uri"), a text ("literal", in old replies "typed-literal") or a "bnode"."""

    type: str
    value: str
    lang: str = msgspec.field(default="", name="xml:lang")
    datatype: str = ""

    @property
    def is_address(self) -> bool:
        """Whether it names something; blank nodes do not."""
        return self.type == "uri"


Solution = dict[str, SparqlTerm]


class _SparqlHead(msgspec.Struct):
    vars: list[str] = []


class _SparqlBody(msgspec.Struct):
    bindings: list[Solution]


class SparqlResults(msgspec.Struct):
    """The rows of a SELECT, or the answer of an ASK."""

    head: _SparqlHead
    results: _SparqlBody | None = None
    boolean: bool | None = None

    @property
    def solutions(self) -> list[Solution]:
        """The rows; of an ASK none."""
        return self.results.bindings if self.results is not None else []

    def rows(self) -> list[Row]:
        """As `Queried.query` gives them: the text of each term, None where there is none."""
        if self.boolean is not None:
            return [{"ask": "true" if self.boolean else "false"}]
        names = self.head.vars
        return [{name: _text(solution.get(name)) for name in names} for solution in self.solutions]


def _text(term: SparqlTerm | None) -> str | None:
    if term is None:
        return None
    return f"_:{term.value}" if term.type == "bnode" else term.value


def read_results(reply: HttpReply) -> tuple[bytes, SparqlResults]:
    """The body and what it holds. Raises HttpError, retryable where another attempt may help."""
    body = reply.utf8()
    words = words_of(body)
    if not 200 <= reply.status < 300:
        # What took too long takes as long again, and an endpoint counts it against the client.
        if reply.status == 500 and _gave_up(body):
            raise _useless(reply, f"{GAVE_UP}: {words}")
        raise status_error(reply, words)
    if reply.headers.get("X-SQL-State") == _PARTIAL:
        raise _useless(reply, f"{GAVE_UP} and sent a part of the rows only")
    try:
        return body, decode(body)
    except msgspec.ValidationError as error:
        raise _useless(reply, f"the reply is JSON, and no SPARQL results: {error}") from None
    except RecursionError:
        raise _useless(reply, "the reply is JSON, nested too deeply to be read") from None
    except msgspec.DecodeError:
        if _gave_up(body):
            raise _useless(reply, f"{GAVE_UP} midway") from None
        kind = reply.headers.get("Content-Type", "no content type")
        reason = f"HTTP {reply.status}: the reply is not whole JSON ({kind}): {words}"
        raise UnusableError(reason, status=reply.status) from None


def _useless(reply: HttpReply, reason: str) -> UnusableError:
    return UnusableError(reason, status=reply.status, retryable=False)


def decode(body: bytes) -> SparqlResults:
    """Raises msgspec.DecodeError; ValidationError where it is JSON of another shape."""
    found = msgspec.json.decode(body, type=SparqlResults)
    if found.results is None and found.boolean is None:
        raise msgspec.ValidationError('expected "results" or "boolean"')
    return found


def _gave_up(body: bytes) -> bool:
    """Whether the engine ran out of time; traces of the Java engines end with it."""
    ends = body[:20_000] + b"\n" + body[-20_000:]
    return bool(_GAVE_UP.search(ends.decode("utf-8", "replace")))


def words_of(body: bytes) -> str:
    """What an endpoint complains of, on one line, without its page around it and shortened."""
    text = body[:50_000].decode("utf-8", "replace")
    if re.match(r"(?i)\s*(<!doctype|<html|<\?xml)", text):
        text = _TAG.sub(" ", text)
    elif complaint := _COMPLAINT.search(text):  # behind the query and a list of calls
        text = complaint[0]
    return readable(text.encode(), _SHOWN).rstrip(".")
