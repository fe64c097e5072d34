"""JSON objects in replies of models, and the JSON schemas that describe them.

Nothing that a model replies is trusted: only an object of the requested kind is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from math import isfinite
from typing import Any, TypeVar

import msgspec

from trueground.records import shorten
from trueground.wings.papers.builders.base import Rejected

T = TypeVar("T", bound=msgspec.Struct)
# Bounds on the work of looking for an object in what may be anything.
_FENCE, _MAX_FENCES = "```", 20
_MAX_STARTS = 20_000  # braces at which an object is looked for
_MAX_READ = 1 << 19  # characters, of what turned out to be no object
_NESTED_CHARS = 1 << 12  # what a nest too deep to be read counts as
_MAX_CHARS = 1 << 20  # characters; no object that is asked for comes near
_MAX_NUMBER = 2**63 - 1  # what files and other readers take


@cache
def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON schema of a Struct, strict as endpoints want it: all fields, and no others."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = schema["$ref"].rpartition("/")[2]
    strict = {key: _strict(part) for key, part in parts.items()}
    whole = strict.pop(name)
    return whole | ({"$defs": strict} if strict else {})


def _strict(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") != "object" or "properties" not in part:
        return part
    fields = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in part["properties"].items()
    }
    return part | {"properties": fields, "required": list(fields), "additionalProperties": False}


# Error messages show the names of these classes as the types of values.
class SeveralValues:
    """The value of a name that stands twice in an object."""


class NoFiniteNumber:
    """NaN, an infinity, or a number too large for any file."""


def read_object(reply: str, kind: type[T]) -> T:
    """The one JSON object of this kind in a reply; prose and fences around it are passed over.

    `kind` is a msgspec Struct; fields that it does not have are left out. The reply as a whole
    comes first, then what stands in fences, then what stands in prose. Where objects of the kind
    differ, nobody knows which one is meant. Raises Rejected.
    """
    if not reply.strip():
        raise Rejected("empty_reply", "the reply is empty")
    if len(reply) > _MAX_CHARS:
        raise Rejected("not_json", f"the reply is {len(reply):,} characters long")
    problem = ""
    for values in (_parsed([reply]), _parsed(_fenced(reply)), _in_prose(reply)):
        made, wrong = _made(values, kind)
        problem = problem or wrong
        if len(made) > 1:
            raise Rejected("wrong_fields", f"{len(made)} different objects; expected one")
        if made:
            return made[0]
    if problem:
        raise Rejected("wrong_fields", problem)
    raise Rejected("not_json", f'found "{shorten(reply.strip(), 120)}"')


def _made(values: Iterable[dict[str, Any]], kind: type[T]) -> tuple[list[T], str]:
    """(the different objects of the kind, what is wrong with the first that is none)."""
    made: list[T] = []
    wrong = ""
    for value in values:
        try:
            found = msgspec.convert(_clean(value), kind)
        except msgspec.ValidationError as error:
            wrong = wrong or str(error)
        except RecursionError:
            wrong = wrong or "the object is nested too deep"
        else:
            if found not in made:
                made.append(found)
    return made, wrong


def _parsed(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The texts that are an object each."""
    for text in texts:
        try:
            value = _decoder().decode(text.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _fenced(reply: str) -> list[str]:
    """What stands between fences, without the word that names the language."""
    inside = reply.split(_FENCE, 2 * _MAX_FENCES)[1::2]
    return [re.sub(r"\A[a-zA-Z]*[ \t]*\n", "", text) for text in inside]


def _in_prose(reply: str) -> Iterator[dict[str, Any]]:
    """The outermost objects anywhere in the reply."""
    end = read = 0
    starts = (match.start() for match in re.finditer(r"\{(?=\s*+[\"}])", reply))
    for _, start in zip(range(_MAX_STARTS), starts, strict=False):
        if read > _MAX_READ:
            return
        if start < end:
            continue
        try:
            value, end = _decoder().raw_decode(reply, start)
        except json.JSONDecodeError as error:
            read += error.pos - start
            continue
        except (ValueError, RecursionError):
            read += _NESTED_CHARS
            continue
        if isinstance(value, dict):
            yield value


def _clean(value: Any) -> Any:
    """The same value without what no file can hold: lone surrogates, NUL characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if isinstance(value, list):
        return [_clean(one) for one in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(one) for name, one in value.items()}
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; the value of a name that stands twice cannot be taken for one."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        made[name] = SeveralValues() if name in made and made[name] != value else value
    return made


def _number(text: str) -> Any:
    value = float(text)
    return value if isfinite(value) else NoFiniteNumber()


def _whole_number(text: str) -> Any:
    value = int(text)
    return value if abs(value) <= _MAX_NUMBER else NoFiniteNumber()


@cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object,
        parse_float=_number,
        parse_int=_whole_number,
        parse_constant=lambda _: NoFiniteNumber(),
        strict=False,  # line ends inside strings are a common slip
    )
