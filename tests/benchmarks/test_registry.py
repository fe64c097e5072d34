"""The dictionary of benchmarks: light to list, open to other packages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Literal

import pytest

import trueground as tg
from trueground.benchmarks.base import (
    BENCHMARKS,
    Benchmark,
    Sources,
    Task,
    TaskOptions,
    add_benchmark,
    all_benchmarks,
    get_benchmark,
)
from trueground.errors import UsageError
from trueground.options.option import Option


@dataclass(frozen=True, kw_only=True)
class ToyOptions(TaskOptions):
    depth: Annotated[Literal["low", "high"], Option("how deep")] = "low"


def toy(name: str) -> Benchmark:
    def make(options: ToyOptions, _sources: Sources) -> Task:
        raise UsageError(f"{name}/{options.task} asks nothing at depth {options.depth}")

    return Benchmark(name, "a toy", "nobody", ("one",), ("two",), ToyOptions, make)


@pytest.mark.parametrize("name", list(all_benchmarks()))
def test_every_benchmark_declares_itself(name: str) -> None:
    found = get_benchmark(name)
    assert found.name == name
    assert found.doc
    assert found.source
    assert found.default_tasks
    assert len(set(found.tasks)) == len(found.tasks)
    for option in found.declared:
        assert option.option.help
        assert not option.choices or option.default_text in (None, *option.choices)
    folder = files("trueground.wings.papers") / name.replace("-", "_")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for word in ("## Citation", "## Data", "## Deviations", found.source.partition(" ")[0]):
        assert word in readme
    for option in found.declared:
        assert f"--{option.name}" in readme, option.name


def test_other_packages_add_benchmarks() -> None:
    made = toy("toy")
    try:
        assert add_benchmark(made) is made
        assert tg.benchmark is add_benchmark
        assert get_benchmark("toy") is made
        assert all_benchmarks()["toy"] is made
        with pytest.raises(UsageError, match="a benchmark named 'toy' exists already"):
            add_benchmark(toy("toy"))
    finally:
        BENCHMARKS.pop("toy")
    with pytest.raises(UsageError, match=r"unknown benchmark 'faithevl'.*'faitheval'"):
        get_benchmark("faithevl")


def test_a_task_is_made_with_its_options() -> None:
    for task, given, words in (
        ("two", {}, "toy/two asks nothing at depth low"),
        ("one", {"depth": "high"}, "toy/one asks nothing at depth high"),
        ("one", {"depth": "deep"}, "--depth deep: expected one of low, high"),
        ("one", {"dept": "low"}, "unknown option of toy 'dept'"),
        ("three", {}, "unknown task of toy 'three'"),
    ):
        with pytest.raises(UsageError, match=words):
            toy("toy").prepare(task, given, Sources())
