"""The kinds of tasks: each is whole, and what builders hand over can be shown and answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from trueground.cli.app import app
from trueground.errors import InputError, UsageError
from trueground.types import Passage, Record
from trueground.wings.labeling.answers import parse_seconds
from trueground.wings.labeling.base import BadAnswer
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.kinds import KINDS, AnnotationTask, TaskKind, get_kind

NAMES = [
    *("validity", "candidate", "gold-facts", "revision", "contains", "contains-list"),
    *("relevance", "correctness", "support", "span", "alignment", "quality"),
]
LISTS = {"contexts", "facts", "knowledge", "gold_facts", "new_contexts", "new_gold_facts"}


def shown_of(kind: TaskKind) -> ShownTask:
    shown: dict[str, Any] = {name: ["a", "b"] if name in LISTS else "a" for name in kind.shows}
    return ShownTask.of(AnnotationTask(kind.name, "x", shown), kind, "here")


def value(kind: str, field: str, raw: Any) -> Any:
    found = next(each for each in KINDS[kind].fields if each.name == field)
    return found.parse(shown_of(KINDS[kind]).options(found), raw)


def test_the_kinds_of_the_papers_are_there() -> None:
    assert list(KINDS) == NAMES
    with pytest.raises(UsageError, match=r"Did you mean 'support'\?"):
        get_kind("suport")


@pytest.mark.parametrize("name", NAMES)
def test_the_command_and_the_docs_name_every_kind(name: str) -> None:
    docs = Path(__file__).parents[3] / "docs" / "annotate.md"
    assert f"| `{name}` |" in docs.read_text("utf-8")
    told = CliRunner().invoke(app, ["annotate", "export", "--help"], env={"COLUMNS": "300"}).stdout
    assert re.search(rf"(?<![\w-]){name}(?![\w-])", told)


@pytest.mark.parametrize("kind", KINDS.values(), ids=NAMES)
def test_every_field_is_explained_and_can_be_answered(kind: TaskKind) -> None:
    task = shown_of(kind)
    assert kind.instructions.count("Example.") >= 1
    for place, field in enumerate(kind.fields):
        assert f"`{field.name}`" in kind.instructions
        assert field.doc
        if field.when is not None:
            assert field.when[0] in [each.name for each in kind.fields[:place]]
        for option in task.options(field):
            if field.form == "spans":
                (mark,) = field.parse(task.options(field), f"{option}: a", task.text(field))
                assert (mark.type, mark.text) == (option, "a")
            else:
                assert field.parse(task.options(field), option) in (option, (option,))


def test_numbers_of_a_list_are_options_of_the_task() -> None:
    (gold,) = KINDS["gold-facts"].fields
    assert shown_of(KINDS["gold-facts"]).options(gold) == ("1", "2")


@pytest.mark.parametrize("kind", ["support", "span"])
def test_a_claim_without_a_question_is_a_task(kind: str) -> None:
    record = Record(id="c", response="It has six arches.", contexts=[Passage("It has seven.")])
    [(task, _)] = KINDS[kind].tasks_of(record, "gold")
    assert task.shown == {"contexts": ["It has seven."], "response": "It has six arches."}
    assert ShownTask.of(task, KINDS[kind], "here").shown == task.shown


def test_a_task_without_what_it_shows_is_named() -> None:
    with pytest.raises(InputError, match=r"here: the task 'x' of kind contains lacks shown\.fact"):
        ShownTask.of(AnnotationTask("contains", "x", {"text": "a"}), KINDS["contains"], "here")
    shown = {"question": "q", "answer": "a", "contexts": [], "facts": "one"}
    with pytest.raises(InputError, match=r'has str "one" as shown\.facts; expected a list'):
        ShownTask.of(AnnotationTask("gold-facts", "x", shown), KINDS["gold-facts"], "here")


@pytest.mark.parametrize("raw", ["yes", " YES ", "y", "1", 1, True, "true", "TRUE", 1.0])
def test_yes(raw: Any) -> None:
    assert value("contains", "contains", raw) == "yes"


@pytest.mark.parametrize("raw", ["no", "N", "0", 0, False, "False"])
def test_no(raw: Any) -> None:
    assert value("contains", "contains", raw) == "no"


@pytest.mark.parametrize("raw", ["maybe", 2, [], "yes no", {"yes": 1}, float("nan"), 10**400])
def test_neither(raw: Any) -> None:
    with pytest.raises(BadAnswer, match="expected yes or no"):
        value("contains", "contains", raw)


@pytest.mark.parametrize(
    ("raw", "chosen"),
    [
        ("1 2", ("1", "2")),
        ("2; 1", ("1", "2")),
        ("2,", ("2",)),
        ("[1, 2]", ("1", "2")),
        ([2.0, 1], ("1", "2")),
        (1, ("1",)),
        ("1.0", ("1",)),
        ("none", ()),
        ("None", ()),
        ([], ()),
        ("", None),
        ("  ", None),
        (None, None),
    ],
)
def test_several_numbers(raw: Any, chosen: tuple[str, ...] | None) -> None:
    assert value("gold-facts", "gold", raw) == chosen


@pytest.mark.parametrize("raw", ["3", "0", "1.5", "1 x", ["none", "1"], {"1": True}, [None]])
def test_numbers_that_are_not_there(raw: Any) -> None:
    with pytest.raises(BadAnswer, match="expected numbers from 1 to 2, separated by spaces"):
        value("gold-facts", "gold", raw)


@pytest.mark.parametrize("raw", ["1,1", "2 1 2", ["2", "2"], [1, "1.0"], "1;1.0"])
def test_a_number_given_twice_is_a_slip(raw: Any) -> None:
    with pytest.raises(BadAnswer, match="expected each only once: numbers from 1 to 2, separated"):
        value("gold-facts", "gold", raw)


@pytest.mark.parametrize(("raw", "number"), [("5", 5), (4.0, 4), ("3.0", 3), (1, 1), (" 2 ", 2)])
def test_scale(raw: Any, number: int) -> None:
    assert value("quality", "naturalness", raw) == number


@pytest.mark.parametrize("raw", [0, 6, "4.5", True, "five", -1, 1e300, "٣"])
def test_off_the_scale(raw: Any) -> None:
    with pytest.raises(BadAnswer, match="expected a whole number from 1 to 5"):
        value("quality", "naturalness", raw)


def test_texts() -> None:
    assert value("candidate", "answers", "Rowe\nEdda Rowe; rowe") == ("Rowe", "Edda Rowe")
    assert value("candidate", "answers", ["Rowe", " "]) == ("Rowe",)
    assert value("candidate", "span", " by Rowe ") == "by Rowe"
    with pytest.raises(BadAnswer, match="expected texts, one per line"):
        value("candidate", "answers", ["Rowe", 3])


def test_seconds() -> None:
    assert [parse_seconds(raw) for raw in (None, "", "12,5", " 3 ", 0)] == [None, None, 12.5, 3, 0]
    for raw in (-1, "-1", "nan", float("inf"), 86_401, "soon", True, [], 10**400):
        with pytest.raises(BadAnswer, match="seconds"):
            parse_seconds(raw)
