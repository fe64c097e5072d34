"""The command on answers that cite a graph: default metrics, gates, run directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.commands import Done, trueground

ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "question": "Who was Livia Corsi, and where did she die?",
        "knowledge": [
            {
                "qid": "Q7",
                "name": "Livia Corsi",
                "date_of_birth": "1596-07-08",
                "occupation": ["painter", "teacher"],
                "place of birth": "Siena",
            }
        ],
        "gold_knowledge": [
            ["Q7", "occupation", "painter"],
            ["Q7", "date of birth", "1596-07-08"],
            ["Q7", "place of death", "Naples"],
        ],
        "absent_knowledge": [["Q7", "place of death", "Naples"]],
        "response": "Livia Corsi was a painter [Q7, occupation: painter] born on July 8, 1596 "
        "[Q7, date of birth: 1596-07-08]. She died in Naples [NA].",
    },
    {
        "id": "b",
        "question": "What did Livia Corsi do?",
        "knowledge": [{"qid": "Q7", "occupation": "painter"}],
        "gold_knowledge": [["Q7", "occupation", "painter"]],
        "absent_knowledge": [],
        "response": "She was a sculptor [Q7, occupation: sculptor].",
    },
]


def score(folder: Path, *words: str) -> Done:
    source = folder / "answers.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return trueground("score", source, "--format", "json", *words, cwd=folder)


def test_default_metrics_and_evidence(tmp_path: Path) -> None:
    done = score(tmp_path, "--out", "run")
    assert (done.returncode, done.stderr) == (0, "")
    means = {k: v["mean"] for k, v in json.loads(done.stdout)["metrics"].items()}
    expected = {
        "citation_correctness": 0.5,
        "citation_correctness_micro": 2 / 3,
        "citation_precision": 0.5,
        "citation_precision_micro": 2 / 3,
        "citation_recall": 1 / 3,
        "citation_recall_micro": 2 / 4,
        "citation_f1": 0.4,
        "citation_f1_micro": 4 / 7,
        "alignment": 1.0,
        "alignment_micro": 1.0,
        "na_precision": 1.0,
        "na_precision_micro": 1.0,
        "na_recall": 1.0,
        "na_recall_micro": 1.0,
        "na_f1": 1.0,
        "na_f1_micro": 1.0,
    }
    assert {key: means[key] for key in expected} == pytest.approx(expected)
    assert not any("#" in key for key in means)
    lines = (tmp_path / "run" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = map(json.loads, lines)
    assert first["status"]["na_f1"] == "scored"
    assert second["status"]["na_recall"] == "no_claims"
    shown = first["evidence"]
    assert shown["citation_correctness"]["missed"] == [["Q7", "place of death", "Naples"]]
    assert shown["citation_correctness"]["sentences"][1]["missing"] == 1
    assert [c["supported"] for c in shown["alignment"]["alignment"]] == [True, True]
    assert shown["na_precision"]["missing"][0]["text"] == "place of death: Naples"
    assert shown["na_recall"] == {"see": "na_precision", "counts": [1, 1]}
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert "judge:lexical" in json.dumps(manifest)


def test_gates_on_run_level_numbers(tmp_path: Path) -> None:
    passed = score(tmp_path, "--out", "one", "--fail-under", "citation_f1_micro=0.5")
    assert passed.returncode == 0, passed.stderr
    failed = score(tmp_path, "--out", "two", "--fail-under", "citation_f1_micro=0.6")
    assert failed.returncode == 1
    assert "citation_f1_micro" in failed.stderr
