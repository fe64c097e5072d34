"""Sweeps: nothing is paid before everything that can be refused has been looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.faitheval_files import UNANSWERABLE, data_folder, jsonl

from trueground.benchmarks.base import Sources, get_benchmark
from trueground.errors import InputError, OutputError, UnreachableError, UsageError
from trueground.evaluate.run_settings import RunSettings
from trueground.evaluate.task_run import TaskRun
from trueground.files.output_path import OutputPath
from trueground.models.base import ChatRequest, Reply
from trueground.models.prices import Price
from trueground.models.replay import FakeModel
from trueground.studies.sweeps import SweepRuns, prepare_variants
from trueground.types import Status


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def pairs(data: Path, *models: FakeModel, tasks: tuple[str, ...] = ("unanswerable",)) -> SweepRuns:
    benchmark = get_benchmark("faitheval")
    return SweepRuns.of(prepare_variants(benchmark, tasks, {}, Sources(data=data)), models)


def two() -> tuple[FakeModel, FakeModel]:
    return FakeModel("unknown", name="a"), FakeModel("Ann", name="b")


ALL = ("unanswerable", "inconsistent", "counterfactual")


def test_folders_and_names(tmp_path: Path) -> None:
    data = data_folder(tmp_path / "data")
    a, b = FakeModel("x", name="org/m"), FakeModel("x", name="org-m")
    assert [p.where for p in pairs(data, a, b).runs] == ["org-m", "org-m-2"]
    assert [p.where for p in pairs(data, a, tasks=ALL).runs] == list(ALL)
    assert [p.where for p in pairs(data, a).runs] == ["."]
    with pytest.raises(UsageError, match="named twice"):
        pairs(data, a, FakeModel("y", name="org/m"))


@pytest.mark.parametrize("trouble", ["price", "row", "by", "other run", "other files"])
def test_what_can_be_refused_is_refused_before_the_first_call(tmp_path: Path, trouble: str) -> None:
    data, out = data_folder(tmp_path / "data"), tmp_path / "sweep"
    settings: dict[str, Any] = {}
    expected: type[Exception] = OutputError
    if trouble == "price":
        settings["prices"], expected = {"a": Price(1.0, 2.0)}, UsageError
    elif trouble == "row":
        bad = next((data / "FaithEval-counterfactual-v1.0/data").iterdir())
        jsonl(bad, [{"id": "x", "question": "?"}])
        expected = InputError
    elif trouble == "by":
        settings["by"], expected = ("answerable",), UsageError
    elif trouble == "other run":
        pairs(data, *two(), tasks=ALL).run(out, RunSettings(limit=1))
    else:
        (out / "b" / "counterfactual").mkdir(parents=True)
        (out / "b" / "counterfactual" / "thesis.txt").write_text("precious")
    a, b = two()
    with pytest.raises(expected):
        pairs(data, a, b, tasks=ALL).run(out, RunSettings(**settings))
    assert not a.calls
    assert not b.calls


def test_a_model_that_is_not_there_does_not_stop_the_others(tmp_path: Path) -> None:
    def gone(_request: ChatRequest) -> Reply:
        return Reply(status=Status.ERROR, error="nobody there", finish_reason=Reply.UNREACHABLE)

    data = data_folder(tmp_path / "data")
    lost, there = FakeModel(gone, name="gone"), FakeModel("unknown", name="there")
    first, second = pairs(data, lost, there).run(tmp_path / "sweep", RunSettings()).outcomes
    assert isinstance(first.error, UnreachableError)
    assert first.result is None
    assert second.result is not None
    assert second.result.summary["phrase_match_strict"].mean == 1.0
    assert any("nobody there" in line for line in first.notes())


def test_where_a_sweep_without_a_folder_goes(tmp_path: Path) -> None:
    data = data_folder(tmp_path / "data")
    mine = pairs(data, *two())
    settings = RunSettings()
    broken = tmp_path / "runs/20200101T000000Z-faitheval"
    broken.mkdir(parents=True)
    (broken / "manifest.json").write_text("{")
    (broken / "a").mkdir()
    (broken / "a" / "manifest.json").write_text("{")
    out = mine.find_folder("faitheval", settings)
    assert not out.exists()
    mine.run(out, settings)
    assert mine.find_folder("faitheval", settings) != out  # it has ended: a new one is meant
    assert mine.find_folder("faitheval", RunSettings(retry_failed=True)) == out
    manifest = json.loads((out / "b/manifest.json").read_bytes())
    OutputPath(out / "b/manifest.json").write_json(manifest | {"status": "interrupted"})
    assert mine.find_folder("faitheval", settings) == out
    assert mine.find_folder("faitheval", RunSettings(seed=1)) != out


def test_a_dry_run_knows_its_own_run_only(tmp_path: Path) -> None:
    data = data_folder(tmp_path / "data")
    own = pairs(data, FakeModel("unknown", name="a"))
    (mine,), (other,) = own.runs, pairs(data, FakeModel("unknown", name="z")).runs
    own.run(tmp_path / "run", RunSettings())
    found = TaskRun(mine.task, mine.model, RunSettings()).estimate(tmp_path / "run")
    assert (found["items"], found["answered"], found["calls"]) == (len(UNANSWERABLE), 2, 0)
    with pytest.raises(OutputError, match="model"):
        TaskRun(other.task, other.model, RunSettings()).estimate(tmp_path / "run")
