"""A run in shards is the run of one process: the same bytes, whatever the input and the cuts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.marks import mostly_long
from typer.testing import CliRunner

import trueground as tg
from trueground.api.shards import merge, score_shards
from trueground.cli.app import app
from trueground.errors import (
    BadRowsError,
    InputError,
    OutputError,
    TruegroundError,
    UsageError,
    WorkerError,
)
from trueground.evaluate.shards.engines import LocalEngine
from trueground.evaluate.shards.plan import PLAN, read_plan
from trueground.evaluate.shards.store import open_store
from trueground.evaluate.shards.work import score_shard
from trueground.metrics import AnswerVerdict
from trueground.testing import synthetic_records

METRICS = "f1,k_precision,support"
FILES = ("summary.json", "items.jsonl", "report.html")


def rows_of(n: int, **changes: Any) -> list[dict[str, Any]]:
    return [row | changes for row in synthetic_records(n, seed=3)]


def write_lines(path: Path, rows: list[dict[str, Any]], blank: int = 0) -> Path:
    with path.open("w", encoding="utf-8") as out:
        for number, row in enumerate(rows):
            out.write(json.dumps(row) + "\n" * (2 if blank and number % blank == 0 else 1))
    return path


def same(one: Path, other: Path) -> None:
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def lines_with_blanks(folder: Path) -> list[Path]:
    return [write_lines(folder / "a.jsonl", rows_of(300), blank=7)]


def lines_without_ids(folder: Path) -> list[Path]:
    rows = [{k: v for k, v in row.items() if k != "id"} for row in rows_of(200)]
    (folder / "a.jsonl").write_bytes(b"\xef\xbb\xbf")
    with (folder / "a.jsonl").open("ab") as out:
        out.write("\n".join(map(json.dumps, rows)).encode())  # no end of the last line
    return [folder / "a.jsonl", write_lines(folder / "b.jsonl", rows[:50])]


def parquet(folder: Path) -> list[Path]:
    pl.DataFrame(rows_of(300)).write_parquet(folder / "a.parquet", row_group_size=70)
    return [folder / "a.parquet"]


def several_kinds(folder: Path) -> list[Path]:
    rows = rows_of(240)
    pl.DataFrame(rows[100:160]).write_parquet(folder / "c.pq")
    with gzip.open(folder / "b.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows[60:100])
    (folder / "d.json").write_text(json.dumps(rows[160:]))
    return [
        write_lines(folder / "a.jsonl", rows[:60]),
        *(folder / name for name in ("b.jsonl.gz", "c.pq", "d.json")),
    ]


def late_alias(folder: Path) -> list[Path]:
    """A column of another tool that stands in late rows only."""
    rows = rows_of(300)
    for row in rows[250:]:
        row["retrieved_contexts"] = row.pop("contexts")
    return [write_lines(folder / "a.jsonl", rows)]


@pytest.mark.parametrize(
    "make",
    mostly_long(2, [several_kinds, parquet, lines_with_blanks, lines_without_ids, late_alias]),
)
def test_the_bytes_are_those_of_one_process(
    make: Callable[[Path], list[Path]], tmp_path: Path
) -> None:
    files = make(tmp_path)
    whole = tg.score(files, metrics=METRICS, out=tmp_path / "plain", by="model")
    for shards in (1, 7):
        out = tmp_path / f"in-{shards}"
        result = score_shards(files, metrics=METRICS, out=out, shards=shards, by="model", workers=1)
        same(tmp_path / "plain", out)
        assert result is not None
        assert result.worst_items(3) == whole.worst_items(3)
        assert not (out / "shards").exists()
    manifest = json.loads((tmp_path / "in-7" / "manifest.json").read_text())
    assert manifest["shards"]["count"] == 7
    plain = json.loads((tmp_path / "plain" / "manifest.json").read_text())
    assert manifest["input"] == plain["input"]


def test_metrics_and_repeats_are_found_over_all_rows(tmp_path: Path) -> None:
    rows = rows_of(90)
    for number, row in enumerate(rows):
        row["id"] = f"q{number // 3}#{number % 3}"
        row["meta"] = {"repeat": str(number % 3)}
        if number < 80:
            row.pop("references", None)
    file = write_lines(tmp_path / "a.jsonl", rows)
    tg.score(file, out=tmp_path / "plain")
    score_shards(file, out=tmp_path / "cut", shards=5, workers=1)
    same(tmp_path / "plain", tmp_path / "cut")
    repeats = (tmp_path / "plain" / "repeats.jsonl").read_bytes()
    assert (tmp_path / "cut" / "repeats.jsonl").read_bytes() == repeats


def test_bad_rows_and_repeated_ids(tmp_path: Path) -> None:
    rows = rows_of(120)
    rows[40]["response"] = 5
    rows[90]["id"] = rows[3]["id"]
    file = write_lines(tmp_path / "a.jsonl", rows, blank=9)
    options: dict[str, Any] = {"metrics": METRICS, "on_bad_row": "skip"}
    tg.score(file, out=tmp_path / "plain", **options)
    score_shards(file, out=tmp_path / "cut", shards=6, workers=1, **options)
    same(tmp_path / "plain", tmp_path / "cut")
    with pytest.raises(BadRowsError) as plain:
        tg.score(file, metrics=METRICS)
    with pytest.raises(BadRowsError) as cut:
        score_shards(file, out=tmp_path / "none", shards=6, metrics=METRICS, workers=1)
    assert str(cut.value) == str(plain.value)
    assert not (tmp_path / "none").exists()  # nothing was begun


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", rows_of(100))
    out = tmp_path / "out"
    for number in (2, 4):
        done = score_shards(file, out=out, shard=f"{number}/4", metrics=METRICS)
        assert done is None
    stamps = {p.name: p.stat().st_mtime_ns for p in (out / "shards").iterdir()}
    with pytest.raises(WorkerError, match=r"2 of 4 shards are not done: 1, 3\. .*--shard 1/4"):
        merge(out)
    times: list[int] = []

    def note(phase: str, done: int, _total: int | None) -> None:
        if phase == "score":
            times.append(done)

    score_shards(file, out=out, shard="2/4", metrics=METRICS, progress=note)
    assert {p.name: p.stat().st_mtime_ns for p in (out / "shards").iterdir()} == stamps
    score_shards(file, out=out, shards=4, metrics=METRICS, workers=1, progress=note)
    assert len(times) == 3
    assert 40 < times[0] < times[1] < times[2] == 100
    tg.score(file, metrics=METRICS, out=tmp_path / "plain")
    same(tmp_path / "plain", out)
    with pytest.raises(OutputError, match="--overwrite"):
        score_shards(file, out=out, shards=4, metrics=METRICS)


def test_a_plan_is_for_one_command_and_its_data(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", rows_of(60))
    out = tmp_path / "out"
    score_shards(file, out=out, shard="1/3", metrics=METRICS)
    with pytest.raises(OutputError, match=r"(?s)another command\. .* metrics: .*--overwrite"):
        score_shards(file, out=out, shard="2/3", metrics="f1")
    with pytest.raises(OutputError, match="shards: 3 there, 4 now"):
        score_shards(file, out=out, shards=4, metrics=METRICS)
    with file.open("a") as more:
        more.write(json.dumps({"response": "late"}) + "\n")
    with pytest.raises(OutputError, match=r"a\.jsonl changed since"):
        score_shards(file, out=out, shard="2/3", metrics=METRICS)
    with pytest.raises(InputError, match=r"a\.jsonl: changed after the plan was made"):
        score_shard(str(out), [str(file)], 1, 1)
    score_shards(file, out=out, shards=3, metrics=METRICS, overwrite=True, workers=1)
    tg.score(file, metrics=METRICS, out=tmp_path / "plain")
    same(tmp_path / "plain", out)


def fails(out: str, names: list[str], number: int, sharers: int) -> Any:
    with (Path(out) / f"tried-{number}").open("a") as tried:
        tried.write("x")
    if number == 1:
        raise RuntimeError("a poisoned row")
    return score_shard(out, names, number, sharers)


@pytest.mark.parametrize("workers", mostly_long(1, [1, 2]))
def test_a_shard_that_fails_three_times_is_named(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_lines(tmp_path / "a.jsonl", rows_of(60))
    out = tmp_path / "out"
    monkeypatch.setattr("trueground.evaluate.shards.work.score_shard", fails)
    with pytest.raises(WorkerError) as error:
        score_shards(file, out=out, shards=4, metrics=METRICS, workers=workers)
    assert "1 of 4 shards failed" in str(error.value)
    assert "shard 2/4: " in str(error.value)
    assert "a poisoned row" in str(error.value)
    assert (out / "tried-1").read_text() == "xxx"
    plan = read_plan(open_store(out))
    assert plan is not None
    monkeypatch.undo()
    for path in out.glob("tried-*"):
        path.unlink()
    score_shards(file, out=out, shards=4, metrics=METRICS, workers=1)
    tg.score(file, metrics=METRICS, out=tmp_path / "plain")
    same(tmp_path / "plain", out)


def lost(number: int) -> int:
    import os

    if number == 2:
        os._exit(9)
    return number * number


@pytest.mark.long
def test_a_lost_process_costs_nobody_else_anything() -> None:
    found: dict[int, int] = {}
    failed = LocalEngine(2).run(lost, {n: (n,) for n in range(6)}, found.__setitem__)
    assert found == {0: 0, 1: 1, 3: 9, 4: 16, 5: 25}
    assert list(failed) == [2]
    assert isinstance(failed[2], TruegroundError)
    assert "its process was lost" in str(failed[2])


def test_a_store_without_folders(tmp_path: Path) -> None:
    """fsspec's store in memory: no renaming, no folder on this machine."""
    import fsspec

    file = write_lines(tmp_path / "a.jsonl", rows_of(80))
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    with file.open("rb") as data:
        memory.pipe_file("/in/a.jsonl", data.read())
    out = "memory://bucket/run"
    result = score_shards("memory://in/a.jsonl", out=out, shards=3, metrics=METRICS, workers=1)
    plain = tg.score(file, metrics=METRICS, out=tmp_path / "plain")
    for name in FILES[:2]:
        assert memory.cat_file(f"/bucket/run/{name}") == (tmp_path / "plain" / name).read_bytes()
    there = {path.rpartition("/")[2] for path in memory.find("/bucket/run")}
    assert there == {"summary.json", "items.jsonl", "records.jsonl.zst", "report.html",
                     "manifest.json"}  # fmt: skip
    assert result is not None
    assert result.worst_items(3) == plain.worst_items(3)
    with pytest.raises(OutputError, match="holds a run"):
        score_shards("memory://in/a.jsonl", out=out, shards=3, metrics=METRICS, workers=1)


def test_the_page_of_a_large_run_in_a_store_lists_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    monkeypatch.setattr("trueground.evaluate.shards.merge._LISTED", 20)
    file = write_lines(tmp_path / "a.jsonl", rows_of(80))
    out = "memory://bucket/large"
    result = score_shards(file, out=out, shards=3, metrics=METRICS, workers=1)
    assert result is not None
    assert 20 <= len(result.evidence) < 40
    page = fsspec.filesystem("memory").cat_file("/bucket/large/report.html").decode()
    assert "of 80 answers: the worst, some of each status" in page
    assert "missing from the list" not in page
    plain = tg.score(file, metrics=METRICS)
    assert result.worst_items(1) == plain.worst_items(1)
    items = fsspec.filesystem("memory").cat_file("/bucket/large/items.jsonl")
    assert items.count(b"\n") == 80
    score_shards(file, out=tmp_path / "here", shards=3, metrics=METRICS, workers=1)
    assert (tmp_path / "here" / "items.jsonl").read_bytes() == items
    assert "of 80 answers: the worst" in (tmp_path / "here" / "report.html").read_text()


def test_options_that_cannot_be_meant(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", rows_of(10))
    for options, says in [
        ({"shard": "5/4"}, r"--shard 5/4: expected I/N"),
        ({"shard": "x"}, r"--shard x: expected I/N"),
        ({"shard": "1/4", "shards": 3}, "differ"),
        ({"engine": "slurm"}, "expected local, ray"),
        ({"judge": object()}, "names, not objects"),
    ]:
        with pytest.raises(UsageError, match=says):
            score_shards(file, out=tmp_path / "out", **options)  # type: ignore[arg-type]
    with pytest.raises(OutputError, match="holds no shards"):
        merge(tmp_path)
    assert not (tmp_path / "out").exists()


def test_the_commands(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "a.jsonl", rows_of(60))
    run = CliRunner().invoke
    base = ["score", str(file), "--metrics", METRICS, "--out", str(tmp_path / "out")]
    for number in (1, 2):
        assert run(app, [*base, "--shard", f"{number}/2"]).exit_code == 0
    done = run(app, ["merge", str(tmp_path / "out")])
    assert done.exit_code == 0
    assert "report.html" in done.output
    assert run(app, [*base[:-1], str(tmp_path / "plain")]).exit_code == 0
    same(tmp_path / "plain", tmp_path / "out")
    gated = [*base[:-1], str(tmp_path / "b"), "--shards", "2", "--workers", "1"]
    assert run(app, [*gated, "--fail-under", "support=0.999"]).exit_code == 1
    refused = run(app, [*gated, "--limit", "3"])
    assert refused.exit_code != 0


def test_score_shards_parameters_are_those_of_score_and_of_the_shards() -> None:
    import inspect

    sharded = set(inspect.signature(score_shards).parameters)
    plain = set(inspect.signature(tg.score).parameters)
    assert sharded - plain == {"engine", "shards", "shard"}
    assert plain <= sharded
    assert tg.score_shards is score_shards
    assert PLAN.startswith("shards/")


@pytest.mark.parametrize(
    "option", [{"limit": 3}, {"labels": "l.jsonl"}, {"labels_drawn": "random"}, {"unique": True}]
)
def test_score_shards_option_of_whole_runs_raises(tmp_path: Path, option: dict[str, Any]) -> None:
    file = write_lines(tmp_path / "a.jsonl", rows_of(10))
    with pytest.raises(UsageError, match="is not for a run in shards; leave it out"):
        score_shards(file, out=tmp_path / "out", **option)


def test_score_shards_without_out_raises(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="that all shards share"):
        score_shards(write_lines(tmp_path / "a.jsonl", rows_of(10)))


def test_a_run_that_several_ask(tmp_path: Path) -> None:
    """Three shards ask each their part; joined, nobody is asked again, and the run is the same."""
    from tests.wings.papers.faitheval_files import data_folder

    run = CliRunner().invoke
    base = ["run", "faitheval/counterfactual", "--data", str(data_folder(tmp_path / "data"))]
    base += ["--no-cache", "--model", "fake:echo", "--quiet"]
    out = tmp_path / "out"
    for number in (3, 1):
        done = run(app, [*base, "--out", str(out), "--shard", f"{number}/3"])
        assert done.exit_code == 0, done.output
    refused = run(app, ["merge", str(out)])
    assert refused.exit_code != 0
    assert run(app, [*base, "--out", str(out), "--shard", "2/3"]).exit_code == 0
    logs = sorted((out / "shards").glob("*/responses.jsonl"))
    assert [log.read_bytes().count(b"\n") for log in logs] == [1, 1, 1]
    merged = run(app, ["merge", str(out)])
    assert merged.exit_code == 0
    assert "3 replies" in merged.output
    log = (out / "responses.jsonl").read_bytes()
    assert run(app, [*base, "--out", str(out)]).exit_code == 0
    assert (out / "responses.jsonl").read_bytes() == log  # nothing was asked
    assert run(app, [*base, "--out", str(tmp_path / "plain")]).exit_code == 0
    same(tmp_path / "plain", out)


def test_a_table_of_arrow() -> None:
    pa = pytest.importorskip("pyarrow")
    rows = rows_of(50)
    table = pa.Table.from_pylist(rows)
    found = tg.score_table(table, metrics=METRICS)
    whole = tg.score(rows, metrics=METRICS)
    assert found.column("id").to_pylist() == [row["id"] for row in rows]
    assert found.column("support").to_pylist() == whole.items["support"].to_list()
    assert set(found.column("verdict").to_pylist()) <= set(AnswerVerdict.NAMES[:4])
    parts = [tg.score_table(part, metrics=METRICS) for part in (table[:20], table[20:], table[:0])]
    assert pa.concat_tables(parts).equals(found)
    assert [part.num_rows for part in parts] == [20, 30, 0]
