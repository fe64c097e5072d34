"""`trueground annotate import`: filled files → labels, and tasks for a third annotator."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import chain, count
from pathlib import Path

import msgspec

from trueground.annotation.answers import Answers, Name
from trueground.annotation.base import Label
from trueground.annotation.export import check_free, content_of, write_all
from trueground.annotation.given import Given
from trueground.annotation.merging import Merged, Tie
from trueground.errors import OutputError, UsageError

THIRD = "third"


class Person(msgspec.Struct):
    """One annotator: tasks done and not done, and the seconds of a task (median of those told)."""

    done: int
    unfinished: int
    seconds: float | None


class Imported(msgspec.Struct):
    """What was imported.

    Of the `tasks` that have answers, `agreed` are those in which all fields are, `majority` those
    that needed one, or a mean of grades, `single` have one answer only, `disputed` a field without
    a majority: of these `tied` were decided by the tie rule, `open` have a field that is not
    decided, and `dropped` were left out. `third` is how many were written for a third annotator.
    """

    tasks: int
    unanswered: int
    agreed: int
    majority: int
    single: int
    disputed: int
    tied: int
    open: int
    dropped: int
    tie: str
    labels: str
    third: int
    third_file: str | None
    annotators: dict[str, Person]
    edited: list[str]


def write_labels(
    answers: Answers, merged: Mapping[Name, Merged], tie: Tie, out: Path, third: Path | None
) -> Imported:
    """Write the labels, and the disputed tasks to `third`. Raises UsageError, WriteError."""
    labels = [each.label for each in merged.values() if not (tie == "drop" and each.disputed)]
    again = [
        answers.given[name]
        for name, each in merged.items()
        if each.disputed and each.label.annotators < 3
    ]
    contents = {out: b"".join(msgspec.json.encode(label) + b"\n" for label in labels)}
    if third is not None and again:
        contents[third] = _third(third, again, answers)
    write_all(contents)
    return _summary(answers, merged, tie, out, third if third and again else None, len(again))


def people(answers: Answers, kind: str | None = None) -> dict[str, Person]:
    """Every annotator of a kind of task, or of all, with what was done and how long it took."""
    done: dict[str, list[float | None]] = {who: [] for who in answers.annotators}
    left = dict.fromkeys(answers.annotators, 0)
    for (of, _), task in answers.tasks.items():
        for answer in task if kind in (None, of) else ():
            done[answer.annotator].append(answer.seconds)
    for (who, of), count_ in answers.unfinished.items():
        left[who] += count_ if kind in (None, of) else 0
    return {
        who: Person(len(all_), left[who], median(all_))
        for who, all_ in done.items()
        if all_ or left[who]
    }


def median(seconds: Sequence[float | None]) -> float | None:
    """The median of those that are known."""
    known = [each for each in seconds if each is not None]
    return statistics.median(known) if known else None


def check_out(paths: Sequence[Path], out: Path, third: Path | None, overwrite: bool) -> None:
    """No answers are written over, nor files that are there. Raises OutputError, UsageError."""
    outs = [out] if third is None else [out, third]
    for path in outs:
        if any(path.absolute() == given.absolute() for given in paths):
            raise OutputError(f"{path} is one of the files to read; choose another name")
    if third is not None and third.absolute() == out.absolute():
        raise UsageError(f"--out and --third both name {out}; give each its own file")
    check_free(outs, overwrite)


def _third(path: Path, tasks: Sequence[Given], answers: Answers) -> bytes:
    names = chain([THIRD], (f"{THIRD}-{number}" for number in count(2)))
    who = next(name for name in names if name not in answers.annotators)
    if path.suffix.lower() != ".csv":
        if any(task.shown is None for task in tasks):
            raise UsageError(
                "the answers came as spreadsheets, of which no JSON lines can be made; name "
                f"--third {path.with_suffix('.csv')}, or import the .jsonl files as well"
            )
    elif len(kinds := {task.kind.name for task in tasks}) > 1:
        raise UsageError(
            f"a spreadsheet holds one kind of task, and these are {', '.join(sorted(kinds))}; name "
            f"--third {path.with_suffix('.jsonl')}, or import each kind by itself"
        )
    return content_of(path, [(task, who) for task in tasks])


def _summary(
    answers: Answers,
    merged: Mapping[Name, Merged],
    tie: Tie,
    out: Path,
    third: Path | None,
    again: int,
) -> Imported:
    all_ = list(merged.values())
    disputed = [each.label for each in all_ if each.disputed]
    fine = [each.label for each in all_ if not each.disputed]
    single = sum(label.annotators == 1 for label in fine)
    majority = sum(not {"majority", "mean"}.isdisjoint(label.how.values()) for label in fine)
    dropped = len(disputed) if tie == "drop" else 0
    open_ = 0 if dropped else sum(_is_open(label) for label in disputed)
    return Imported(
        tasks=len(all_),
        unanswered=len(answers.given) - len(all_),
        agreed=len(fine) - single - majority,
        majority=majority,
        single=single,
        disputed=len(disputed),
        tied=len(disputed) - open_ - dropped,
        open=open_,
        dropped=dropped,
        tie=tie,
        labels=str(out),
        third=again if third is not None else 0,
        third_file=None if third is None else str(third),
        annotators=people(answers),
        edited=answers.edited[:20],
    )


def _is_open(label: Label) -> bool:
    return "open" in label.how.values()
