"""Merged labels: what `trueground annotate import` writes and the builders read."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trueground.annotation.base import Label
from trueground.annotation.lines import UNREADABLE, numbered
from trueground.errors import InputError


def read_labels(path: str | Path, kind: str) -> dict[str, Label]:
    """The labels of `kind` in a file of merged labels (JSON lines), by task id.

    Lines of another kind are passed over. InputError, with file and line, where the file cannot
    be read, a line is no label, or two lines are of the same task.
    """
    found: dict[str, Label] = {}
    lines: dict[str, int] = {}
    decoder = msgspec.json.Decoder(Label)
    for number, line in numbered(Path(path)):
        try:
            label = decoder.decode(line)
        except UNREADABLE as error:
            raise InputError(
                f"{path}, line {number}: not a label ({error}); expected a line that "
                "`trueground annotate import` wrote, with kind, id and values"
            ) from None
        if label.kind != kind:
            continue
        if label.id in found:
            raise InputError(
                f"{path}, line {number}: task {label.id!r} already has a label in line "
                f"{lines[label.id]}; each task has one, as `trueground annotate import` writes them"
            )
        found[label.id], lines[label.id] = label, number
    return found
