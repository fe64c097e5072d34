"""Errors by any metric, threshold and label: on made runs, and on people's real labels."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from tests.commands import trueground
from tests.reports.payload import blocks, words
from tests.texts import errors_text

import trueground as tg
from trueground.errors import InputError, UsageError
from trueground.wings.papers.errors.lines import read_selected
from trueground.wings.papers.errors.study import sort_errors

HUMAN = Path(__file__).parents[4] / "shared" / "data" / "human"


def row(id_: str, response: str, human: dict[str, float] | None = None) -> dict[str, Any]:
    return {
        "id": id_,
        "question": "Who built the mill?",
        "contexts": ["The mill was built by Ann Marsh in 1903."],
        "references": ["Ann Marsh"],
        "response": response,
        **({"human": human} if human else {}),
    }


LONG = "It is told by all who know it that the mill was made by a certain Ann Marsh long ago."
ROWS = [
    row("low", LONG, {"correct": 1, "faithful": 0}),
    row("high", "Ann Marsh", {"correct": 1, "faithful": 1}),
    row("wrong", "Bob", {"correct": 0, "faithful:x": 0, "faithful:y": 0, "faithful:z": 1}),
    row("wrong-high", "Ann", {"correct": 0, "faithful:x": 1, "faithful:y": 0}),
    row("new", "Quite elsewhere, one hears", {"faithful:x": 1}),
    row("bare", LONG),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    tg.score(ROWS, metrics="f1,recall,k_precision,abstained", out=tmp_path / "run", resamples=10)
    return tmp_path / "run"


def test_intervals_by_label_are_drawn_as_asked(run: Path) -> None:
    found = sort_errors(run, seed=3, resamples=50, level=0.8)["by_label"]
    assert (found["ci_level"], found["resamples"], found["seed"]) == (0.8, 50, 3)
    assert "80 % interval" in errors_text(sort_errors(run, level=0.8))
    for wrong in ({"resamples": 0}, {"seed": -1}, {"level": 1.0}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            sort_errors(run, **wrong)


def test_mean_median_and_deviation_by_label(run: Path) -> None:
    found = sort_errors(run)
    told = found["by_label"]
    assert [(r["label"], r["n"]) for r in told["rows"]] == [(1, 2), (0, 2)]
    f1 = {i["id"]: i["scores"]["f1"] for i in map(orjson.loads, open_lines(run / "items.jsonl"))}
    mine = np.array([f1["low"], f1["high"]])
    first = told["rows"][0]
    assert (first["mean"], first["median"]) == (mine.mean(), np.median(mine))
    assert first["sd"] == pytest.approx(mine.std(ddof=1))
    assert told["table"] == {
        "positive_low": 1, "positive_high": 1, "negative_low": 1, "negative_high": 1,
    }  # fmt: skip
    assert found["correct_by"] == {"human.correct": 1, "recall": 1}
    shown = errors_text(found)
    assert "f1 by what people said (human.correct)" in shown
    assert "1 of 2 that people call correct have at most 0.3; 1 of 2 that they do not" in shown


def open_lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def test_another_metric_label_and_threshold(run: Path) -> None:
    """Annotators decide by majority; a tie is no label; recall says nothing of faithful."""
    found = sort_errors(run, metric="k_precision", label="faithful", at_most=0.5)
    assert (found["metric"], found["label"], found["at_most"]) == ("k_precision", "faithful", 0.5)
    assert [item["id"] for item in read_selected(run / "errors.jsonl")] == ["new"]
    assert found["correct_by"] == {"human.faithful": 1}
    (item,) = read_selected(run / "errors.jsonl")
    assert (item["metric"], item["score"] <= 0.5, item["f1"]) == ("k_precision", True, 0.0)
    assert [(r["label"], r["n"]) for r in found["by_label"]["rows"]] == [(1, 2), (0, 2)]
    assert "1 of 6 items are faithful with k_precision of at most 0.5" in errors_text(found)


def test_sort_errors_unsuitable_run_raises_error(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lower is better for abstained"):
        sort_errors(run, metric="abstained")
    with pytest.raises(InputError, match=r"no record has human\.nice\. Choose another --label"):
        sort_errors(run, label="nice")
    with pytest.raises(UsageError, match="expected a number"):
        sort_errors(run, metric="k_precision", at_most=float("inf"))
    tg.score([ROWS[-1]], metrics="f1", out=tmp_path / "bare", resamples=10)
    with pytest.raises(InputError, match=r"human\.correct, and the run has no recall"):
        sort_errors(tmp_path / "bare")
    labeled = [r for r in ROWS if "correct" in r.get("human", {})]
    tg.score(labeled, metrics="f1", out=tmp_path / "labeled", resamples=10)
    assert sort_errors(tmp_path / "labeled")["n"] == 1  # people are enough


def test_page_and_json(run: Path) -> None:
    typed = ["errors", str(run), "--page", str(run.parent / "e.html"), "--format", "json"]
    done = trueground(*typed)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [item["id"] for item in found["items"]] == ["low", "bare"]
    page = (run.parent / "e.html").read_text("utf-8")
    assert '"href":"./run/report.html#item-low"' in page
    (entries,) = blocks(page, "entries")
    assert [one["tags"] for one in entries["entries"]] == [{"category": "not sorted"}] * 2
    assert ["not sorted", 2, 1.0] in [
        row["cells"] for table in blocks(page, "table") for row in table["rows"]
    ]
    assert "Not sorted are 2: write a category into the file" in words(page)
    assert "f1 by what people said (human.correct)" in words(page)
    bad = trueground(*typed[:2], "--page", run / "items.jsonl")
    assert (bad.returncode, "name it FILE.html" in bad.stderr) == (2, True)


@pytest.mark.parametrize("name", ["evouna_tq", "shroom"])
def test_real_labels(name: str, tmp_path: Path) -> None:
    """Counts and means by plain Python from the set and the run's items."""
    source = HUMAN / f"{name}.jsonl.gz"
    if not source.exists():
        pytest.skip(f"{source} is not there")
    tg.score(source, metrics="f1,rouge_l", out=tmp_path / "run", resamples=10)
    with gzip.open(source) as lines:
        labels = {r["id"]: r["human"]["correct"] for r in map(orjson.loads, lines)}
    items = [orjson.loads(line) for line in open_lines(tmp_path / "run" / "items.jsonl")]
    for metric, limit in (("f1", 0.3), ("rouge_l", 0.45)):
        values = [(i["scores"][metric], labels[i["id"]] > 0.5) for i in items]
        found = sort_errors(
            tmp_path / "run", metric=metric, at_most=limit, out=tmp_path / f"{metric}.jsonl"
        )
        low = [v for v, positive in values if positive and v is not None and v <= limit]
        assert found["n"] == len(low) == found["by_label"]["table"]["positive_low"] > 100
        for row, wanted in zip(found["by_label"]["rows"], (True, False), strict=True):
            mine = np.array([v for v, positive in values if positive is wanted and v is not None])
            assert (row["n"], row["median"]) == (len(mine), np.median(mine))
            assert row["mean"] == pytest.approx(mine.mean())
            assert row["sd"] == pytest.approx(mine.std(ddof=1))
            assert row["ci"][0] < row["mean"] < row["ci"][1]
