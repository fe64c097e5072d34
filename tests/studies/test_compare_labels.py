"""Labels of two runs' answers correct the difference between them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.texts import comparison_text
from tests.wings.labeling.filling import fill

import trueground as tg
from trueground.errors import InputError
from trueground.studies.comparing import compare
from trueground.studies.comparison_pages import comparison_page
from trueground.wings.labeling.operations import export_tasks, import_answers

N = 150


def people(run: str, i: int) -> int:
    """System b is right more often, and the judge does not see all of it."""
    return int(i % 3 > 0) if run == "a" else int(i % 4 > 0 or i % 10 == 8)


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    for run in "ab":
        rows = []
        for i in range(N):
            said = f"The bridge number {i} has {i % 7 + 2} arches."
            context = said if people(run, i) and i % 10 else f"The bridge {i} is made of slate."
            rows.append({"id": f"q{i}", "question": "?", "contexts": [context], "response": said})
        tg.score(rows, metrics="support", out=tmp_path / run, resamples=10)
    return [tmp_path / run for run in "ab"]


def lines(of: str, ids: Sequence[int], **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "human": {"faithful": people(of, i)}, **more} for i in ids]


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_file_for_all_runs_or_one_each(tmp_path: Path, runs: list[Path]) -> None:
    ids = random.Random(2).sample(range(N), 90)
    both = write(
        tmp_path / "l.jsonl",
        lines("a", ids, run="a", drawn="random") + lines("b", ids[5:], run="b", drawn="random"),
    )
    compared = compare(runs, labels=[both], allow_mismatch=True)
    (pair,) = compared.pairs
    one = pair.corrected["support"]
    truth = sum(people("b", i) - people("a", i) for i in range(N)) / N
    assert one["ci"][0] <= truth <= one["ci"][1]
    assert one["labels"] == 85
    assert one["judge_difference"] == pytest.approx(pair.metrics["support"].result.difference)
    assert one["ci"][1] - one["ci"][0] < one["labels_ci"][1] - one["labels_ci"][0]
    each = [write(tmp_path / f"{run}.jsonl", lines(run, ids)) for run in "ab"]
    (other,) = compare(runs, labels=each, labels_drawn="random", allow_mismatch=True).pairs
    assert other.corrected["support"]["labels"] == 90
    told = f"People would call {100 * one['difference']:+.1f} points ["
    assert told in " ".join(comparison_text(compared.as_dict()).split())
    assert told in comparison_page(compared.as_dict()).to_html()


def test_labels_of_the_other_run_are_told(tmp_path: Path, runs: list[Path]) -> None:
    """By id alone nothing tells of which run a label is but the judge, item by item."""
    ids = random.Random(2).sample(range(N), 90)
    each = [write(tmp_path / f"{run}.jsonl", lines(run, ids)) for run in "ba"]
    compared = compare(runs, labels=each, labels_drawn="random", allow_mismatch=True)
    (pair,) = compared.pairs
    (note,) = pair.corrected["support"]["notes"]
    assert note.endswith("were the labels of the two runs swapped?")
    assert "runs swapped?" in " ".join(comparison_text(compared.as_dict()).split())
    for path, run in zip(each, "ba", strict=True):
        write(path, lines(run, ids, run=run))
    with pytest.raises(InputError, match="--labels files as runs are read in the order of the run"):
        compare(runs, labels=each, labels_drawn="random", allow_mismatch=True)


def test_when_all_are_labeled_the_difference_is_that_of_the_labels(
    tmp_path: Path, runs: list[Path]
) -> None:
    each = [write(tmp_path / f"{run}.jsonl", lines(run, range(N))) for run in "ab"]
    (pair,) = compare(runs, labels=each, allow_mismatch=True).pairs
    one = pair.corrected["support"]
    truth = sum(people("b", i) - people("a", i) for i in range(N)) / N
    assert one["difference"] == one["labels_difference"] == pytest.approx(truth)
    assert one["ci"][0] < truth < one["ci"][1]


def test_the_same_sample_of_two_runs_is_one_draw(tmp_path: Path, runs: list[Path]) -> None:
    for run, path in zip("ab", runs, strict=True):
        out = tmp_path / f"t{run}.jsonl"
        export_tasks("support", [str(path)], out, annotators=1, sample=80, seed=3)
        fill(
            tmp_path / f"t{run}-1.jsonl",
            lambda row, run=run: {
                "support": "fully" if people(run, int(row["id"][1:].split("~")[0])) else "not"
            },
        )
        import_answers([tmp_path / f"t{run}-1.jsonl"], tmp_path / f"l{run}.jsonl")
    labels = [tmp_path / "la.jsonl", tmp_path / "lb.jsonl"]
    (pair,) = compare(runs, labels=labels, allow_mismatch=True).pairs
    one = pair.corrected["support"]
    assert (one["labels"], one["drawn"], one["notes"]) == (80, "random", [])


def test_without_labels_a_pair_says_nothing_of_them(runs: list[Path]) -> None:
    (pair,) = compare(runs, allow_mismatch=True).as_dict()["pairs"]
    assert "corrected" not in pair


def test_labels_that_name_no_run_are_refused(tmp_path: Path, runs: list[Path]) -> None:
    labels = write(tmp_path / "l.jsonl", lines("a", range(60), drawn="random"))
    with pytest.raises(InputError, match="the label of 'q0' names no run"):
        compare(runs, labels=[labels], allow_mismatch=True)
    write(labels, lines("a", range(60), drawn="random", run="a"))
    with pytest.raises(InputError, match="no label 'faithful' or 'correct'"):
        compare(runs, labels=[labels], allow_mismatch=True)


def test_too_few_items_with_both_are_told(tmp_path: Path, runs: list[Path]) -> None:
    labels = write(
        tmp_path / "l.jsonl",
        lines("a", range(60), run="a", drawn="random")
        + lines("b", range(40, 100), run="b", drawn="random"),
    )
    (pair,) = compare(runs, labels=[labels], allow_mismatch=True).pairs
    assert pair.corrected == {}
    assert any("found 20 items with labels of both" in note for note in pair.notes)
