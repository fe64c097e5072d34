"""What holds for every command: closed streams, words that cannot be meant, files that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.evaluate.questions_file import write_questions

RUN = ("run", "faitheval/unanswerable", "--data", "q.jsonl", "--model", "fake:unknown")
SCORE = ("score", "answers.jsonl")
URL = "s3://me:secret@bucket/x"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_questions(tmp_path / "q.jsonl", 3)
    answer = '{"id": "a", "response": "Paris", "references": ["Paris"]}\n'
    (tmp_path / "answers.jsonl").write_text(answer)
    return tmp_path


def trueground(
    *words: str | bytes, cwd: Path, redirected: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell, with the shell's redirections."""
    command = ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-m", "trueground"]
    env = {**os.environ, "TRUEGROUND_HOME": str(cwd / "home")}
    done = subprocess.run([*command, *words], cwd=cwd, env=env, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", [RUN, SCORE])
def test_a_closed_stream_stops_nothing(words: tuple[str, ...], closed: str, folder: Path) -> None:
    done = trueground(*words, "--out", "out", cwd=folder, redirected=closed)
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout != "") == (">&-" not in closed.replace("2>&-", ""))
    assert (folder / "out/summary.json").exists()
    assert (folder / "out/report.html").read_text().startswith("<!doctype html>")


def test_a_full_standard_output_is_told(folder: Path) -> None:
    done = trueground("list", "metrics", cwd=folder, redirected=">/dev/full")
    assert done.returncode == 5
    assert "writing to standard output failed: No space left" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        (*RUN, "--base-url", ""),
        (*RUN, "--model", "gpt", "--base-url", "http://localhost:1/v1", "--base-url", ""),
        (*RUN, "--out="),
        (*RUN, "--prompt", ""),
        (*RUN, "--prices", ""),
        (*RUN, "--wrapper", ""),
        ("run", "faitheval/unanswerable", "--model", "fake:unknown", "--data", ""),
        ("data", "fetch", "mrqa", "--from", ""),
        (*SCORE, "--out", ""),
    ],
)
def test_an_empty_value_is_no_value(words: tuple[str, ...], folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = trueground(*words, cwd=folder)
    option = words[-1].rstrip("=") or words[-2]
    assert done.returncode == 2
    assert done.stderr.startswith(f"trueground: {option} is given an empty value")
    assert sorted(folder.rglob("*")) == before


def test_an_empty_argument_is_no_folder(folder: Path) -> None:
    done = trueground("report", "", cwd=folder)
    assert done.returncode == 2
    assert "an argument is given an empty value" in done.stderr


def test_what_is_no_text_is_told_before_a_folder_is_made(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    for words in ((*RUN, "--model", b"fake:\xff"), (*RUN, b"--by=\xff")):
        done = trueground(*words, cwd=folder)
        assert done.returncode == 2
        assert "is not valid UTF-8: " in done.stderr
        assert "\\udcff'" in done.stderr
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("words", [RUN, SCORE, ("report", "runs"), ("compare", "a", "b")])
def test_results_are_not_written_to_urls(words: tuple[str, ...], folder: Path) -> None:
    for out in (["--out", URL], [f"--out={URL}"]):
        done = trueground(*words, *out, cwd=folder)
        assert done.returncode == 2
        assert "--out is the URL s3://bucket/x; name a path on this machine" in done.stderr
    assert not (folder / "s3:").exists()


def test_a_file_that_fails_is_named(folder: Path) -> None:
    name = "n" * 300
    done = trueground("report", name, cwd=folder)
    assert done.returncode == 2
    assert f"{name}/manifest.json: File name too long" in done.stderr
    assert "standard output" not in done.stderr


def test_a_log_that_cannot_be_opened_is_named(folder: Path) -> None:
    trueground(*RUN, "--out", "out", cwd=folder)
    (folder / "out/responses.jsonl").unlink()
    (folder / "out/responses.jsonl").mkdir()
    done = trueground(*RUN, "--out", "out", cwd=folder)
    assert done.returncode == 2
    assert "responses.jsonl" in done.stderr
    assert "standard output" not in done.stderr
