"""The settings of a labeling project, and its tasks as they are stored."""

from __future__ import annotations

import secrets
from typing import Any, Literal

import msgspec
import sqlalchemy as sql
from sqlalchemy import Connection, Row

from trueground.errors import InputError
from trueground.labels import LabelDraw
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.kinds import KINDS, AnnotationTask, TaskKind
from trueground.wings.labeling.web.database import read_meta, write_meta
from trueground.wings.labeling.web.schema import tasks

Order = Literal["random", "worst"]
_OVERLAP, _ORDER = 2, "random"


class Project(msgspec.Struct, frozen=True):
    """A project: `overlap` people do each task, in this order; `id` is a random word of its own."""

    id: str
    title: str
    overlap: int
    order: Order
    seed: int


def settle_project(
    connection: Connection,
    *,
    title: str | None,
    overlap: int | None,
    order: str | None,
    seed: int,
) -> Project:
    """The project as it is from now on; what is None stays as it was."""
    known = read_meta(connection)
    chosen: dict[str, str] = {
        "id": known.get("id") or secrets.token_urlsafe(9),
        "title": title or known.get("title") or "Labels",
        "overlap": str(overlap or known.get("overlap") or _OVERLAP),
        "order": order or known.get("order") or _ORDER,
        "seed": known.get("seed") or str(seed),
    }
    write_meta(connection, chosen)
    return msgspec.convert(chosen, Project, strict=False)


def describe_kinds(connection: Connection) -> list[dict[str, Any]]:
    """The kinds of the project's tasks, as they are declared."""
    named = ("name", "doc", "instructions", "shows", "optional", "fields")
    names = connection.scalars(sql.select(tasks.c.kind).distinct())
    kinds = [msgspec.to_builtins(find_kind(name)) for name in sorted(names)]
    return [{name: kind[name] for name in named} for kind in kinds]


def find_kind(name: str) -> TaskKind:
    """The kind of a stored task. InputError: one of another version of trueground."""
    if name not in KINDS:
        raise InputError(f"this version has no kind of task {name!r}, which the project has")
    return KINDS[name]


def read_task(row: Row[Any]) -> ShownTask:
    """A stored task as annotators get it."""
    drawn = None if row.drawn is None else msgspec.json.decode(row.drawn, type=LabelDraw)
    shown = msgspec.json.decode(row.shown, type=dict[str, Any])
    task = AnnotationTask(row.kind, row.id, shown, drawn)
    return ShownTask.of(task, find_kind(row.kind), f"task {row.number}")


def decode(text: str) -> Any:
    """What stands in a column of JSON text."""
    return msgspec.json.decode(text)


def encode(value: Any) -> str:
    """A value for a column of JSON text."""
    return msgspec.json.encode(value).decode()
