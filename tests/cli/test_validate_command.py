"""`trueground validate` as a user types it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.commands import Done, trueground

TEXT = "The old mill was built in 1903 by two brothers. It stands by the river Elm."
CLAIMS = (
    ("The mill was built in 1903.", 1),
    ("It stands by the river Elm.", 1),
    ("Two brothers built the mill.", 1),
    ("The mill was built in 1930.", 0),
    ("It stands by the river Oak.", 0),
    ("Bread is baked there every morning.", 0),
)


def run(*words: str | Path, cwd: Path, stdin: str = "") -> Done:
    return trueground("validate", *words, cwd=cwd, stdin=stdin)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """one.jsonl and two.jsonl.gz: the same claims with other ids; plain.jsonl has no label."""
    path = tmp_path_factory.mktemp("labeled")
    for name in ("one", "two", "plain"):
        human = [{} if name == "plain" else {"human": {"faithful": y}} for _, y in CLAIMS]
        text = "".join(
            json.dumps({"id": f"{name}{i}", "response": c, "contexts": [TEXT], **human[i]}) + "\n"
            for i, (c, _) in enumerate(CLAIMS)
        )
        (path / f"{name}.jsonl").write_text(text, encoding="utf-8")
        (path / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return path


def test_text(folder: Path) -> None:
    done = run("one.jsonl", "two.jsonl.gz", "--resamples", "100", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Best by AUROC, mean over 2 sets: ")
    told = "12 records that people have labeled faithful, in 2 sets; 50 % are positive"
    assert any(line.startswith(told) for line in lines)
    rows = [" ".join(line.split()) for line in lines if line.startswith("k_precision ")]
    assert any("12 100.0 %" in row for row in rows)
    assert any(line.startswith("AUROC by set") for line in lines)
    assert any(line.startswith("- abstained: less is better") for line in lines)


def test_json_is_the_same_bytes_from_a_file_and_standard_input(folder: Path) -> None:
    words = ("--format", "json", "--resamples", "50", "--metrics", "k_precision,support")
    first, again = (run("one.jsonl", *words, cwd=folder) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == again.stdout
    text = (folder / "one.jsonl").read_text(encoding="utf-8")
    piped = json.loads(run("-", *words, cwd=folder, stdin=text).stdout)
    of_file = json.loads(first.stdout)
    assert piped["sets"][0]["name"] == "stdin"
    assert piped["sets"][0]["metrics"] == of_file["sets"][0]["metrics"]
    assert of_file["format"] == "trueground-validation-1"


def test_out_folder_and_run(folder: Path) -> None:
    words = ("--resamples", "50", "--quiet", "--out", "out")
    done = run("one.jsonl", *words, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "out" / "validation.html").stat().st_size > 10_000
    again = run("one.jsonl", *words, cwd=folder)
    assert again.returncode == 2
    assert "not empty" in again.stderr
    assert run("one.jsonl", *words, "--overwrite", cwd=folder).returncode == 0
    scored = trueground("score", "one.jsonl", "--out", "run", "--quiet", cwd=folder)
    assert scored.returncode == 0, scored.stderr
    of_run = json.loads(run("run", "--resamples", "50", "--format", "json", cwd=folder).stdout)
    of_file = json.loads((folder / "out" / "validation.json").read_text(encoding="utf-8"))
    assert of_run["sets"][0]["metrics"] == of_file["sets"][0]["metrics"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["plain.jsonl"], "no record has a human label"),
        (["one.jsonl", "--label", "fluent"], "unknown label 'fluent'. Known: faithful."),
        (["one.jsonl", "--judge", "lexcial"], "Did you mean 'lexical'"),
        (["one.jsonl", "--metrics", "k_precison"], "Did you mean 'k_precision'"),
        (["one.jsonl", "one.jsonl"], "given twice"),
        (["none.jsonl"], "none.jsonl"),
        (["one.jsonl", "--limit", "3"], "3 of 3 labeled records are positive"),
        (["one.jsonl", "--level", "2"], "--level 2.0: expected a number between 0 and 1"),
        (["one.jsonl", "--pairs"], "unknown label 'preference'"),
        (["one.jsonl", "--out", "no/v.json"], "the folder no does not exist"),
        ([], "Missing argument"),
    ],
)
def test_refused(folder: Path, words: list[str], told: str) -> None:
    done = run(*words, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
