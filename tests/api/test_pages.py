"""The functions of `tg` render; what computes doesn't need `trueground.reports` at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import trueground as tg
from trueground.evaluate.score import ScoreRequest
from trueground.runs.directory import ITEMS, MANIFEST, RECORDS, REPORT, SUMMARY
from trueground.runs.files import RunFiles
from trueground.runs.result import Result as ComputedResult
from trueground.testing import synthetic_records

METRICS = "f1,support"
# Packages that compute, in a process in which presentation can't be imported.
COMPUTE = """
import sys
from pathlib import Path
sys.modules["trueground.reports"] = None
from trueground.wings.papers.builders import build
from trueground.evaluate import run
from trueground.evaluate.score import ScoreRequest
from trueground.evaluate.shards.score import ShardsRequest

records, folder = sys.argv[1], Path(sys.argv[2])
ScoreRequest(records, metrics="f1,support", out=folder / "plain").score()
shards = {"shards": 2, "workers": 1}
ShardsRequest(records, metrics="f1,support", out=folder / "shards", **shards).score_shards()
"""


def write_rows(path: Path) -> Path:
    rows = synthetic_records(40, seed=5)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_compute_without_reports_writes_the_same_files_but_no_page(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.jsonl")
    with_page = tmp_path / "page"
    tg.score(file, metrics=METRICS, out=with_page)

    done = subprocess.run(
        [sys.executable, "-c", COMPUTE, str(file), str(tmp_path)], capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert (with_page / REPORT).exists()
    for run in (tmp_path / "plain", tmp_path / "shards"):
        assert not (run / REPORT).exists()
        assert RunFiles(run).read_manifest().status == "finished"
        for name in (ITEMS, SUMMARY):
            assert (run / name).read_bytes() == (with_page / name).read_bytes(), name


def test_page_is_written_after_the_numbers_and_before_the_run_is_finished(tmp_path: Path) -> None:
    seen = {}

    def look(run_dir: Path, *, is_sample: bool = False) -> Path:
        seen["files"] = {path.name for path in run_dir.iterdir()}
        seen["status"] = RunFiles(run_dir).read_manifest().status
        seen["is_sample"] = is_sample
        return run_dir / REPORT

    file = write_rows(tmp_path / "a.jsonl")
    ScoreRequest(file, metrics=METRICS, out=tmp_path / "run").score(look)

    assert seen["files"] >= {MANIFEST, RECORDS, ITEMS, SUMMARY}
    assert seen["status"] == "running"
    assert seen["is_sample"] is False


def test_page_that_fails_leaves_the_run_failed_and_resumable(tmp_path: Path) -> None:
    def fail(run_dir: Path, *, is_sample: bool = False) -> Path:
        raise tg.errors.WriteError("no room for a page")

    file, run = write_rows(tmp_path / "a.jsonl"), tmp_path / "run"
    with pytest.raises(tg.errors.WriteError, match="no room"):
        ScoreRequest(file, metrics=METRICS, out=run).score(fail)
    assert RunFiles(run).read_manifest().status == "failed"

    tg.score(file, metrics=METRICS, out=run)
    assert RunFiles(run).read_manifest().status == "finished"
    assert (run / REPORT).exists()


def test_results_of_tg_show_a_text_and_a_table(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.jsonl")
    result = tg.score(file, metrics=METRICS)
    assert isinstance(result, tg.Result)
    assert isinstance(result, ComputedResult)
    assert isinstance(result.summary, tg.Summary)
    assert "in memory; .items" in repr(result)
    assert "support" in repr(result.summary)
    assert result._repr_html_().startswith("<div>")
