"""The core does its work without the wings: they are removed from a copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.test_rooms import SRC

from trueground.cli.app import COMMANDS as COMMANDS_OF_CORE

EXAMPLES = SRC.parents[1] / "examples"
BENCHMARK = '''
"""A benchmark of another package: one question."""

from dataclasses import dataclass

import trueground as tg
from trueground.benchmarks import Benchmark, Question, Task, TaskOptions


@dataclass(frozen=True, kw_only=True)
class TinyOptions(TaskOptions):
    """No options."""


def make_task(options, sources):
    def questions():
        record = tg.Record(
            id="1", response="", question="Who?", contexts=[tg.Passage("Ann did it.")],
            references=["Ann"],
        )
        yield Question(record, (tg.Message("user", "Ann did it. Who?"),))

    return Task(
        options={}, metrics=("recall", "k_precision"), params=tg.Params(), files=(), prompts=(),
        questions=questions,
    )


tg.benchmark(
    Benchmark("tiny", "one question", "Nobody 2026", ("open",), (), TinyOptions, make_task)
)
'''


# Commands by a name for the tests. One process runs them all: a start costs more than most of them.
COMMANDS = {
    "score": ("score", "answers.jsonl", "--out", "a"),
    "score again": ("score", "answers.jsonl", "--out", "b", "--no-cache"),
    "validate": ("validate", "labeled.jsonl", "--resamples", "50"),
    "compare": ("compare", "a", "b"),
    "labels": (
        *("score", "labeled.jsonl", "--metrics", "support", "--out", "c"),
        *("--labels", "labels.jsonl", "--labels-drawn", "random"),
    ),
    "view": ("view", "a", "b", "--bundle", "pages"),
    "help": ("--help",),
    "list": ("list",),
    "run": ("run", "tiny", "--model", "fake:Ann", "--out", "tiny"),
    "command of a wing": ("graph", "load", "x"),
}
RUN_ALL = """
import contextlib, io, json, sys
import trueground as tg
from trueground.cli import run_command

results = {}
for name, words in json.load(sys.stdin).items():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(words)
    results[name] = [code, out.getvalue(), err.getvalue()]
for name in ("build", "retriever"):
    try:
        getattr(tg, name)
    except AttributeError as error:
        results["tg." + name] = [0, str(error), ""]
results["package"] = [0, tg.__file__, ""]
print(json.dumps(results))
"""


class Done(NamedTuple):
    """How a command ended, and what it wrote to its streams."""

    code: int
    stdout: str
    stderr: str


def make_core(packages: Path) -> None:
    """Copy the package without the wings, and add a package that declares a benchmark."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SRC, packages / "trueground", ignore=ignored)
    shutil.rmtree(packages / "trueground" / "wings")
    # These metadata come before those of the installed package, which name the wings.
    write_metadata(packages, "trueground", "[console_scripts]\n")
    write_metadata(packages, "tiny", "[trueground.benchmarks]\ntiny = tiny_benchmark\n")
    (packages / "tiny_benchmark.py").write_text(BENCHMARK, encoding="utf-8")


def write_metadata(packages: Path, package: str, entry_points: str) -> None:
    info = packages / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the commands run."""
    made = tmp_path_factory.mktemp("core")
    make_core(made / "packages")
    shutil.copy(EXAMPLES / "answers.jsonl", made)
    rows = []
    for number in range(40):
        supported = number % 2
        response = "Ann did it." if supported else "Bob saw nothing."
        row = {"id": str(number), "response": response, "contexts": ["Ann did it."]}
        rows.append(json.dumps({**row, "human": {"faithful": supported}}))
    (made / "labeled.jsonl").write_text("\n".join(rows), encoding="utf-8")
    labels = [json.dumps({"id": str(n), "human": {"faithful": n % 2}}) for n in range(40)]
    (made / "labels.jsonl").write_text("\n".join(labels), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Done]:
    """What the commands did."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input=json.dumps(COMMANDS),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "packages")},
    )
    assert done.returncode == 0, done.stderr
    return {name: Done(*result) for name, result in json.loads(done.stdout).items()}


def test_core_is_the_copy(results: dict[str, Done], folder: Path) -> None:
    assert results["package"].stdout.startswith(str(folder))


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "command of a wing"])
def test_core_command_succeeds(results: dict[str, Done], name: str) -> None:
    assert results[name].code == 0, results[name].stderr


def test_core_scores_and_writes_page(results: dict[str, Done], folder: Path) -> None:
    summary = json.loads((folder / "a" / "summary.json").read_bytes())

    assert summary["metrics"]["support"]["n"] > 0
    assert (folder / "a" / "report.html").is_file()


def test_core_shows_runs_as_files(results: dict[str, Done], folder: Path) -> None:
    assert (folder / "pages" / "index.html").is_file()


def test_core_help_lists_no_command_of_wings(results: dict[str, Done]) -> None:
    lines = results["help"].stdout.partition("Commands:")[2].splitlines()
    commands = {line.split()[0] for line in lines if line.strip()}

    assert commands == set(COMMANDS_OF_CORE)


def test_core_lists_no_component_of_wings(results: dict[str, Done]) -> None:
    assert "benchmarks:\n  tiny  one question" in results["list"].stdout
    assert "retrievers:" not in results["list"].stdout


def test_core_runs_benchmark_of_another_package(results: dict[str, Done], folder: Path) -> None:
    summary = json.loads((folder / "tiny" / "summary.json").read_bytes())

    assert summary["metrics"]["recall"]["mean"] == 1.0


@pytest.mark.parametrize(
    ("name", "wing"),
    [
        pytest.param("build", "papers", id="build"),
        pytest.param("retriever", "search", id="retriever"),
    ],
)
def test_core_names_the_missing_wing(results: dict[str, Done], name: str, wing: str) -> None:
    expected = f"trueground.{name} is part of the wing {wing!r}"

    assert results[f"tg.{name}"].stdout.startswith(expected)


def test_core_command_of_missing_wing_is_unknown(results: dict[str, Done]) -> None:
    done = results["command of a wing"]

    assert done.code == 2
    assert "No such command 'graph'" in done.stderr
