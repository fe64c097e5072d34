"""What cannot be done in shards: told before anything is begun, and nothing is left behind."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import fsspec
import pytest
from tests.wings.papers.faitheval_files import data_folder

import trueground as tg
from trueground.cli.app import run
from trueground.errors import WriteError
from trueground.evaluate.shards import merge as merging
from trueground.files.output_path import OutputPath
from trueground.testing import synthetic_records

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Told:
    """A command in a folder with a.jsonl: (exit code, what it says on standard error)."""
    monkeypatch.chdir(tmp_path)
    lines = [json.dumps(row) + "\n" for row in synthetic_records(40, seed=3)]
    Path("a.jsonl").write_text("".join(lines))
    Path("bad.jsonl").write_text('{"id": 1\n')

    def told(*words: str) -> tuple[int, str]:
        scoring = ["--metrics", "f1"] if words[0] == "score" else []
        code = run([*words, *scoring])
        return code, capsys.readouterr().err.strip()

    return told


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("score - --shards 2 --out new", "standard input (-) cannot be cut into shards"),
        ("score a.jsonl --shard 2/3", "--shard 2/3 needs --out, which all shards share"),
        ("score a.jsonl --shards 2 --out a.jsonl", "a.jsonl is a file; name a folder"),
        ("score a.jsonl --shards 2 --out /proc/x", "cannot use /proc/x as output folder"),
        ("score bad.jsonl --shards 2 --out new/run", "bad.jsonl, line 1"),
        ("score none.jsonl --shards 2 --out new/run", "none.jsonl does not exist"),
        ("score memory://no/a.jsonl --shards 2 --out new", "memory://no/a.jsonl does not exist"),
        ("score a.jsonl --out foo://b/run", "foo://b/run cannot be used"),
        ("run x/y --model fake:echo --out s3://b/run", "--out is the URL s3://b/run. Give a path"),
        ("merge new", "new does not exist; name the --out of a command with --shard I/N"),
        ("merge .", ". holds no shards; name the --out"),
        ("merge a.jsonl", "a.jsonl is a file; name a folder"),
    ],
)
def test_nothing_is_begun(told: Told, words: str, says: str) -> None:
    code, error = told(*words.split())
    assert code == 2
    assert says in error
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["a.jsonl", "bad.jsonl"]


def test_a_store_whose_package_is_not_there(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: Any, **__: Any) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", absent)
    monkeypatch.setattr(fsspec, "open", absent)
    install = 'needs an optional package: pip install "trueground[s3]"'
    for words in (
        "score a.jsonl --out s3://b/run",
        "score s3://b/run --shards 2 --out new",
        "score s3://b/run --out new",
        "merge s3://b/run",
    ):
        assert told(*words.split()) == (2, f"trueground: s3://b/run {install}")
    code, error = told("merge", "gs://b/run")
    assert (code, "gs://b/run needs a package that is not installed" in error) == (2, True)


def test_a_run_in_a_store_by_the_command(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["score", "a.jsonl", "--metrics", "f1", "--workers", "1", "--out", "memory://cli/run"]
    assert run(words) == 0
    assert capsys.readouterr().out.endswith("\nfiles  memory://cli/run/\n")
    assert run([*words, "--overwrite", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == "memory://cli/run"


@pytest.mark.parametrize(
    "words", ["report s3://b/run", "view s3://u:pw@b/run", "compare a s3://b/x"]
)
def test_runs_are_read_from_folders(told: Told, words: str) -> None:
    code, error = told(*words.split())
    assert code == 2
    assert "is a URL, but `" in error
    assert "reads only folders on this machine. Copy the run" in error
    assert "s3://" in error
    assert "pw" not in error


def test_shards_are_not_forgotten_by_another_command(told: Told) -> None:
    assert told("score", "a.jsonl", "--shard", "1/2", "--out", "run")[0] == 0
    before = sorted(path.name for path in Path("run").rglob("*"))
    for words in ("score a.jsonl --out run", "score a.jsonl --out run --overwrite"):
        code, error = told(*words.split())
        assert (code, "run holds an unfinished run in shards" in error) == (2, True)
    assert sorted(path.name for path in Path("run").rglob("*")) == before
    assert told("score", "a.jsonl", "--shard", "2/2", "--out", "run")[0] == 0
    assert told("merge", "run", "--quiet") == (0, "")


def test_shards_of_a_run_are_of_one_command(
    told: Told, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told before a call is paid for."""
    base = ["run", "faitheval/counterfactual", "--data", str(data_folder(tmp_path / "data"))]
    base += ["--no-cache", "--model", "fake:echo", "--quiet", "--out", "out"]
    assert told(*base, "--shard", "1/2")[0] == 0
    for more, says in [
        (["--shard", "2/3"], "out/shards holds 00001-of-00002, which is no shard of 3"),
        (
            ["--shard", "2/2", "--temperature", "0.7"],
            "out/shards/00001-of-00002 holds a finished run of another command",
        ),
        ([], "out holds an unfinished run in shards"),
    ]:
        code, error = told(*base, *more)
        assert code == 2
        assert says in error
    assert told(*base, "--shard", "2/2")[0] == 0
    assert run(["merge", "out", "--format", "json"]) == 0
    merged = json.loads(capsys.readouterr().out)
    assert (merged["out"], merged["replies"]) == ("out", 3)
    assert "--shard" not in merged["next"]
    assert merged["next"].split()[0] == "trueground"
    code, error = told(*base, "--shard", "1/2")
    assert (code, "out holds replies already; go on by the same command" in error) == (2, True)
    assert told(*base)[0] == 0


def _ray(init: Callable[..., None]) -> ModuleType:
    found: Any = ModuleType("ray")
    found.is_initialized, found.init = (lambda: False), init
    return found  # type: ignore[no-any-return]


def test_a_cluster_that_is_not_there(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(*_: Any, **__: Any) -> None:
        raise ConnectionError("Could not find any running Ray instance.\nmore lines")

    monkeypatch.setitem(sys.modules, "ray", _ray(init))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        for address, reason in [
            (f"127.0.0.1:{port}", "Connection refused"),
            ("auto", "(Could not find any running Ray instance.); start one with `ray start"),
        ]:
            code, error = told("score", "a.jsonl", "--engine", f"ray:{address}", "--out", "new")
            assert code == 5
            assert f"--engine ray:{address}: no Ray cluster is reached there" in error
            assert reason in error
    assert not Path("new").exists()


def test_a_full_disk_in_the_merge_is_named_by_its_place(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items go to the run and a sample of them to a page elsewhere, at the same time."""
    assert told("score", "a.jsonl", "--shard", "1/1", "--out", "run")[0] == 0
    monkeypatch.setattr(merging, "_LISTED", 4)

    def full(_: bytes) -> int:
        raise OSError(28, "No space left on device")

    normal = OutputPath.replacing

    def opened(output: OutputPath) -> Any:
        from contextlib import nullcontext

        return (
            nullcontext(SimpleNamespace(write=full))
            if str(output.path) == "run/items.jsonl"
            else normal(output)
        )

    with monkeypatch.context() as patch:
        patch.setattr(OutputPath, "replacing", opened)
        with pytest.raises(WriteError, match=r"writing run/items\.jsonl failed: No space left"):
            tg.merge("run")
    assert told("merge", "run", "--quiet") == (0, "")
