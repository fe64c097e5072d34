"""The items of a finished run that are correct although their F1 is low.

Source: Adlakha et al. 2023, section 4.2 (an F1 of at most 0.3, correct by people's labels).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from trueground.errors import InputError, UsageError
from trueground.records.archives import opened
from trueground.runs.directory import RECORDS
from trueground.studies.reading import FinishedRun, Scores, hashes, open_run, read_scores
from trueground.types import Turn

HUMAN, MODEL, OVERLAP = "human.correct", "llm_correctness", "recall"
_LABEL = "correct"
_HALF = 0.5  # a label above it says that the response is correct


class Kept(msgspec.Struct):
    """What of a record is sorted."""

    id: str
    response: str
    question: str | None = None
    history: list[Turn] | None = None
    references: list[str] | None = None
    human: dict[str, float] | None = None


@dataclass(frozen=True)
class Low:
    """One correct item with a low F1; `correct_by` says who found it correct."""

    record: Kept
    f1: float
    recall: float | None
    correct_by: str


@dataclass(frozen=True)
class Chosen:
    """The items of a run that are to be sorted, out of `n`; `task` is its benchmark, if any."""

    items: list[Low]
    n: int
    task: str | None


def choose(path: Path, max_f1: float) -> Chosen:
    """Read a run. Raises InputError: no finished run, no records, no F1 or recall in it."""
    run = open_run(path)
    keys = [_key(run, name) for name in ("f1", OVERLAP)]
    judged = _key(run, MODEL, needed=False)
    if not run.has_records:
        raise InputError(
            f"{path / RECORDS}: not found, and the error categories are read from the records; "
            "score again without --no-records"
        )
    scores = read_scores(run, [key for key in (*keys, judged) if key])
    items = list(_low(run, scores, max_f1))
    return Chosen(items, len(scores.ids), run.task)


def _key(run: FinishedRun, name: str, needed: bool = True) -> str | None:
    """The metric as the run names it: with that name, or the only one with options behind it.

    None where one that is not needed is not there, or cannot be told from another.
    """
    near = [key for key in run.signatures if key.partition("(")[0] == name]
    if name in near:
        return name
    if len(near) > 1 and needed:
        raise UsageError(
            f"{run.path} has {len(near)} metrics of the name {name}: {', '.join(near)}; score "
            f"again with {name} alone"
        )
    if len(near) == 1 or not needed:
        return near[0] if len(near) == 1 else None
    raise InputError(
        f"{run.path} has no {name}; it has {', '.join(run.signatures) or 'no metrics'}. Score with "
        "--metrics f1,recall (and others), or run the benchmark with them"
    )


def _low(run: FinishedRun, scores: Scores, max_f1: float) -> Iterator[Low]:
    """Records and scores side by side; those that are correct and low come out."""
    place = run.path / RECORDS
    decode = msgspec.json.Decoder(Kept).decode
    row = -1
    with opened(place, ".zst", str(place)) as lines:
        for row, line in enumerate(lines):
            try:
                record = decode(line)
            except msgspec.DecodeError as error:
                raise InputError(
                    f"{place}, line {row + 1}: not a line that this version writes ({error}); run "
                    "again"
                ) from error
            if row >= len(scores.ids) or hashes([record.id])[0] != scores.ids[row]:
                raise _unlike(place)
            values = [None if np.isnan(v) else float(v) for v in scores.values[row]]
            f1, recall = values[:2]
            by = _correct_by(record, recall, values[2:])
            if f1 is not None and f1 <= max_f1 and by and record.references:
                yield Low(record, f1, recall, by)
    if row + 1 != len(scores.ids):
        raise _unlike(place)


def _correct_by(record: Kept, recall: float | None, judged: Sequence[float | None]) -> str | None:
    """Who says that the item is correct; None where the first that can say does not."""
    label = (record.human or {}).get(_LABEL)
    if label is not None:
        return HUMAN if label > _HALF else None
    for found in judged:
        if found is not None:
            return MODEL if found == 1 else None
    return OVERLAP if recall == 1 else None


def _unlike(place: Path) -> InputError:
    return InputError(f"{place}: the ids are not those of the items beside it; run again")
