"""The example that ships: built with the replies beside it, and run."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path

import trueground as tg
from trueground.testing import FakeModel
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.build import BuildSettings
from trueground.wings.papers.builders.directory import DROPPED

FELL = {
    ("documents", "empty"),
    ("documents", "duplicate_text"),
    ("candidates", "not_json"),
    ("classify", "class_differs"),
    ("classify", "low_quality"),
    ("gold", "fabricated_fact"),
    ("conflict", "old_left"),
}


def test_the_example_builds_and_runs(tmp_path: Path) -> None:
    with as_file(files("trueground.wings.papers.builders") / "examples" / "grounding") as folder:
        model = f"fake:@{folder / 'replies.jsonl'}"
        built = build(
            "grounding",
            folder / "documents.jsonl",
            tmp_path / "built",
            models={"writer": model, "judge": model},
            settings=BuildSettings(cache=False),
        )
    assert built.items == 12
    rows = map(json.loads, (built.path / DROPPED).read_text().splitlines())
    fell = {(row["stage"], row["reason"]) for row in rows if row["stage"] != "sets"}
    assert fell == FELL
    result = tg.run(
        "truly-ground/conflict-dist",
        FakeModel("Orvane was settled in 1711."),
        data=built.path / "dataset",
        out=tmp_path / "run",
        cache=False,
    )
    assert result.summary["answer_accuracy(parts=each)"].mean == 1 / 8
