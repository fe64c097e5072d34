"""JSON objects in replies of models, and the JSON schemas that describe them.

Replies aren't trusted: only an object of the requested type is accepted.
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
# These limits bound the work of searching an arbitrary reply for an object.
_FENCE, _MAX_FENCES = "```", 20
_MAX_STARTS = 20_000  # braces at which an object may begin
_MAX_WASTED_CHARS = 1 << 19  # characters read that turned out to be no object
_NESTED_CHARS = 1 << 12  # characters that an object with too many levels counts as
_MAX_CHARS = 1 << 20  # characters of a reply; valid replies are far shorter
_MAX_NUMBER = 2**63 - 1  # the largest integer that files and other readers support


@cache
def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the strict JSON schema of a Struct: all fields are required, others forbidden."""
    (schema,), types = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    name = schema["$ref"].rpartition("/")[2]
    definitions = {key: _make_strict(part) for key, part in types.items()}
    strict = definitions.pop(name)
    return strict | ({"$defs": definitions} if definitions else {})


def _make_strict(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") != "object" or "properties" not in schema:
        return schema
    fields = {}
    for name, field in schema["properties"].items():
        fields[name] = {key: value for key, value in field.items() if key != "default"}
    return schema | {"properties": fields, "required": list(fields), "additionalProperties": False}


# Error messages show the names of these classes as the types of values.
class SeveralValues:
    """The value of a name that an object has twice."""


class NoFiniteNumber:
    """NaN, an infinity, or a number that is too large for files."""


def read_object(reply: str, kind: type[T]) -> T:
    """Return the JSON object in a reply, ignoring prose and code fences around it.

    The whole reply is tried first, then the text in fences, then objects in prose.

    Args:
        reply: The text of the reply.
        kind: The msgspec Struct of the object. Other fields are ignored.

    Raises:
        Rejected: There is no valid object, or there are several different ones.
    """
    if not reply.strip():
        raise Rejected("empty_reply", "the reply is empty")
    if len(reply) > _MAX_CHARS:
        raise Rejected("not_json", f"the reply is {len(reply):,} characters long")
    problem = ""
    for values in (_parsed([reply]), _parsed(_fenced(reply)), _in_prose(reply)):
        objects, error = _convert(values, kind)
        problem = problem or error
        if len(objects) > 1:
            raise Rejected("wrong_fields", f"{len(objects)} different objects; expected one")
        if objects:
            return objects[0]
    if problem:
        raise Rejected("wrong_fields", problem)
    raise Rejected("not_json", f'found "{shorten(reply.strip(), 120)}"')


def _convert(values: Iterable[dict[str, Any]], kind: type[T]) -> tuple[list[T], str]:
    """Return the different valid objects, and the error of the first invalid one."""
    objects: list[T] = []
    first_error = ""
    for value in values:
        try:
            converted = msgspec.convert(_clean(value), kind)
        except msgspec.ValidationError as error:
            first_error = first_error or str(error)
        except RecursionError:
            first_error = first_error or "the object is nested too deep"
        else:
            if converted not in objects:
                objects.append(converted)
    return objects, first_error


def _parsed(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the texts that are JSON objects."""
    for text in texts:
        try:
            value = _decoder().decode(text.strip())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _fenced(reply: str) -> list[str]:
    """Return the texts in code fences, without the name of the language."""
    inside = reply.split(_FENCE, 2 * _MAX_FENCES)[1::2]
    return [re.sub(r"\A[a-zA-Z]*[ \t]*\n", "", text) for text in inside]


def _in_prose(reply: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost objects anywhere in the reply."""
    end = wasted = 0
    starts = (match.start() for match in re.finditer(r"\{(?=\s*+[\"}])", reply))
    for _, start in zip(range(_MAX_STARTS), starts, strict=False):
        if wasted > _MAX_WASTED_CHARS:
            return
        if start < end:
            continue
        try:
            value, end = _decoder().raw_decode(reply, start)
        except json.JSONDecodeError as error:
            wasted += error.pos - start
            continue
        except (ValueError, RecursionError):
            wasted += _NESTED_CHARS
            continue
        if isinstance(value, dict):
            yield value


def _clean(value: Any) -> Any:
    """Return a value without lone surrogates and NUL characters, which files can't hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(field) for name, field in value.items()}
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, with SeveralValues for a name that has two values."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        is_conflict = name in fields and fields[name] != value
        fields[name] = SeveralValues() if is_conflict else value
    return fields


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
        strict=False,  # models often put line breaks inside strings
    )
