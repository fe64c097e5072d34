"""What annotators filled in: typed → values, checked; several people's answers → labels."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError, OutputError, UsageError
from trueground.records import describe, shorten
from trueground.wings.labeling.base import BadAnswer, Label
from trueground.wings.labeling.export import check_free, write_all
from trueground.wings.labeling.files import FilledTask, ShownTask, format_tasks, read_filled
from trueground.wings.labeling.kinds import Tie

_SHOWN = 10
_LONGEST = 86_400.0  # seconds; who needs more has left the file open
TaskName = tuple[str, str]  # kind and id of a task


@dataclass(frozen=True, slots=True)
class Answer:
    """What one annotator said of one task. `values` has the fields that were asked and answered."""

    task: ShownTask
    annotator: str
    values: Mapping[str, Any]
    seconds: float | None
    comment: str
    place: str


class Annotator(msgspec.Struct):
    """One annotator: tasks done and not done, and the seconds of a task (median of those told)."""

    done: int
    unfinished: int
    seconds: float | None


@dataclass(slots=True)
class Answers:
    """All answers by task, those of a task in the order of the files.

    `shown` are all tasks, `unfinished` counts by annotator and kind those of which nothing is
    filled in. `edited` are the places where the text that was shown is no longer what was exported.
    """

    tasks: dict[TaskName, list[Answer]] = field(default_factory=dict)
    shown: dict[TaskName, ShownTask] = field(default_factory=dict)
    annotators: list[str] = field(default_factory=list)
    unfinished: dict[tuple[str, str], int] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)

    def add(self, filled: FilledTask, allow_edited: bool) -> None:
        """Put one line or row where it belongs. InputError: what is wrong with it."""
        task, place = filled.task, f"{filled.place} (task {filled.task.id!r})"
        check = filled.line.check
        if not check:
            raise InputError(
                f"{place}: `check` is missing; keep the columns of the export unchanged"
            )
        if check.partition("-")[0] != task.check.partition("-")[0]:
            raise InputError(
                f"{place}: no task of this id and kind was exported with the check "
                f"{shorten(check)!r}; take the id from the exported file"
            )
        if check != task.check:
            self.edited.append(place)
            if not allow_edited:
                raise InputError(
                    f"{place}: what was shown is not what was exported; the labels would refer to "
                    "another text. Copy the text from the exported file, or pass --allow-edited"
                )
        answer = _parse_answer(filled, place)
        name, who = (task.kind.name, task.id), answer.annotator
        known = self.shown.setdefault(name, task)
        if known.check != task.check and not allow_edited:
            raise InputError(f"{place}: shows another text than another file does under this id")
        if any(known.cells[text] != task.cells[text] for text in task.kind.marked_texts):
            raise InputError(
                f"{place}: {', '.join(task.kind.marked_texts)} differs from the text in "
                "another file, so marks would be misplaced; copy it from the exported file"
            )
        if known.shown is None and task.shown is not None:
            self.shown[name] = task
        if who not in self.annotators:
            self.annotators.append(who)
        if not answer.values:
            self.unfinished[who, name[0]] = self.unfinished.get((who, name[0]), 0) + 1
            return
        others = self.tasks.setdefault(name, [])
        same = next((other for other in others if other.annotator == who), None)
        if same is None:
            others.append(answer)
        elif same.values != answer.values:  # the same answer twice counts once
            raise InputError(
                f"{place}: annotator {who!r} has another answer in {same.place}; keep one of "
                "them, or use another name for the second person"
            )

    def count_work(self, kind: str | None = None) -> dict[str, Annotator]:
        """Every annotator of a kind of task, or of all, with what was done and how long it took."""
        done: dict[str, list[float | None]] = {who: [] for who in self.annotators}
        left = dict.fromkeys(self.annotators, 0)
        for (of, _), answers in self.tasks.items():
            for answer in answers if kind in (None, of) else ():
                done[answer.annotator].append(answer.seconds)
        for (who, of), count in self.unfinished.items():
            left[who] += count if kind in (None, of) else 0
        return {
            who: Annotator(len(seconds), left[who], compute_median(seconds))
            for who, seconds in done.items()
            if seconds or left[who]
        }


def read_answers(paths: Sequence[Path], *, allow_edited: bool = False) -> Answers:
    """The answers in files of `annotate export`: JSON lines, or CSV where the name ends so.

    InputError tells the first wrong answers of all files, and how many there are. With
    `allow_edited` a text that was changed after the export is no mistake.
    """
    if double := next((path for path in paths if list(paths).count(path) > 1), None):
        raise InputError(f"{double} is listed twice; list each file once")
    found, problems = Answers(), list[str]()
    for path in paths:
        for filled in read_filled(path, problems.append):
            try:
                found.add(filled, allow_edited)
            except InputError as error:
                problems.append(str(error))
    if problems:
        rest = len(problems) - _SHOWN
        told = [*problems[:_SHOWN], *([f"… and {rest:,} more"] if rest > 0 else ())]
        noun = "answer is" if len(problems) == 1 else "answers are"
        raise InputError(
            "\n".join([*told, f"{len(problems):,} {noun} wrong; nothing was written. Fix them."])
        )
    if not found.shown:
        raise InputError(f"{', '.join(map(str, paths))}: no tasks; export some first")
    if not found.tasks:
        raise InputError(
            f"{', '.join(map(str, paths))}: no task is filled in yet ({len(found.shown):,} to do); "
            "fill in `answer` in JSON lines, or the empty cells of a sheet"
        )
    return found


def parse_values(
    task: ShownTask, answer: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields that are filled in, and for each that is wrong what was found and expected.

    Values are as `Field` has them. Where nothing is filled in, both are empty.
    """
    values, wrong = dict[str, Any](), dict[str, str]()
    for each in task.kind.fields:
        try:
            value = each.parse(task.options(each), answer.get(each.name), task.text(each))
        except BadAnswer as error:
            wrong[each.name] = str(error)
        else:
            if value is not None:
                values[each.name] = value
    for each in task.kind.fields if values and not wrong else ():
        if each.name in values and not each.is_asked(values):
            other, value = each.when or ("", "")
            wrong[each.name] = (
                f"filled in, but this field applies only if {other} is {value}; leave it empty"
            )
        elif each.name not in values and each.needed and each.is_asked(values):
            expected = each.describe_expected(task.options(each))
            wrong[each.name] = f"not filled in; expected {expected}"
    return values, wrong


def parse_seconds(raw: Any) -> float | None:
    """The seconds that a task took; None where nobody counted them. BadAnswer."""
    if raw is None or (isinstance(raw, str) and not raw.strip()):
        return None
    try:
        if isinstance(raw, bool):
            raise ValueError
        seconds = float(raw.strip().replace(",", ".") if isinstance(raw, str) else raw)
    except (TypeError, ValueError, OverflowError):
        raise BadAnswer(raw, "a number of seconds, such as 42") from None
    if not 0 <= seconds <= _LONGEST:  # NaN, too
        raise BadAnswer(raw, f"seconds between 0 and {_LONGEST:,.0f} (a day)")
    return seconds


def compute_median(seconds: Iterable[float | None]) -> float | None:
    known = [each for each in seconds if each is not None]
    return statistics.median(known) if known else None


def _parse_answer(filled: FilledTask, place: str) -> Answer:
    """The answer, without values where nothing is filled in. InputError with all that is wrong."""
    task, line, who = filled.task, filled.line, filled.line.annotator
    name = str(who).strip() if isinstance(who, str | int) and not isinstance(who, bool) else ""
    if not name:
        raise InputError(f"{place}: annotator is {describe(who)}; expected a name or a number")
    values, unfit = parse_values(task, line.answer)
    wrong, seconds = [f"{place}, {name}: {words}" for name, words in unfit.items()], None
    if values or wrong:
        try:
            seconds = parse_seconds(line.seconds)
        except BadAnswer as error:
            wrong.append(f"{place}, seconds: {error}")
    if wrong:
        raise InputError("\n".join(wrong))
    comment = line.comment.strip() if isinstance(line.comment, str) else ""
    return Answer(task, name, values, seconds, comment, place)


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
    for each in task.kind.fields:
        # Where it is open whether a field is asked, its value is as well.
        votes = [a.values[each.name] for a in answers if each.name in a.values]
        if not votes or not each.is_asked(label.values):
            continue
        value, label.how[each.name] = each.merge(task.options(each), votes, tie, task.text(each))
        if value is not None:
            label.values[each.name] = list(value) if isinstance(value, tuple) else value
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
                "the answers are spreadsheets, which can't be written as JSON lines; name "
                f"--third {path.with_suffix('.csv')}, or import the .jsonl files as well"
            )
    elif len(kinds := {task.kind.name for task in tasks}) > 1:
        raise UsageError(
            f"a spreadsheet has one kind of task, but there are {', '.join(sorted(kinds))}; name "
            f"--third {path.with_suffix('.jsonl')}, or import each kind by itself"
        )
    names = itertools.chain([THIRD], (f"{THIRD}-{number}" for number in itertools.count(2)))
    return format_tasks(path, tasks, next(name for name in names if name not in taken))
