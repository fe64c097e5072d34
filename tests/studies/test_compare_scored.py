"""Runs that have scored no item in common, and differences that no score can have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.commands import trueground
from tests.reports.payload import words
from tests.texts import comparison_text
from typer.testing import CliRunner

import trueground as tg
from trueground.cli.app import app
from trueground.errors import UsageError
from trueground.reports.blocks import Table, Text
from trueground.studies.compare_pair import check_detect
from trueground.studies.comparing import compare
from trueground.studies.comparison_pages import comparison_page
from trueground.studies.prompts_page import prompts_section

GROUNDED = "grounding_precision,k_precision"
REFUSAL = "I don't know."


def rows(responses: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{i}",
            "question": f"When was the tower finished? ({i})",
            "contexts": ["The tower was finished in 1931."],
            "references": ["1931"],
            "response": response,
        }
        for i, response in enumerate(responses)
    ]


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """A declines every question, B answers them."""
    for name, response in (("a", REFUSAL), ("b", "It was finished in 1931.")):
        tg.score(rows([response] * 3), metrics=f"f1,{GROUNDED}", out=tmp_path / name, resamples=10)
    return [tmp_path / "a", tmp_path / "b"]


def test_a_metric_that_no_item_has_in_both_is_told_with_its_statuses(runs: list[Path]) -> None:
    found = compare(runs)
    note = "grounding_precision: no item is scored in both (a: 3 abstained; b: 3 scored)"
    assert note in found.pairs[0].notes
    assert not any(told.startswith("f1:") for told in found.pairs[0].notes)
    page = words(comparison_page(found.as_dict()).to_html())
    for shown in (comparison_text(found.as_dict(), every=True, width=300), page):
        assert note in " ".join(shown.split())
        assert "not known: no item is scored in both" in shown
        assert "fewer than two items" not in shown


def test_runs_without_any_common_score_are_refused(runs: list[Path]) -> None:
    with pytest.raises(UsageError) as caught:
        compare(runs, metrics="grounding_precision")
    told = str(caught.value)
    assert told.startswith(f"a = {runs[0]}, b = {runs[1]}: nothing can be compared; ")
    assert "grounding_precision: no item is scored in both (a: 3 abstained; b: 3 scored)" in told
    typed = ("compare", *map(str, runs), "--metrics", "grounding_precision", "--format", "json")
    done = trueground(*typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing can be compared" in done.stderr


def test_a_single_common_item_is_enough(tmp_path: Path) -> None:
    answers = [[REFUSAL, "1931", "1931"], ["1931", "1931", REFUSAL]]
    for name, responses in zip("ab", answers, strict=True):
        tg.score(rows(responses), metrics="grounding_precision", out=tmp_path / name, resamples=10)
    metric = compare([tmp_path / "a", tmp_path / "b"]).pairs[0].metrics["grounding_precision"]
    assert metric.result.n == 1


def test_an_f1_that_is_left_out_is_nothing_to_compare(tmp_path: Path) -> None:
    for name in "ab":
        tg.score(rows(["1931 [1]."] * 3), metrics="citation_f1", out=tmp_path / name, resamples=10)
    with pytest.raises(UsageError, match="citation_f1 is left out: it comes from"):
        compare([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize(
    ("detect", "told"),
    [
        (2, "--detect 2: a difference of f1 lies between 0 and 1; 2 points are --detect 0.02."),
        (1, "--detect 1: a difference of f1 lies between 0 and 1; 1 point is --detect 0.01."),
        (200, "--detect 200: a difference of f1 lies between 0 and 1. For"),
    ],
)
def test_points_are_no_differences(runs: list[Path], detect: float, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        compare(runs, detect=[0.02, detect])
    assert told in str(caught.value)
    assert compare(runs, detect=[0.99]).pairs[0].metrics["f1"].sizes is not None


def test_scores_beyond_one_may_differ_by_more() -> None:
    wide, empty, unit = np.array([[0.5], [7.0]]), np.full((2, 1), np.nan), np.array([[0.0], [1.0]])
    check_detect([2.0], ["count"], wide, unit)
    check_detect([2.0], ["none"], empty, empty)
    with pytest.raises(UsageError, match="of share lies"):
        check_detect([2.0], ["count", "share"], np.hstack([wide, unit]), np.hstack([wide, empty]))


def test_help_says_what_a_point_is() -> None:
    done = CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "200"})
    assert "(0.02 is 2 points, the default)" in " ".join(done.stdout.split())


def test_small_p_of_prompts_is_worded_as_in_compare() -> None:
    difference = {"prompt": "b", "difference": -1.0, "ci": (-1.0, -0.9), "higher": 0, "lower": 40}
    entry = {
        "means": [1.0, 0.0],
        "max": 1.0,
        "min": 0.0,
        "range": 1.0,
        "sd": 0.7,
        "sd_beyond_chance": 0.7,
        "flips": None,
        "differences": [difference | {"p_holm": 1e-9}, difference | {"p_holm": None}],
    }
    study = {
        "task": "t",
        "model": "m",
        "headline": "f1",
        "questions": 40,
        "ci_level": 0.95,
        "prompts": [{"name": name, "run": name} for name in "ab"],
        "metrics": {"f1": entry},
    }
    _, sentence, *_, differences, _ = prompts_section(study).blocks
    assert isinstance(differences, Table)
    assert [row.cells[2] for row in differences.rows] == ["<0.0001", "–"]
    assert isinstance(sentence, Text)
    assert str(sentence.text).startswith("f1: the means span 1.0000, from the prompt")
