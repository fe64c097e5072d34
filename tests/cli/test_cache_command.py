"""`trueground cache` as a user types it."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.reports.report_fixture import sample_run
from typer.testing import CliRunner, Result

from trueground.cli.cache import cache
from trueground.errors import UsageError
from trueground.files.locks import FolderLock
from trueground.net.cache import ResponseCache
from trueground.net.cache_contents import CacheStats
from trueground.view.indexing import grow
from trueground.view.stored import IndexCache, index_folder

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(cache)


@pytest.fixture(autouse=True)
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with three replies of two models, one of them ten days old."""
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path))
    path = ResponseCache.path_of()
    with ResponseCache(path) as kept:
        kept.put("1", b"x", model="small", tokens=1_000)
        kept.put("2", b"x", model="small", tokens=500)
        kept.put("3", b"x", model="large-model", tokens=7)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE reply SET created = 1700000000 WHERE key = '2'")
    connection.commit()
    connection.close()
    return path


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["cache", *words])


def test_stats(filled: Path) -> None:
    lines = run("stats").stdout.splitlines()
    assert lines[0] == str(filled)
    assert lines[1].startswith("3 replies, ")
    assert lines[2].startswith("from 2023-11-14 22:13 to 20")
    assert lines[3:] == [
        "  small        2 replies  1,500 tokens",
        "  large-model  1 replies      7 tokens",
    ]


def test_stats_as_json(filled: Path) -> None:
    shown = json.loads(run("stats", "--format", "json").stdout)
    assert shown["path"] == str(filled)
    assert (shown["entries"], shown["oldest"]) == (3, "2023-11-14T22:13:20+00:00")
    assert shown["bytes"] == filled.stat().st_size
    assert shown["models"][0] == {"model": "small", "entries": 2, "tokens": 1_500}


def test_stats_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "none"))
    assert run("stats").stdout.splitlines()[1] == "0 replies, 0 bytes on disk"
    assert json.loads(run("stats", "--format", "json").stdout)["models"] == []
    assert not (tmp_path / "none").exists()


def test_clear_by_age_by_model_and_all(filled: Path) -> None:
    done = run("clear", "--older-than", "30", "--yes")
    assert done.stdout == f"removed 1 replies older than 30 days from {filled}\n"
    done = run("clear", "--model", "small", "--yes", "--format", "json")
    encoders = {"path": str(ResponseCache.path_of("vectors")), "removed": 0}
    searches = {"path": str(ResponseCache.path_of("searches")), "removed": 0}
    graphs = {"path": str(ResponseCache.path_of("graphs")), "removed": 0}
    views = {"path": str(filled.parent / "views"), "removed": 0}
    beside = {"encoders": encoders, "searches": searches, "graphs": graphs, "views": views}
    assert json.loads(done.stdout) == {"path": str(filled), "removed": 1, **beside}
    assert run("clear", "--yes").stdout == f"removed 1 replies from {filled}\n"
    assert CacheStats.count(filled).entries == 0


def test_results_of_encoders_are_counted_and_cleared(filled: Path) -> None:
    with ResponseCache.open("vectors") as kept:
        kept.put("5", b"1234", model="minilm")
        kept.put("6", b"1234", model="small")
    lines = run("stats").stdout.splitlines()
    assert lines[6] == str(ResponseCache.path_of("vectors"))
    assert lines[7].startswith("2 results of encoders, ")
    assert lines[9:] == ["  minilm  1 results of encoders", "  small   1 results of encoders"]
    shown = json.loads(run("stats", "--format", "json").stdout)
    assert (shown["entries"], shown["encoders"]["entries"]) == (3, 2)
    done = run("clear", "--model", "minilm", "--yes", "--format", "json")
    assert json.loads(done.stdout)["encoders"]["removed"] == 1
    done = run("clear", "--yes")
    assert done.stdout.splitlines() == [
        f"removed 3 replies from {filled}",
        f"removed 1 results of encoders from {ResponseCache.path_of('vectors')}",
    ]
    assert CacheStats.count(ResponseCache.path_of("vectors")).entries == 0


def test_searches_are_counted_and_cleared(filled: Path) -> None:
    with ResponseCache.open("searches") as kept:
        kept.put("7", b"1234", model="bm25")
    lines = run("stats").stdout.splitlines()
    assert lines[6] == str(ResponseCache.path_of("searches"))
    assert lines[9:] == ["  bm25  1 searches"]
    assert json.loads(run("stats", "--format", "json").stdout)["searches"]["entries"] == 1
    done = run("clear", "--model", "bm25", "--yes")
    assert done.stdout.splitlines() == [
        f"removed 0 replies of bm25 from {filled}",
        f"removed 1 searches of bm25 from {ResponseCache.path_of('searches')}",
    ]


def test_replies_of_endpoints_are_counted_and_cleared(filled: Path) -> None:
    with ResponseCache.open("graphs") as kept:
        kept.put("8", b"1234", model="https://example.org/sparql")
    lines = run("stats").stdout.splitlines()
    assert lines[6] == str(ResponseCache.path_of("graphs"))
    assert lines[9:] == ["  https://example.org/sparql  1 replies of SPARQL endpoints"]
    assert json.loads(run("stats", "--format", "json").stdout)["graphs"]["entries"] == 1
    done = run("clear", "--model", "https://example.org/sparql", "--yes", "--format", "json")
    assert json.loads(done.stdout)["graphs"]["removed"] == 1
    assert CacheStats.count(ResponseCache.path_of("graphs")).entries == 0


def test_indexes_of_views_are_counted_and_cleared(filled: Path, tmp_path: Path) -> None:
    for name in ("old", "busy", "new"):
        grow(sample_run(tmp_path / name, 20))
    os.utime(index_folder(tmp_path / "old"), (1_700_000_000, 1_700_000_000))
    lines = run("stats").stdout.splitlines()
    assert lines[6] == str(filled.parent / "views")
    assert lines[7].startswith("3 indexes of `trueground view`, ")
    assert lines[8].startswith("from 2023-11-14 22:13 to 20")
    shown = json.loads(run("stats", "--format", "json").stdout)["views"]
    files = [path for path in (filled.parent / "views").rglob("*") if path.is_file()]
    assert (shown["entries"], shown["bytes"]) == (3, sum(path.stat().st_size for path in files))
    run("clear", "--model", "small", "--yes")
    assert IndexCache().count().entries == 3
    done = run("clear", "--older-than", "30", "--yes")
    assert f"removed 1 indexes of `trueground view` older than 30 days from {filled.parent}" in (
        done.stdout
    )
    with FolderLock(index_folder(tmp_path / "busy")).hold(RuntimeError()):  # which is being made
        done = run("clear", "--yes", "--format", "json")
    assert json.loads(done.stdout)["views"]["removed"] == 1
    assert [path.name for path in (filled.parent / "views").iterdir()] == [
        index_folder(tmp_path / "busy").name
    ]


def test_an_unknown_model_is_told(filled: Path) -> None:
    done = run("clear", "--model", "smal", "--yes")
    assert isinstance(done.exception, UsageError)
    assert "Did you mean 'small'" in str(done.exception)


def test_nothing_is_removed_unasked(filled: Path) -> None:
    done = run("clear")
    assert isinstance(done.exception, UsageError)
    assert "--yes" in str(done.exception)
    assert CacheStats.count(filled).entries == 3


def test_a_damaged_cache_is_cleared(filled: Path) -> None:
    filled.write_bytes(b"no database at all " * 300)
    done = run("stats")
    assert isinstance(done.exception, UsageError)
    assert "trueground cache clear" in str(done.exception)
    assert run("clear", "--yes").exit_code == 0
    assert not filled.exists()


@pytest.mark.parametrize(
    ("answer", "format_", "shown", "left"),
    [
        ("n", "text", "nothing was removed\n", 3),
        ("n", "json", '"removed": 0', 3),
        ("y", "text", "removed 3 replies from ", 0),
    ],
)
def test_the_answer_on_a_terminal_counts(
    answer: str, format_: str, shown: str, left: int, filled: Path
) -> None:
    ours, theirs = os.openpty()
    os.write(ours, f"{answer}\n".encode())
    command = [sys.executable, "-m", "trueground", "cache", "clear", "--format", format_]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert "Remove all replies from" in done.stderr
    assert "interrupted" not in done.stderr
    assert shown in done.stdout
    assert CacheStats.count(filled).entries == left


@pytest.mark.parametrize("days", ["nan", "inf", "1e300"])
def test_an_age_beyond_the_calendar_is_refused(days: str, filled: Path) -> None:
    done = run("clear", "--older-than", days, "--yes")
    assert done.exit_code != 0
    assert "--older-than" in f"{done.exception} {done.stderr}"
    assert CacheStats.count(filled).entries == 3


def test_a_name_with_a_line_break_stays_on_its_line(filled: Path) -> None:
    with ResponseCache(filled) as kept:
        kept.put("4", b"x", model="two\nlines", tokens=1)
    lines = run("stats").stdout.splitlines()
    assert len(lines) == 6
    assert "  two�lines    1 replies      1 tokens" in lines
