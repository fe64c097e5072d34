"""The answers of all files that annotators filled in, checked one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueground.annotation.base import Field
from trueground.annotation.filled import Filled, read_filled
from trueground.annotation.given import Given, name_check
from trueground.annotation.values import BadAnswer, expected, read_seconds, read_value
from trueground.errors import InputError, TruegroundError
from trueground.records.problems import describe, shorten

_SHOWN = 10
Name = tuple[str, str]  # kind and id of a task


@dataclass(frozen=True, slots=True)
class Answer:
    """What one annotator said of one task. `values` has the fields that were asked and answered."""

    given: Given
    annotator: str
    values: Mapping[str, Any]
    seconds: float | None
    comment: str
    place: str


@dataclass(slots=True)
class Answers:
    """All answers by task, those of a task in the order of the files.

    `unfinished` counts, by annotator and kind, the tasks of which nothing is filled in. `edited`
    are the places where the text that was shown is no longer what was exported.
    """

    tasks: dict[Name, list[Answer]] = field(default_factory=dict)
    given: dict[Name, Given] = field(default_factory=dict)
    annotators: list[str] = field(default_factory=list)
    unfinished: dict[tuple[str, str], int] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)


def read_answers(paths: Sequence[Path], *, allow_edited: bool = False) -> Answers:
    """The answers in files of `annotate export`: JSON lines, or CSV where the name ends so.

    InputError tells the first wrong answers of all files, and how many there are. With
    `allow_edited` a text that was changed after the export is no mistake.
    """
    if double := next((path for path in paths if list(paths).count(path) > 1), None):
        raise InputError(f"{double} is given twice; name each file once")
    found, problems = Answers(), list[str]()
    for path in paths:
        for filled in read_filled(path, problems.append):
            _take(filled, found, problems.append, allow_edited)
    if problems:
        rest = len(problems) - _SHOWN
        told = [*problems[:_SHOWN], *([f"… and {rest:,} more"] if rest > 0 else ())]
        noun = "answer is" if len(problems) == 1 else "answers are"
        raise InputError(
            "\n".join([*told, f"{len(problems):,} {noun} wrong; nothing was written. Fix them."])
        )
    if not found.given:
        raise InputError(f"{', '.join(map(str, paths))}: no tasks; export some first")
    return found


def _take(filled: Filled, found: Answers, tell: Callable[[str], None], allow_edited: bool) -> None:
    """Put one line or row where it belongs; `tell` what is wrong with it."""
    given, place = filled.given, f"{filled.place} (task {filled.given.id!r})"
    try:
        if _check_shown(filled, place):
            found.edited.append(place)
            if not allow_edited:
                raise InputError(
                    f"{place}: what was shown is not what was exported; labels would be of another "
                    "text. Take the text from the exported file, or pass --allow-edited"
                )
        annotator = _annotator(filled.annotator, place)
        answer = _answer(filled, annotator, place)
    except TruegroundError as error:
        tell(str(error))
        return
    name = given.kind.name, given.id
    known = found.given.setdefault(name, given)
    if known.check != given.check and not allow_edited:
        tell(f"{place}: shows another text than another file does under this id")
    elif known.shown is None and given.shown is not None:
        found.given[name] = given
    if annotator not in found.annotators:
        found.annotators.append(annotator)
    if answer is None:
        of = annotator, given.kind.name
        found.unfinished[of] = found.unfinished.get(of, 0) + 1
    else:
        _add(answer, found.tasks.setdefault(name, []), tell)


def _check_shown(filled: Filled, place: str) -> bool:
    """Whether the text was changed. InputError: the id or kind was, or nothing tells."""
    given = filled.given
    if not filled.check:
        raise InputError(f"{place}: has no check; keep what the export wrote, and fill in the rest")
    if filled.check.partition("-")[0] != name_check(given.kind.name, given.id):
        raise InputError(
            f"{place}: no task of this id and kind was exported with the check "
            f"{shorten(filled.check)!r}; take the id from the exported file"
        )
    return filled.check != given.check


def _annotator(raw: Any, place: str) -> str:
    if isinstance(raw, str | int) and not isinstance(raw, bool) and (name := str(raw).strip()):
        return name
    raise InputError(f"{place}: annotator is {describe(raw)}; expected a name or a number")


def _answer(filled: Filled, annotator: str, place: str) -> Answer | None:
    """The answer; None where nothing is filled in. InputError with all that is wrong."""
    given, problems, values = filled.given, list[str](), dict[str, Any]()
    for each in given.kind.fields:
        try:
            value = read_value(each, given, filled.raw.get(each.name))
        except BadAnswer as error:
            problems.append(f"{place}, {each.name}: {error}")
        else:
            if value is not None:
                values[each.name] = value
    if not values and not problems:
        return None
    seconds = None
    try:
        seconds = read_seconds(filled.seconds)
    except BadAnswer as error:
        problems.append(f"{place}, seconds: {error}")
    problems += [] if problems else _missing(given, values, place)
    if problems:
        raise InputError("\n".join(problems))
    asked = {f.name: values[f.name] for f in given.kind.fields if f.name in values}
    comment = filled.comment.strip() if isinstance(filled.comment, str) else ""
    return Answer(given, annotator, asked, seconds, comment, place)


def _missing(given: Given, values: dict[str, Any], place: str) -> list[str]:
    """What is not filled in although it is asked, or filled in although it is not."""
    wrong = []
    for each in given.kind.fields:
        if not is_asked(each, values):
            condition, value = each.when or ("", "")
            if each.name in values:
                wrong.append(
                    f"{place}, {each.name}: filled in, but it is asked only where {condition} is "
                    f"{value}; leave it empty"
                )
        elif each.needed and each.name not in values:
            wrong.append(f"{place}, {each.name}: not filled in; expected {expected(each, given)}")
    return wrong


def is_asked(field: Field, values: Mapping[str, Any]) -> bool:
    """Whether a field is asked, by the answers to the others."""
    return field.when is None or values.get(field.when[0]) == field.when[1]


def _add(answer: Answer, others: list[Answer], tell: Callable[[str], None]) -> None:
    """Add an answer; the same one twice counts once, and two different ones are a mistake."""
    for other in others:
        if other.annotator == answer.annotator:
            if other.values != answer.values:
                tell(
                    f"{answer.place}: annotator {answer.annotator!r} answers otherwise than in "
                    f"{other.place}; leave one of the two, or give the other person another name"
                )
            return
    others.append(answer)
