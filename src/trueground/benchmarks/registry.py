"""The one dictionary of benchmarks.

A new benchmark is a folder whose `__init__` declares BENCHMARK, and one line in FOLDERS. A
benchmark of another package calls `add_benchmark`, and its module is named as an entry point of the
group `trueground.benchmarks`; entry points are loaded when a name is not found here or all are
listed.
"""

from __future__ import annotations

from importlib import import_module

from trueground.benchmarks.base import Benchmark
from trueground.plugins import find_part, load_plugins, register_part

FOLDERS = ("faitheval", "truly_ground", "instruct_qa", "kalma")

BENCHMARKS: dict[str, Benchmark] = {
    found.name: found
    for module in FOLDERS
    if (found := import_module(f"trueground.benchmarks.{module}").BENCHMARK)
}


def add_benchmark(benchmark: Benchmark) -> Benchmark:
    """Register a benchmark of another package. Raises UsageError if the name is taken."""
    register_part("benchmark", BENCHMARKS, benchmark.name, benchmark)
    return benchmark


def all_benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name, those of other packages included."""
    load_plugins()
    return BENCHMARKS


def get_benchmark(name: str) -> Benchmark:
    """The benchmark of that name, or a UsageError with near names; `_` and `-` are alike."""
    if name not in BENCHMARKS:
        load_plugins()
        alike = [known for known in BENCHMARKS if _plain(known) == _plain(name)]
        name = alike[0] if alike else name
    return find_part("benchmark", BENCHMARKS, name)


def _plain(name: str) -> str:
    return name.replace("_", "-")


benchmark = add_benchmark
