"""Labels of people that came after a build, beside what stands in its dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from trueground.annotation.base import Label, Task
from trueground.annotation.labels import read_labels
from trueground.builders.directory import ANNOTATE
from trueground.errors import InputError

# What people say of an item that is in the dataset by right: (kind of task, field) → value.
_STANDS: Mapping[tuple[str, str], str] = {
    ("validity", "if"): "yes",
    ("validity", "only_if"): "yes",
    ("candidate", "keep"): "yes",
    ("revision", "right"): "yes",
    ("quality", "authenticity"): "yes",
}
# A field with more different values than this holds texts: their number is told, not they.
_MOST_VALUES = 12


def people(folder: Path, labels: Path) -> dict[str, Any]:
    """What merged labels say of the tasks of a build.

    {"file", "unknown": labels of other tasks, "kinds": [{"kind", "tasks", "labelled", "fields":
    [{"field", "decided", "values", "how", "confirmed"}]}]}; `confirmed` counts the labels that are
    as the dataset has it, None where no label can be. Raises InputError: labels that cannot be
    read, a build without tasks, labels of other tasks only.
    """
    files = sorted((folder / ANNOTATE).glob("*.jsonl"))
    if not files:
        raise InputError(f"{folder} has no tasks in {ANNOTATE}/, so that no label can belong to it")
    kinds, unknown = [], 0
    for file in files:
        tasks = _task_ids(file)
        found = read_labels(labels, file.stem)
        mine = {id_: label for id_, label in found.items() if id_ in tasks}
        unknown += len(found) - len(mine)
        if mine:
            kinds.append(_account(file.stem, len(tasks), mine))
    if not kinds:
        raise InputError(
            f"{labels}: no label is of a task of {folder}; expected ids that stand in "
            f"{folder / ANNOTATE}, merged by `trueground annotate import`"
        )
    return {"file": labels.name, "unknown": unknown, "kinds": kinds}


def _task_ids(file: Path) -> set[str]:
    try:
        tasks = msgspec.json.Decoder(Task).decode_lines(file.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}; run the build again") from None
    return {task.id for task in tasks}


def _account(kind: str, tasks: int, labels: Mapping[str, Label]) -> dict[str, Any]:
    fields = sorted({name for one in labels.values() for name in (*one.values, *one.how)})
    return {
        "kind": kind,
        "tasks": tasks,
        "labelled": len(labels),
        "fields": [_field(kind, name, labels.values()) for name in fields],
    }


def _field(kind: str, name: str, labels: Iterable[Label]) -> dict[str, Any]:
    labels = list(labels)
    values = Counter(_said(one.values[name]) for one in labels if name in one.values)
    few = len(values) <= _MOST_VALUES
    stands = _STANDS.get((kind, name))
    return {
        "field": name,
        "decided": values.total(),
        "values": dict(sorted(values.items())) if few else {"different answers": len(values)},
        "how": dict(sorted(Counter(o.how[name] for o in labels if name in o.how).items())),
        "confirmed": None if stands is None else values[stands],
    }


def _said(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
