"""`trueground annotate` and `trueground agreement` as users type them, in real processes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.commands import trueground
from tests.wings.labeling.filling import fill, fill_sheet

from trueground.wings.labeling.kinds import AnnotationTask

RECORDS = [
    {"id": f"r{n}", "question": "How many?", "references": ["7"], "response": f"{n}"}
    for n in range(5, 9)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tasks-1.jsonl and tasks-2.csv, filled in; they differ on r7."""
    path = tmp_path_factory.mktemp("annotate")
    lines = "".join(json.dumps(record) + "\n" for record in RECORDS)
    (path / "answers.jsonl").write_text(lines, "utf-8")
    done = trueground(
        *("annotate", "export", "correctness", "answers.jsonl", "--out", "tasks.jsonl", "--csv"),
        cwd=path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("correctness: 4 tasks for 2 annotators\n")
    assert (path / "tasks-instructions.md").read_text("utf-8").startswith("# correctness: does")
    fill(path / "tasks-1.jsonl", lambda line: {"correct": line["id"].startswith("r7~")}, seconds=20)
    fill_sheet(path / "tasks-2.csv", lambda _: {"correct": "no", "seconds": "30"}, delimiter=";")
    return path


def test_import_and_a_third(folder: Path) -> None:
    files = ("tasks-1.jsonl", "tasks-2.csv")
    done = trueground(
        *("annotate", "import", *files, "--out", "labels.jsonl", "--third", "third.jsonl"),
        cwd=folder,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "third    third.jsonl: 1 task for one more annotator" in done.stdout
    labels = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    shown = {"question": "How many?", "references": ["7"], "response": "5"}
    assert labels[0] == {
        "kind": "correctness",
        "id": AnnotationTask.of("correctness", "r5", shown).id,
        "values": {"correct": "no"},
        "how": {"correct": "agreed"},
        "annotators": 2,
    }
    fill(folder / "third.jsonl", lambda _: {"correct": "yes"})
    again = trueground(
        *("annotate", "import", *files, "third.jsonl", "--out", "labels.jsonl", "--overwrite"),
        *("--format", "json"),
        cwd=folder,
    )
    told = json.loads(again.stdout)
    assert (told["agreed"], told["majority"], told["disputed"]) == (3, 1, 0)
    assert told["annotators"]["2"] == {"done": 4, "unfinished": 0, "seconds": 30.0}


def test_agreement(folder: Path) -> None:
    done = trueground("agreement", "tasks-1.jsonl", "tasks-2.csv", "--resamples", "100", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "correctness\n4 tasks, 4 answered by two or more" in done.stdout
    assert any(line.split()[:2] == ["agreement", "0.7500"] for line in done.stdout.splitlines())
    assert re.search(r"r7~[0-9a-f]{8}  disagreement 1\.00, 25", done.stdout)
    words = ("agreement", "tasks-1.jsonl", "tasks-2.csv", "--format", "json", "--resamples", "50")
    found = json.loads(trueground(*words, cwd=folder).stdout)["kinds"]["correctness"]
    assert found["fields"]["correct"]["agreement"]["value"] == 0.75
    assert found["fields"]["correct"]["cohen_kappa"]["value"] == 0.0
    assert found["hardest"][0]["answers"] == {"1": {"correct": "yes"}, "2": {"correct": "no"}}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("annotate export corectness answers.jsonl --out a.jsonl", "Did you mean 'correctness'?"),
        ("annotate export support answers.jsonl --out a.jsonl", "4 without contexts"),
        ("annotate export correctness answers.jsonl --out no/a.jsonl", "the folder no does not"),
        ("annotate import no.jsonl --out a.jsonl", "no.jsonl cannot be read: No such file"),
        ("annotate import answers.jsonl --out a.jsonl", "answers.jsonl, line 1: not a line"),
        ("annotate import tasks-2.jsonl --out a.jsonl", "no task is filled in yet (4 to do); fill"),
    ],
)
def test_bad_input_is_told_in_words(folder: Path, words: str, said: str) -> None:
    done = trueground(*words.split(), cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "a.jsonl").exists()
    assert not (folder / "a-1.jsonl").exists()
