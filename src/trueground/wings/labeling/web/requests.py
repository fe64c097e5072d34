"""The requests that pages of a project send, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from trueground.errors import InputError
from trueground.records import UNREADABLE
from trueground.wings.labeling.answers import parse_seconds
from trueground.wings.labeling.base import BadAnswer
from trueground.wings.labeling.web.people import Person, Role
from trueground.wings.labeling.web.queue import NotYoursError, Save, WrongValuesError

_LONGEST_COMMENT = 10_000  # characters
_MOST = 2**31 - 1


class BadRequestError(InputError):
    """A request that no page of ours makes."""


class LabelRequest(NamedTuple):
    """A request of somebody who is let in: what they sent, and the parts of its path and query."""

    person: Person
    body: bytes
    path: Mapping[str, str]
    query: Mapping[str, str]

    @property
    def number(self) -> int:
        """The number in the path. NotYoursError: none that anything has."""
        text = self.path["number"]
        if len(text) > 9:
            raise NotYoursError(f"there is no {text[:20]} for you")
        return int(text)

    @property
    def page(self) -> int:
        """The wanted page, from 1. BadRequestError."""
        text = self.query.get("page", "1")
        if not text.isdecimal() or not 1 <= len(text) <= 9 or int(text) < 1:
            raise BadRequestError("invalid page; expected a number from 1")
        return int(text)


class TokenBody(msgspec.Struct):
    """A link's token."""

    token: str


class TaskBody(msgspec.Struct):
    """A task's number."""

    task: int


class InviteBody(msgspec.Struct):
    """Who is to be let in."""

    name: str
    role: Role = "annotator"


class DecisionBody(msgspec.Struct):
    """A lead's decision on a task; without values it is taken back."""

    task: int
    key: str
    values: dict[str, Any] | None
    comment: str = ""


def read_body(body: bytes, kind: Any) -> Any:
    """The JSON that was sent. BadRequestError: it is none, or not what a page of ours sends."""
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as error:
        raise BadRequestError(f"what was sent cannot be read: {error}") from None


def check_task(number: int) -> int:
    """A number that a task may have. NotYoursError."""
    if not 1 <= number <= _MOST:
        raise NotYoursError("there is no such task for you")
    return number


def check_save(sent: Save) -> Save:
    """A label as a page sends it. BadRequestError, NotYoursError, WrongValuesError."""
    if not 8 <= len(sent.key) <= 80 or not sent.key.isascii() or not sent.key.isprintable():
        raise BadRequestError("invalid key; expected 8 to 80 characters, new for every save")
    if len(sent.comment) > _LONGEST_COMMENT:
        words = f"{len(sent.comment):,} characters; expected {_LONGEST_COMMENT:,} at most"
        raise WrongValuesError({"comment": words})
    try:
        seconds = parse_seconds(sent.seconds)
    except BadAnswer as error:
        raise WrongValuesError({"seconds": str(error)}) from None
    comment = sent.comment.replace("\0", "").strip()  # PostgreSQL's texts have no zeros
    check_task(sent.task)
    return msgspec.structs.replace(sent, comment=comment, seconds=seconds)
