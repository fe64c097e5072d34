"""`trueground annotate import`: several people's answers → labels, and tasks for a third."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

import msgspec

from trueground.annotation.answers import Annotator, Answer, Answers
from trueground.annotation.base import Label
from trueground.annotation.export import check_free, write_all
from trueground.annotation.fields import Tie
from trueground.annotation.files import ShownTask, format_tasks
from trueground.errors import OutputError, UsageError

THIRD = "third"


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
    annotators: dict[str, Annotator]
    edited: list[str]


def merge(answers: Sequence[Answer], tie: Tie = "open") -> Label:
    """The label of one task. `answers`, at least one, each of another annotator, in a fixed order.

    A value holds that more than half of those give who answered the field; of several values
    (`choices`) each is voted on by itself. Where no value does, the tie rule decides: `open` leaves
    the field out (of spans, only the words that are tied), `first` takes the first annotator's
    value, `lowest` the least of the values with most votes (no before yes; of a list of options the
    later is the lower one; of several values those without a majority go), and where there is no
    order leaves it open. `drop` is `open`, for the caller to leave the task out. Texts are united,
    of a single text the first is taken, of grades on a scale the mean; none of these is ever
    disputed.
    """
    task = answers[0].task
    label = Label(task.kind.name, task.id, {}, {}, len(answers), task.drawn)
    for field in task.kind.fields:
        # Where it is open whether a field is asked, its value is as well.
        votes = [a.values[field.name] for a in answers if field.name in a.values]
        if not votes or not field.is_asked(label.values):
            continue
        value, label.how[field.name] = field.merge(
            task.options(field), votes, tie, task.text(field)
        )
        if value is not None:
            label.values[field.name] = list(value) if isinstance(value, tuple) else value
    return label


def check_out(paths: Sequence[Path], out: Path, third: Path | None, overwrite: bool) -> None:
    """No answers are written over, nor files that are there. Raises OutputError, UsageError."""
    outs = [out] if third is None else [out, third]
    for path in outs:
        if any(path.absolute() == read.absolute() for read in paths):
            raise OutputError(f"{path} is one of the files to read; choose another name")
    if third is not None and third.absolute() == out.absolute():
        raise UsageError(f"--out and --third both name {out}; give each its own file")
    check_free(outs, overwrite)


def write_labels(
    answers: Answers, labels: Sequence[Label], tie: Tie, out: Path, third: Path | None
) -> Imported:
    """Write the labels, and the disputed tasks to `third`. Raises UsageError, WriteError."""
    disputed = [label for label in labels if label.disputed]
    fine = [label for label in labels if not label.disputed]
    dropped = len(disputed) if tie == "drop" else 0
    written = fine if dropped else labels
    contents = {out: b"".join(msgspec.json.encode(label) + b"\n" for label in written)}
    again = [answers.shown[one.kind, one.id] for one in disputed if one.annotators < 3]
    if third is not None and again:
        contents[third] = _format_third(third, again, answers.annotators)
    write_all(contents)
    single = sum(label.annotators == 1 for label in fine)
    majority = sum(not {"majority", "mean"}.isdisjoint(label.how.values()) for label in fine)
    open_ = 0 if dropped else sum("open" in label.how.values() for label in disputed)
    return Imported(
        tasks=len(labels),
        unanswered=len(answers.shown) - len(labels),
        agreed=len(fine) - single - majority,
        majority=majority,
        single=single,
        disputed=len(disputed),
        tied=len(disputed) - open_ - dropped,
        open=open_,
        dropped=dropped,
        tie=tie,
        labels=str(out),
        third=len(again) if third in contents else 0,
        third_file=str(third) if third in contents else None,
        annotators=answers.count_work(),
        edited=answers.edited[:20],
    )


def _format_third(path: Path, tasks: Sequence[ShownTask], taken: Sequence[str]) -> bytes:
    """The file of tasks for one more annotator, whose name nobody has. UsageError."""
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
    names = chain([THIRD], (f"{THIRD}-{number}" for number in count(2)))
    return format_tasks(path, tasks, next(name for name in names if name not in taken))
