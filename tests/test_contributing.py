"""What CONTRIBUTING.md shows works as it stands there."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest
from tests.commands import trueground

import trueground as tg
from trueground.benchmarks import base
from trueground.components import Registry
from trueground.metrics.base import Metric, make_spec
from trueground.metrics.batch import Batch
from trueground.metrics.context import BatchContext
from trueground.models.prompts import Prompt
from trueground.wings import papers
from trueground.wings.papers.builders import registry, settings

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = [dedent(code) for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)]


def run(*words: str) -> dict[str, Any]:
    """The names that the blocks with these words define, one after the other."""
    names: dict[str, Any] = {}
    for word in words:
        (block,) = (block for block in BLOCKS if word in block)
        exec(block, names)
    return names


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make the folder a package with the entry point that is shown."""
    blocks = map(tomllib.loads, map(dedent, re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)))
    shown = [block["project"]["entry-points"] for block in blocks if "project" in block]
    ((group, value),) = (
        (group, lines[name]) for groups in shown for group, lines in groups.items() if name in lines
    )
    value = value.replace("trueground.counting", "counting")
    (folder / "theirs-1.dist-info").mkdir()
    file = folder / "theirs-1.dist-info" / "entry_points.txt"
    file.write_text(f"[{group}]\n{name} = {value}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))


def test_the_metric_computes() -> None:
    (copied,) = run("def _copied")["METRICS"]
    responses = ["It is tall.", "It is small.", " "]
    batch = Batch(responses, contexts=[[tg.Passage("Look. It is tall.")]] * 3)
    column = make_spec(copied, {}).column(BatchContext(batch))
    assert column.values[:2].tolist() == [1.0, 0.0]
    assert column.status.tolist()[2] != 0


def test_the_metric_of_verdicts_shares_those_of_support() -> None:
    names = run("def _copied", "def _all_supported")
    metric = Metric(
        name="all_supported",
        family="grounding",
        needs=("contexts",),
        compute=names["_all_supported"],
        doc="1 if all claims are supported",
        source="this test",
        queries=lambda _options: (names["_CHECK"],),
    )
    judge = tg.testing.FakeJudge({"It is tall.": 0.9, "It is red.": 0.2})
    row = {"response": "It is tall. | It is red.", "contexts": ["It is tall."]}
    scored = tg.score(
        [row, {**row, "response": "It is tall."}],
        metrics=["grounding_precision", make_spec(metric, {})],
        judge=judge,
        decomposer=tg.testing.FakeDecomposer(),
    )
    assert scored.items["all_supported"].to_list() == [0.0, 1.0]
    assert scored.items["grounding_precision"].to_list() == [0.5, 1.0]
    assert len(judge.requests) == 2


def test_the_judge_keeps_the_contract() -> None:
    judge = run("class VerbatimJudge")["VerbatimJudge"]()
    texts = ("It is old.", "See: it is tall.")
    yes, no = judge.judge([tg.JudgeRequest("it is tall", texts), tg.JudgeRequest("red", texts)])
    assert (yes.supported, yes.text, texts[1][yes.start : yes.end]) == (True, 1, "it is tall")
    assert no.supported is False
    assert no.reasons


def test_the_builder_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its folder is not there, so its modules and its prompt are made of the blocks."""
    monkeypatch.setattr(registry, "BUILDERS", Registry("builder", registry.all_builders()))
    for name, word in (("riddles", "class RiddleOptions"), ("riddles.plan", "class Riddle(")):
        (block,) = (block for block in BLOCKS if word in block)
        module = ModuleType(f"trueground.wings.papers.builders.{name}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(block, vars(module))
    (prompt,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    file = tmp_path / "riddle-1.txt"
    file.write_text(dedent(prompt), encoding="utf-8")
    monkeypatch.setattr(
        settings.Material,
        "prompt",
        lambda _self, _package, _name, *places: Prompt.read(file, *places),
    )
    (tmp_path / "words.txt").write_text("sun\n\nmoon\nrain\n")

    def reply(request: Any) -> str:
        asked = request.messages[0].content
        short = "rain" in asked and len(request.messages) == 1
        text = (
            "Wet" if short else "The moon at noon" if "moon" in asked else "What falls or shines?"
        )
        return json.dumps({"riddle": "Wet" if short else text})

    models = {"writer": tg.testing.FakeModel(reply)}
    built = tg.build("riddles", tmp_path / "words.txt", tmp_path / "out", models=models)
    assert built.items == 2
    reasons = [reason["reason"] for stage in built.summary["stages"] for reason in stage["reasons"]]
    assert reasons == ["blank", "gives_away"]
    assert len(models["writer"].calls) == 4


def test_the_benchmark_asks_and_is_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its files in a folder of their own, as it would lie among the benchmarks."""
    folder = tmp_path / "varn"
    (folder / "prompts").mkdir(parents=True)
    for file, word in (
        ("__init__", "class VarnOptions"),
        ("task", "class VarnRow"),
        ("studies", "Varn's tables"),
    ):
        (block,) = (block for block in BLOCKS if word in block)
        (folder / f"{file}.py").write_text(block, encoding="utf-8")
    for name in ("short", "full"):
        (folder / "prompts" / f"{name}-1.txt").write_text("{context} {question}")
    monkeypatch.setattr(papers, "__path__", [*papers.__path__, str(tmp_path)])
    monkeypatch.setattr(base, "BENCHMARKS", base.all_benchmarks())
    install(tmp_path, monkeypatch, "varn")
    tests = run("def test_wrong_rows_are_named")
    tests["test_the_questions"](tmp_path)
    tests["test_wrong_rows_are_named"](tmp_path)
    studies = import_module("trueground.wings.papers.varn.studies").STUDIES
    assert studies.comparable("open", {"style": "short"}, {})
    data = tests["write"](tmp_path / "data.jsonl")
    done = tg.run("varn/open", "fake:Ann", data=data, out=tmp_path / "run")
    assert done.summary["recall"].mean == 1.0


def test_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a package of its own, which is where a user would have it."""
    (tmp_path / "counting").mkdir()
    for file, word in (("__init__", "def count_words("), ("command", "def count(")):
        (block,) = (block for block in BLOCKS if word in block)
        code = block.replace("trueground.counting", "counting")
        (tmp_path / "counting" / f"{file}.py").write_text(code, encoding="utf-8")
    install(tmp_path, monkeypatch, "count")
    (tmp_path / "text.txt").write_text("a text of words", encoding="utf-8")

    counted = trueground("count", "text.txt", "--shortest", "3", cwd=tmp_path)
    nothing = trueground("count", "text.txt", "--shortest", "9", cwd=tmp_path)

    assert (counted.returncode, counted.stdout) == (0, "2 words\n")
    assert (nothing.returncode, nothing.stdout) == (3, "0 words\n")
    assert "  count      Count the words of a file.\n" in trueground("--help").stdout
