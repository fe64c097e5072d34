"""A setting that a task ignores is an error before any call, whoever wrote the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from tests import commands

import trueground as tg
from trueground.benchmarks.base import (
    BENCHMARKS,
    Benchmark,
    Question,
    Sources,
    Task,
    TaskOptions,
    add_benchmark,
)
from trueground.errors import UsageError
from trueground.models.base import Message, Params
from trueground.models.prompts import Prompt
from trueground.options.option import Option
from trueground.options.parsing import format_options
from trueground.records.checks import FileInfo
from trueground.testing import FakeModel
from trueground.types import Record


@dataclass(frozen=True, kw_only=True)
class ToyOptions(TaskOptions):
    shots: Annotated[int, Option("worked examples")] = 2
    tone: Annotated[str, Option("how it is asked", applies={"task": ("two",)})] = "plain"


Make = Callable[[ToyOptions, Sources], Task]


def make_task(
    options: ToyOptions,
    prompt: Prompt | None = None,
    files: tuple[FileInfo, ...] = (),
    ask: Callable[[], str] = lambda: "Who?",
) -> Task:
    def questions() -> Iterator[Question]:
        record = Record(id="1", response="", question="Who?", references=["Ann"])
        yield Question(record, (Message("user", ask()),))

    return Task(
        options=format_options(options),
        metrics=("recall",),
        params=Params(),
        files=files,
        prompts=() if prompt is None else (prompt.file,),
        questions=questions,
    )


def ignore_all(options: ToyOptions, _sources: Sources) -> Task:
    return make_task(options)


def read_prompt_only(options: ToyOptions, sources: Sources) -> Task:
    if sources.prompt is not None:
        Prompt.read(sources.prompt, ["question"])
    return make_task(options)


def read_all(options: ToyOptions, sources: Sources) -> Task:
    prompt = None
    if sources.prompt is not None:
        prompt = Prompt.read(sources.prompt, ["question"])
    files = ()
    if sources.data is not None:
        files = (FileInfo.of(str(sources.data), sources.data),)
    return make_task(options, prompt, files, lambda: f"Who, of {options.shots}?")


@pytest.fixture
def toy() -> Iterator[Callable[[Make], None]]:
    def register(make: Make) -> None:
        add_benchmark(Benchmark("toy", "a toy", "nobody", ("one",), ("two",), ToyOptions, make))

    yield register
    BENCHMARKS.pop("toy", None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text("{question}", encoding="utf-8")
    return path


@pytest.mark.parametrize("make", [ignore_all, read_prompt_only])
def test_run_prompt_ignored_by_task_is_refused(
    toy: Callable[[Make], None], file: Path, tmp_path: Path, make: Make
) -> None:
    toy(make)
    model = FakeModel("Ann")

    with pytest.raises(UsageError, match=r"the task toy/one doesn't use the prompt .*mine.txt"):
        tg.run("toy/one", model, prompt=file, out=tmp_path / "out")

    assert model.calls == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "option"),
    [({"options": {"shots": "3"}}, "shots"), ({"data": __file__}, "data")],
    ids=["option", "data"],
)
def test_run_setting_ignored_by_task_is_refused(
    toy: Callable[[Make], None], tmp_path: Path, settings: Any, option: str
) -> None:
    toy(ignore_all)
    model = FakeModel("Ann")

    with pytest.raises(
        UsageError, match=f"the task toy/one doesn't read --{option},.* Leave --{option} out"
    ):
        tg.run("toy/one", model, out=tmp_path / "out", **settings)

    assert model.calls == []
    assert not (tmp_path / "out").exists()


def test_run_settings_read_by_task_pass(
    toy: Callable[[Make], None], file: Path, tmp_path: Path
) -> None:
    toy(read_all)
    model = FakeModel("Ann")

    result = tg.run(
        "toy/one", model, prompt=file, data=file, options={"shots": "3"}, out=tmp_path / "out"
    )

    assert len(model.calls) == 1
    assert result.summary["recall"].mean == 1.0
    assert '"mine.txt"' in (tmp_path / "out" / "manifest.json").read_text()


@pytest.mark.parametrize("shots", [None, "2"], ids=["not given", "as by default"])
def test_run_default_option_ignored_by_task_passes(
    toy: Callable[[Make], None], tmp_path: Path, shots: str | None
) -> None:
    toy(ignore_all)

    result = tg.run("toy/one", FakeModel("Ann"), options={"shots": shots}, out=tmp_path / "out")

    assert result.summary["recall"].mean == 1.0


def test_run_option_declared_for_other_task_passes(
    toy: Callable[[Make], None], tmp_path: Path
) -> None:
    """The user is told by `Task.unused` instead."""
    toy(ignore_all)

    result = tg.run("toy/one", FakeModel("Ann"), options={"tone": "curt"}, out=tmp_path / "out")

    assert result.summary["recall"].mean == 1.0


@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_run_command_ignored_option_exits_2(
    toy: Callable[[Make], None], tmp_path: Path, more: list[str]
) -> None:
    toy(ignore_all)
    out = tmp_path / "out"

    done = commands.trueground(
        *("run", "toy/one", "--model", "fake:Ann", "--shots", "3", "--out", out, *more),
        cwd=tmp_path,
    )

    assert done.returncode == 2
    assert "the task toy/one doesn't read --shots" in done.stderr
    assert not out.exists()


def test_prepare_task_copying_its_settings_passes(file: Path) -> None:
    def make(options: ToyOptions, sources: Sources) -> Task:
        return read_all(replace(options, shots=options.shots + 1), replace(sources))

    toy = Benchmark("toy", "a toy", "nobody", ("one",), (), ToyOptions, make)

    task = toy.prepare("one", {"shots": "3"}, Sources(file, file))

    task.check_settings()
