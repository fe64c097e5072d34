"""A model's reply → a checked object, or why there is none. Nothing a model says is trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from trueground.records.problems import shorten

T = TypeVar("T")
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)  # line ends inside strings are a common slip
_MOST_STARTS = 50  # braces at which an object is looked for
_SHOWN = 120


class Unreadable(Exception):  # noqa: N818 - becomes a reason, never reaches the user
    """No such object in the reply: `reason` as in ask.REASONS, `detail` what was found."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


def read_object(reply: str, kind: type[T]) -> T:
    """The first JSON object of this kind in a reply; prose and fences around it are passed over.

    `kind` is a msgspec Struct; fields that it does not have are left out. Raises Unreadable.
    """
    if not reply.strip():
        raise Unreadable("empty_reply", "the reply is empty")
    problem = ""
    for value in _objects(reply):
        try:
            made = msgspec.convert(_clean(value), kind)
        except msgspec.ValidationError as error:
            problem = problem or str(error)
            continue
        return made
    if problem:
        raise Unreadable("wrong_fields", problem)
    raise Unreadable("not_json", f'found "{shorten(reply.strip(), _SHOWN)}"')


def _objects(reply: str) -> Iterator[dict[str, Any]]:
    """All JSON objects of a reply: the whole, those in fences, those that stand in prose."""
    for text in (reply, *_FENCE.findall(reply)):
        try:
            value = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
    starts = (match.start() for match in re.finditer(r"\{", reply))
    end = 0
    for _, start in zip(range(_MOST_STARTS), starts, strict=False):
        if start < end:
            continue
        try:
            value, end = _DECODER.raw_decode(reply, start)
        except (ValueError, RecursionError):
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
        return {str(_clean(name)): _clean(one) for name, one in value.items()}
    return value
