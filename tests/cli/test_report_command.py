"""`trueground report` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.commands import trueground
from tests.reports.leaderboard_fixture import benchmark_run, sweep
from tests.reports.payload import words as page_words
from tests.reports.report_fixture import sample_run


def test_one_run_is_drawn_again_in_its_folder(tmp_path: Path) -> None:
    sample_run(tmp_path / "one", 40)
    done = trueground("report", "one", "--max-items", "10", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"page   {Path('one', 'report.html')}\n"
    assert "10 of 40 items" in (tmp_path / "one" / "report.html").read_text()
    assert not (tmp_path / "leaderboard.html").exists()
    assert trueground("report", "one", "--quiet", cwd=tmp_path).stdout == ""
    done = trueground("report", "one", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout) == {"page": str(Path("one", "report.html"))}


def test_a_folder_of_runs_makes_a_leaderboard(tmp_path: Path) -> None:
    sweep(tmp_path / "out", {"gpt-4o": (0.6, 0.9, 0.5), "gpt-4o-mini": (0.5, 0.6, 0.5)})
    done = trueground("report", "out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "Scores"
    assert lines[1].split() == ["Model", "[1]", "[2]"]
    assert {"gpt-4o", "gpt-4o-mini"} <= {line.split()[0] for line in lines[2:6]}
    assert any(line.split() == ["Model", "[3]", "[4]"] for line in lines)  # the rest, below
    assert any(line.startswith("[1]  unanswerable") for line in lines)
    assert max(map(len, lines)) <= 80
    assert "Best model of each organization" in done.stdout
    assert lines[-1] == "page   leaderboard.html"
    first = (tmp_path / "leaderboard.html").read_bytes()
    done = trueground("report", "out", "--out", "other.html", cwd=tmp_path)
    assert (tmp_path / "other.html").read_bytes() == first
    for _ in range(2):  # a name without an ending is a folder, as for the other pages
        done = trueground("report", "out", "--out", "boards", cwd=tmp_path)
        assert done.stdout.splitlines()[-1] == f"page   {Path('boards', 'leaderboard.html')}"
    assert (tmp_path / "boards" / "leaderboard.html").read_bytes() == first
    done = trueground("report", "out", "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")  # our own page may be replaced


def test_a_sweeps_own_page_among_the_paths_is_passed_over(tmp_path: Path) -> None:
    for name, mean in (("a", 0.5), ("b", 0.6)):
        benchmark_run(tmp_path / "out" / name, name, "unanswerable", mean)
    page = Path("out", "leaderboard.html")
    assert trueground("report", "out", "--out", page, cwd=tmp_path).returncode == 0
    (tmp_path / "out" / "mine.html").write_text("mine")
    paths = [Path("out", name) for name in ("a", "b", "leaderboard.html")]
    done = trueground("report", *paths, cwd=tmp_path)
    note = f"trueground: note: {page} is a leaderboard; passed over\n"
    assert (done.returncode, done.stderr) == (0, note)
    assert (tmp_path / "leaderboard.html").read_bytes() == (tmp_path / page).read_bytes()
    done = trueground("report", *paths, Path("out", "mine.html"), cwd=tmp_path)
    assert done.returncode == 2
    assert "mine.html is no folder" in done.stderr
    assert "is no folder" in trueground("report", page, cwd=tmp_path).stderr


def test_json_holds_everything_and_notes_go_to_standard_error(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "one", "unanswerable", 0.5)
    benchmark_run(tmp_path / "b", "two", "unanswerable", 0.6, limit=10)
    done = trueground("report", "a", "b", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["page"] == "leaderboard.html"
    assert [row["name"] for row in found["rows"]] == ["two", "one"]
    assert "trueground: note: unanswerable: the runs differ in limit" in done.stderr


def test_published_models_and_an_own_table(tmp_path: Path) -> None:
    benchmark_run(tmp_path / "a", "mine", "unanswerable", 0.5)
    table = [{"name": "mine", "family": "Mine", "organization": "Me", "size": 3}]
    (tmp_path / "models.json").write_text(json.dumps(table))
    words = ("a", "--with-published", "--models", "models.json")
    done = trueground("report", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpt-4o (published)" in done.stdout
    assert "Me" in page_words((tmp_path / "leaderboard.html").read_text()).splitlines()


def test_what_cannot_be_meant_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    sample_run(tmp_path / "one", 3)
    benchmark_run(tmp_path / "runs" / "a", "m", "unanswerable", 0.5)
    benchmark_run(tmp_path / "half", "m", "unanswerable", 0.5, status="interrupted")
    (tmp_path / "mine.html").write_text("mine")
    cases = {
        ("one", "--out", "x.html"): "--out is for a leaderboard",
        ("one", "--models", "x.json"): "--models is for a leaderboard",
        ("runs", "--max-items", "3"): "--max-items is for the page of one run",
        ("runs", "--out", "mine.html"): "no leaderboard page of ours",
        ("runs", "--out", "board.csv"): "name a folder or FILE.html",
        ("half",): "this run is unfinished (interrupted)",
        ("runs", "half"): "this run is unfinished (interrupted)",
        ("nowhere",): "is no folder",
        ("one", "--with-published"): "no published number",
        (): "try --help",
    }
    for words, told in cases.items():
        done = trueground("report", *words, cwd=tmp_path)
        assert done.returncode == 2, words
        assert told in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stdout == ""
    assert (tmp_path / "mine.html").read_text() == "mine"
    assert not list(tmp_path.glob("leaderboard*"))
