"""What stages made of items, each outcome under the hash of all that it depends on."""

from __future__ import annotations

from collections.abc import Mapping, Set
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from trueground.builders.asking.replies import read_log
from trueground.builders.directory import WORK, made
from trueground.runs.directory import AppendFile

_encode = msgspec.json.Encoder().encode


class Fell(msgspec.Struct, omit_defaults=True):
    """What fell: as `base.Rejected`, with the thing itself."""

    id: str
    reason: str
    detail: str = ""
    made: Any = None


class StageOutcome(msgspec.Struct, omit_defaults=True):
    """What a stage made of one item, under the hash of all that it depends on."""

    key: str
    kept: list[msgspec.Raw] = []
    dropped: list[Fell] = []


class _NamedItem(msgspec.Struct):
    """As much of an item as tells which one it is."""

    id: str


_outcome = msgspec.json.Decoder(StageOutcome).decode
_id = msgspec.json.Decoder(_NamedItem).decode


class WorkLog:
    """The outcomes of one stage as they arrive; the last line under a key counts.

    Outcomes of items, prompts and models that are no longer used stay: who goes back to them pays
    nothing.
    """

    def __init__(self, folder: Path, stage: str) -> None:
        """Opens the log, or begins it; a line that was cut off is left out, and gone."""
        made(folder)
        path = folder / f"{stage}.jsonl"
        self._known: dict[str, StageOutcome] = {}
        size = read_log(path, self._note) if path.exists() else 0
        self._file = AppendFile(path, size)

    def get(self, key: str) -> StageOutcome | None:
        """The outcome under the key; None if there is none."""
        return self._known.get(key)

    def put(self, outcome: StageOutcome) -> None:
        """Keep an outcome. Raises WriteError."""
        self._file.append(_encode(outcome) + b"\n")
        self._known[outcome.key] = outcome

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _note(self, line: bytes, _place: int) -> None:
        outcome = _outcome(line)
        self._known[outcome.key] = outcome


def known_outcomes(path: Path, stage: str) -> Mapping[str, StageOutcome]:
    """What a stage's log holds, without opening it for writing; nothing where there is none."""
    found: dict[str, StageOutcome] = {}

    def note(line: bytes, _place: int) -> None:
        outcome = _outcome(line)
        found[outcome.key] = outcome

    log = path / WORK / f"{stage}.jsonl"
    if log.exists():
        read_log(log, note)
    return found


def lines_of(path: Path, stage: str, ids: Set[str]) -> list[int]:
    """On which lines of a stage's log things with these ids stand, from 1."""
    found = []
    with (path / WORK / f"{stage}.jsonl").open("rb") as file:
        for number, line in enumerate(file, 1):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                if ids & {_id(raw).id for raw in _outcome(line).kept}:
                    found.append(number)
    return found
