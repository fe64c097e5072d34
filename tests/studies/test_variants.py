"""Options that are given several times: a run for each value, told apart by their folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import pytest

from trueground.benchmarks.base import Benchmark, Question, Sources, Task, TaskOptions
from trueground.errors import UsageError
from trueground.evaluate.run_settings import RunSettings
from trueground.models.base import Message, Params
from trueground.models.replay import FakeModel
from trueground.options.option import Option
from trueground.records.jsonl import decode_row
from trueground.runs.directory import RESPONSES
from trueground.studies.sweeps import (
    PAGE,
    SweepRuns,
    prepare_variants,
    write_side_by_side,
)
from trueground.types import Passage, Record


@dataclass(frozen=True, kw_only=True)
class SmallOptions(TaskOptions):
    tone: Annotated[str, Option("how", varied=True)] = "curt"
    size: Annotated[str | None, Option("how large")] = None


def _make(options: SmallOptions, _sources: Sources) -> Task:
    tone, size = options.tone, options.size

    def questions() -> Iterator[Question]:
        for number in range(3):
            record = Record(
                id=f"q{number}",
                response="",
                question="Who?",
                references=["Ann"],
                contexts=[Passage("Ann did it.")],
            )
            yield Question(record, (Message("user", f"{tone} {size} {number}"),))

    return Task(
        options={"tone": tone, "size": size},
        metrics=("recall",),
        headline="recall",
        by=(),
        params=Params(),
        files=(),
        prompts=(),
        questions=questions,
        trim=lambda reply: reply.partition("\n")[0] if tone == "curt" else reply,
    )


SMALL = Benchmark(
    name="small",
    doc="a small one",
    source="this test",
    default_tasks=("one",),
    other_tasks=("two",),
    options=SmallOptions,
    make=_make,
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("tasks", "tone", "expected"),
    [
        (("one",), ["curt"], [("", "curt")]),
        (("one",), "curt", [("", "curt")]),
        (("one",), ["a/b", "a b"], [("a-b", "a/b"), ("a-b-2", "a b")]),
        (("one", "two"), ["curt"], [("one", "curt"), ("two", "curt")]),
        (
            ("one", "two"),
            ["x", "y"],
            [("one-x", "x"), ("one-y", "y"), ("two-x", "x"), ("two-y", "y")],
        ),
    ],
)
def test_folders(tasks: tuple[str, ...], tone: object, expected: list[tuple[str, str]]) -> None:
    found = prepare_variants(SMALL, tasks, {"tone": tone, "size": "3"}, Sources())  # type: ignore[dict-item]
    assert [(v.folder, v.task.options["tone"]) for v in found] == expected
    assert {v.task.options["size"] for v in found} == {"3"}


def test_values_without_a_say_are_asked_once() -> None:
    def make(options: SmallOptions, sources: Sources) -> Task:
        return _make(replace(options, tone=options.tone[:1]), sources)

    benchmark = replace(SMALL, make=make)
    found = prepare_variants(benchmark, ("one",), {"tone": ["xa", "ya", "xb"]}, Sources())
    assert [v.folder for v in found] == ["xa", "ya"]


@pytest.mark.parametrize(
    ("tasks", "tone", "expected"),
    [
        (("one",), ["x"], ["one"]),
        (("one",), ["x", "y"], ["one, tone=x", "one, tone=y"]),
        (("one", "two"), ["x"], ["one", "two"]),
    ],
)
def test_labels_say_the_task_and_what_differs(
    tasks: tuple[str, ...], tone: list[str], expected: list[str]
) -> None:
    found = prepare_variants(SMALL, tasks, {"tone": tone}, Sources())
    assert [pair.label for pair in SweepRuns.of(found, [FakeModel("a", name="a")]).runs] == expected


def test_one_value_twice() -> None:
    with pytest.raises(UsageError, match="--tone x is given twice"):
        prepare_variants(SMALL, ("one",), {"tone": ["x", "x"]}, Sources())


def test_every_model_meets_every_variant_and_the_page_shows_all(tmp_path: Path) -> None:
    found = prepare_variants(SMALL, ("one",), {"tone": ["curt", "kind"]}, Sources())
    models = [FakeModel("Ann\nand Bob", name="a"), FakeModel("Bob\nand Ann", name="b")]
    sweep = SweepRuns.of(found, models)
    assert [run.where for run in sweep.runs] == ["a/curt", "a/kind", "b/curt", "b/kind"]
    out = tmp_path / "sweep"
    result = sweep.run(out, RunSettings(also=("exact_match", "recall")))
    outcomes = result.outcomes
    means = [outcome.result.summary["recall"].mean for outcome in outcomes if outcome.result]
    assert means == [1.0, 1.0, 0.0, 1.0]  # what is trimmed away is not scored …
    assert [
        outcome.result.summary["exact_match"].mean for outcome in outcomes if outcome.result
    ] == [1.0, 0.0, 0.0, 0.0]
    first = (out / "b/curt" / RESPONSES).read_bytes().splitlines()[0]
    assert decode_row(first)["response"] == "Bob\nand Ann"  # … and is kept in the log
    assert all(len(model.calls) == 6 for model in models)
    page = result.leaderboard
    assert page == out / PAGE
    assert page is not None
    assert all(word in page.read_text() for word in ("curt", "kind", "small"))
    assert write_side_by_side([outcomes[0].path], out) is None
