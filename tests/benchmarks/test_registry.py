"""The dictionary of benchmarks: light to list, open to other packages."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files

import pytest

from trueground.benchmarks.base import Benchmark, BenchmarkOption, Sources, Task
from trueground.benchmarks.registry import (
    BENCHMARKS,
    add_benchmark,
    all_benchmarks,
    benchmark,
    get_benchmark,
    settled,
)
from trueground.errors import UsageError


def toy(name: str) -> Benchmark:
    def prepare(task: str, _options: object, _sources: Sources) -> Task:
        raise UsageError(f"{name}/{task} asks nothing")

    options = (BenchmarkOption("depth", "low", "how deep", ("low", "high")),)
    return Benchmark(name, "a toy", "nobody", ("one",), ("two",), options, prepare)


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_every_benchmark_declares_itself(name: str) -> None:
    found = get_benchmark(name)
    assert found.name == name
    assert found.doc
    assert found.source
    assert found.default_tasks
    assert len(set(found.tasks)) == len(found.tasks)
    for option in found.options:
        assert option.doc
        assert not option.allowed or option.default in option.allowed
    folder = files("trueground.benchmarks") / name.replace("-", "_")
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for word in ("## Citation", "## Data", "## Deviations", found.source.partition(" ")[0]):
        assert word in readme
    for option in found.options:
        assert f"--{option.name}" in readme, option.name


def test_listing_loads_nothing_heavy() -> None:
    code = (
        "import sys; from trueground.benchmarks.registry import all_benchmarks; "
        "print(len(all_benchmarks()), sorted({'numpy', 'polars', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{len(BENCHMARKS)} []\n"


def test_other_packages_add_benchmarks() -> None:
    made = toy("toy")
    try:
        assert add_benchmark(made) is made
        assert benchmark is add_benchmark
        assert get_benchmark("toy") is made
        assert all_benchmarks()["toy"] is made
        with pytest.raises(UsageError, match="a benchmark named 'toy' exists already"):
            add_benchmark(toy("toy"))
    finally:
        BENCHMARKS.pop("toy")
    with pytest.raises(UsageError, match=r"unknown benchmark 'faithevl'.*'faitheval'"):
        get_benchmark("faithevl")


def test_options_are_settled_with_their_defaults() -> None:
    made = toy("toy")
    assert settled(made, "two", {}) == {"depth": "low"}
    assert settled(made, "one", {"depth": "high"}) == {"depth": "high"}
    with pytest.raises(UsageError, match="--depth deep: expected one of low, high"):
        settled(made, "one", {"depth": "deep"})
    with pytest.raises(UsageError, match="unknown option of toy 'dept'"):
        settled(made, "one", {"dept": "low"})
    with pytest.raises(UsageError, match="unknown task of toy 'three'"):
        settled(made, "three", {})
