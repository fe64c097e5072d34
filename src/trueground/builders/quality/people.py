"""Labels of people that came after a build, beside what stands in its dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from trueground.annotation.base import AnnotationTask
from trueground.annotation.kinds import KINDS
from trueground.annotation.labels import read_labels
from trueground.builders.directory import ANNOTATE
from trueground.builders.quality.labels import tell
from trueground.errors import InputError


def people(folder: Path, labels: Path) -> dict[str, Any]:
    """What merged labels say of the tasks of a build.

    {"file", "unknown": labels of other tasks, "kinds": as labels.tell}. Raises InputError: labels
    that cannot be read, a build without tasks, labels of other tasks only.
    """
    files = {kind: folder / ANNOTATE / f"{kind}.jsonl" for kind in KINDS}
    files = {kind: file for kind, file in files.items() if file.exists()}
    tasks = [task for file in files.values() for task in _tasks(file)]
    if not tasks:
        raise InputError(f"{folder} has no tasks in {ANNOTATE}/, so that no label can belong to it")
    found = {kind: read_labels(labels, kind) for kind in files}
    told = tell(tasks, found, {})
    if not told:
        raise InputError(
            f"{labels}: no label is of a task of {folder}; expected ids that stand in "
            f"{folder / ANNOTATE}, merged by `trueground annotate import`"
        )
    unknown = sum(map(len, found.values())) - sum(one["labelled"] for one in told)
    return {"file": labels.name, "unknown": unknown, "kinds": told}


def _tasks(file: Path) -> list[AnnotationTask]:
    try:
        return msgspec.json.Decoder(AnnotationTask).decode_lines(file.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}; run the build again") from None
