"""The index of a run: the same list as of the whole run, however it grew; it follows the run."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard
from tests.commands import trueground
from tests.reports.report_fixture import sample_run

from trueground.errors import UsageError
from trueground.records.formulas import guard, unguard
from trueground.runs import frames
from trueground.runs.files import Gaps, RunFiles
from trueground.runs.worst import write_worst_csv
from trueground.view import indexing
from trueground.view.index import Query, RunIndex, read_query
from trueground.view.indexing import grow
from trueground.view.stored import IndexCache, index_folder, read_state, sort_key, still_holds

RANKS = {"not_grounded": 0, "partly_grounded": 1, "grounded": 2}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(indexing, "CHUNK", 70)
    monkeypatch.setattr(frames, "_PIECE", 5_000)
    monkeypatch.setattr(frames, "_PACKED", 700)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return sample_run(tmp_path / "run", 300)


def opened(run: Path) -> RunIndex:
    return RunIndex(run, grow(run), RunFiles(run).read_manifest())


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]


def records(run: Path) -> list[dict[str, Any]]:
    with (run / "records.jsonl.zst").open("rb") as file:
        plain = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    return [json.loads(line) for line in plain.splitlines()]


def test_lists_are_those_of_the_run(run: Path) -> None:
    index, items, kept = opened(run), lines(run), records(run)
    assert index.state.count == 300
    low = [
        k
        for k, item in enumerate(items)
        if item["scores"]["f1"] is not None and 0.2 <= round(item["scores"]["f1"], 6) <= 0.6
    ]
    found = index.listed(Query(metric="f1", low="0.2", high="0.6", sort="+row"))
    assert found.tolist() == low
    words = index.listed(Query(q="MERIAN in", sort="+row")).tolist()
    text = [f"{r['id']} {r['question']} {r['response']}".lower() for r in kept]
    assert words == [k for k, t in enumerate(text) if "merian" in t and "in" in t]
    declined = index.listed(Query(status="abstained", metric="grounding_f1", sort="+row")).tolist()
    assert declined == [
        k for k, item in enumerate(items) if item["status"].get("grounding_f1") == "abstained"
    ]
    field = next(
        f for f, v in zip(index.state.fields, index.state.values, strict=True) if len(v) > 1
    )
    value = index.state.values[index.state.fields.index(field)][0]
    shown = index.page(Query(by=((field, value),)), 0)["rows"]
    assert {row["by"][field] for row in shown} == {value}


def test_orders_are_those_of_the_run(run: Path) -> None:
    index, items = opened(run), lines(run)
    down = index.listed(Query(sort="-f1")).tolist()
    values = [items[k]["scores"]["f1"] for k in down]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)
    assert values[len(known) :] == [None] * (len(values) - len(known))
    ids = [items[k]["id"] for k in index.listed(Query(sort="+id")).tolist()]
    assert sorted(ids) == sorted(item["id"] for item in items)
    assert (
        index.listed(Query(sort="-id")).tolist() == index.listed(Query(sort="+id")).tolist()[::-1]
    )
    name = index.headline
    assert name
    keys = []
    for k in index.listed(Query()).tolist():
        value = items[k]["scores"][name]
        rank = RANKS.get(items[k].get("verdict"), 3)
        keys.append((1, 0, 0.0) if value is None else (0, rank, np.float32(value)))
    assert keys == sorted(keys)


def test_ids_with_numbers_are_sorted_by_their_value() -> None:
    names = ["a10", "a9", "B1", "a010", "a100000000000", "b", "a"]
    assert sorted(names, key=sort_key) == [
        "a",
        "a9",
        "a10",
        "a010",
        "a100000000000",
        "b",
        "B1",
    ]


def test_an_answer_is_opened_with_those_beside_it(run: Path) -> None:
    index, items, kept = opened(run), lines(run), records(run)
    query = Query(sort="-f1")
    order = index.listed(query).tolist()
    for place in (0, 150, 299):
        k = order[place]
        found = index.open(items[k]["id"], query)
        assert found["row"]["n"] == k
        near = [order[at] if 0 <= at < 300 else None for at in (place - 1, place + 1)]
        assert [found["before"], found["after"]] == [
            None if at is None else items[at]["id"] for at in near
        ]
        assert found["detail"]["response"] == kept[k]["response"]
        for name, value in items[k]["scores"].items():
            shown = found["row"]["scores"][name]
            assert (value is None and math.isnan(shown or math.nan)) or shown == round(value, 6)
    assert index.open("no such id", query)["row"] is None


def test_it_grows_with_the_run(tmp_path: Path, run: Path) -> None:
    whole = (run / "items.jsonl").read_bytes()
    kept = [msgspec.json.encode(one) + b"\n" for one in records(run)]
    cut = [line + b"\n" for line in whole.splitlines()]
    pack = zstandard.ZstdCompressor()
    part = tmp_path / "part"
    part.mkdir()
    manifest = json.loads((run / "manifest.json").read_text())
    manifest |= {
        "status": "running",
        "by": list(json.loads((run / "summary.json").read_text())["by"]),
    }
    (part / "manifest.json").write_text(json.dumps(manifest))
    frames = b""
    for start, stop in ((0, 10), (10, 11), (11, 100), (100, 180), (180, 300)):
        frames += pack.compress(b"".join(kept[start:stop]))
        (part / "records.jsonl.zst").write_bytes(frames)
        torn = b"".join(cut[:stop])[:-20]  # the last line is being written
        (part / "items.jsonl").write_bytes(torn)
        assert grow(part).count == stop - 1
        (part / "items.jsonl").write_bytes(b"".join(cut[:stop]))
        assert grow(part).count == stop
    grown, made = opened(part), opened(run)
    assert grown.state.generation == (read_state(part) or grown.state).generation
    for query in (
        Query(),
        Query(q="lake"),
        Query(sort="-f1"),
        Query(sort="+id", verdict="not_grounded"),
    ):
        assert grown.listed(query).tolist() == made.listed(query).tolist()
    for k in (0, 10, 99, 100, 299):
        name = lines(run)[k]["id"]
        assert grown.open(name, Query()) == made.open(name, Query())


def test_a_run_that_was_scored_again_gets_a_new_index(tmp_path: Path, run: Path) -> None:
    first = grow(run)
    assert grow(run).generation == first.generation
    text = (run / "items.jsonl").read_text()
    (run / "items.jsonl").write_text(text.replace('"f1":0', '"f1":1'))
    assert not still_holds(first, run)
    again = grow(run)
    assert again.generation != first.generation
    assert [one.name for one in index_folder(run).iterdir() if one.is_dir()] == [again.generation]
    sample_run(run, 40)
    assert grow(run).count == 40


def test_the_index_of_a_run_that_is_gone_is_removed(tmp_path: Path, run: Path) -> None:
    other = sample_run(tmp_path / "other", 20)
    grow(run)
    grow(other)
    shutil.rmtree(other)
    IndexCache().forget_gone()
    assert index_folder(run).exists()
    assert not index_folder(other).exists()


def test_index_truncates_rows_of_killed_writer(run: Path) -> None:
    state = grow(run)
    folder = index_folder(run) / state.generation
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in folder.iterdir():
        with path.open("ab") as file:
            file.write(b"left over")
    with (run / "items.jsonl").open("ab") as items:
        line = lines(run)[0] | {"id": "one more"}
        items.write(msgspec.json.encode(line) + b"\n")
    more = msgspec.json.encode(records(run)[0] | {"id": "one more"}) + b"\n"
    with (run / "records.jsonl.zst").open("ab") as kept:
        kept.write(zstandard.ZstdCompressor().compress(more))
    assert grow(run).count == 301
    for name, data in before.items():
        assert (folder / name).read_bytes().startswith(data)
    index = opened(run)
    assert index.find("one more") == 300
    assert index.listed(Query(q="one more"))[-1] == 300


@pytest.mark.parametrize(
    "odd",
    [
        b'{"id": "cut',
        b'{"id": 5, "scores": []}',
        b'{"id": "x", "scores": {"f1": 1e400}}',
        b'{"id": "x", "scores": {}, "status": [1]}',
        b'{"id": "x", "scores": {}, "evidence": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b"\xff\xfe",
        b"",
    ],
)
def test_an_odd_line_hides_no_other(run: Path, odd: bytes) -> None:
    items, kept = (run / "items.jsonl").read_bytes().splitlines(), records(run)
    whole = lines(run)
    (run / "items.jsonl").write_bytes(b"\n".join([*items[:100], odd, *items[101:]]) + b"\n")
    index = opened(run)
    assert index.state.count == 299
    assert index.page(Query(), 0)["total"] == 299
    for k in (0, 99, 101, 299):  # each with its own record
        found = index.open(whole[k]["id"], Query(sort="+row"))
        assert found["detail"]["response"] == kept[k]["response"]
    assert index.open(whole[100]["id"], Query())["row"] is None
    (notice,) = index.state.gaps.notices(299, 300)
    assert notice.startswith("1 of 300 answers is missing from the list: 1 line of items.jsonl")
    assert "cannot be read: line 101: found " in notice
    assert "ends after" not in notice


def test_a_run_that_is_cut_off_says_so(run: Path) -> None:
    items = (run / "items.jsonl").read_bytes().splitlines(keepends=True)
    (run / "items.jsonl").write_bytes(b"".join(items[:20]) + items[20][:30])
    index = opened(run)
    assert index.state.count == 20
    (notice,) = index.state.gaps.notices(20, 300)
    assert notice.startswith("280 of 300 answers are missing from the list: 1 line of items.jsonl")
    assert "line 21: found " in notice
    assert "items.jsonl ends after line 21." in notice
    assert index.state.gaps.notices(20, None)[0].startswith("1 line of items.jsonl")
    (run / "items.jsonl").write_bytes(b"".join(items[:20]))
    assert "ends after line 20." in opened(run).state.gaps.notices(20, 300)[0]
    (run / "items.jsonl").write_bytes(b"".join(items)[:-1])  # an end without a line end is whole
    assert opened(run).state.count == 300
    assert opened(run).state.gaps.notices(300, 300) == []


def test_answers_without_their_records_are_listed(run: Path) -> None:
    kept, whole = records(run), lines(run)
    path, pack = run / "records.jsonl.zst", zstandard.ZstdCompressor().compress
    text = [msgspec.json.encode(one) + b"\n" for one in kept]
    other = msgspec.json.encode(kept[8] | {"id": "other"}) + b"\n"
    odd = pack(b"".join([*text[:5], b"{\n", *text[6:8], other, *text[9:150]]))
    for data, bare in (
        (odd, 152),
        (odd + pack(b"".join(text[150:]))[:900], 152),  # cut off
        (odd + b"no packed data", 152),
        (pack(b"".join(text)), 0),
    ):
        path.write_bytes(data)
        shutil.rmtree(index_folder(run), ignore_errors=True)
        index = opened(run)
        assert (index.state.count, index.state.gaps.records) == (300, bare)
        for k in (4, 7, 9, 149):
            assert index.open(whole[k]["id"], Query())["detail"]["response"] == kept[k]["response"]
        for k in (5, 8, 299):
            assert ("question" in index.open(whole[k]["id"], Query())["detail"]) == (bare == 0)
        notices = index.state.gaps.notices(300, 300)
        assert len(notices) == (bare > 0)
        if bare:
            assert "152 answers stand here without question and passages" in notices[0]
            assert "line 6: its record cannot be read (" in notices[0]
            assert "line 9: no record has its id" in notices[0]
            assert "line 151: the file " in notices[0]


def test_items_find_their_records_behind_an_odd_line(run: Path) -> None:
    items = (run / "items.jsonl").read_bytes().splitlines(keepends=True)
    whole, kept = lines(run), records(run)
    more = [*items[:20], b'{"id": "half\n', *items[20:200], items[200][:-1], *items[201:]]
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    for stop in (15, 21, 90, len(more)):  # as it would grow
        (run / "items.jsonl").write_bytes(b"".join(more[:stop]))
        grow(run)
    index = opened(run)
    assert (index.state.count, index.state.gaps.items, index.state.gaps.records) == (298, 2, 0)
    for k in (0, 19, 20, 21, 90, 199, 203, 299):
        found = index.open(whole[k]["id"], Query())
        assert found["detail"]["response"] == kept[k]["response"]
    gaps = Gaps()
    page = list(RunFiles(run).iter_answers(gaps))
    assert [item.id for _, item, _ in page] == [
        one["id"] for k, one in enumerate(whole) if k not in (200, 201)
    ]
    assert all(record is not None and record.id == item.id for _, item, record in page)
    assert (gaps.items, gaps.records) == (2, 0)


def test_a_hundred_odd_lines_are_counted_and_the_first_are_named(run: Path) -> None:
    items = (run / "items.jsonl").read_bytes().splitlines(keepends=True)
    (run / "items.jsonl").write_bytes(b"{}\n" * 200 + b"".join(items[200:]))
    index = opened(run)
    assert index.state.count == 100
    assert (
        "line 5: found {} (Object missing required field `id`); and 195 more."
        in (index.state.gaps.notices(100, 300)[0])
    )


def test_evidence_of_other_shapes_is_no_claim(run: Path) -> None:
    first, whole = lines(run)[0], (run / "items.jsonl").read_bytes().splitlines(keepends=True)
    claims = [{"start": 1e30, "end": "x", "supported": False, "kind": [1]}, 5]
    odd = {"evidence": {"support": {"claims": claims, "sentences": [1], "missed": 5}}}
    odd |= {"scores": {"f1": 1e308, "support": -1e308}, "verdict": "none of ours"}
    (run / "items.jsonl").write_bytes(
        msgspec.json.encode(first | odd) + b"\n" + b"".join(whole[1:])
    )
    index = opened(run)
    assert index.listed(Query(sort="-f1"))[0] == 0
    row = index.page(Query(sort="+row"), 0)["rows"][0]
    assert (row["claims"], row["kinds"], row["verdict"]) == ([], [], None)
    assert index.open(first["id"], Query())["detail"]["citations"] is None
    assert not np.isinf(index.scores("f1")).any()
    assert row["scores"]["f1"] == 1e308


def test_threads_read_a_column_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = opened(run)
    read, reads = RunIndex._read, []

    def slow(self: RunIndex, name: str) -> Any:
        reads.append(name)
        time.sleep(0.05)
        return read(self, name)

    monkeypatch.setattr(RunIndex, "_read", slow)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(index.scores, ["f1"] * 8))
    assert reads == ["score-" + str(index.state.metrics.index("f1"))]
    assert all(one is found[0] for one in found)


def test_without_records_the_ids_are_searched(tmp_path: Path) -> None:
    run = sample_run(tmp_path / "bare", 30, records=False)
    index = opened(run)
    name = lines(run)[3]["id"]
    assert 3 in index.listed(Query(q=name[-6:])).tolist()
    assert index.page(Query(), 0)["rows"][0]["question"] is None
    assert "question" not in index.open(name, Query())["detail"]


def test_hostile_queries_find_nothing_or_are_refused(run: Path) -> None:
    index = opened(run)
    for text in ('" OR 1=1 --', "* NEAR(", "\0", "%", "\ud800", "a" * 10_000, "^", "id:"):
        assert len(index.listed(Query(q=text))) in range(301)
    for query in (
        Query(verdict="'"),
        Query(kind="../"),
        Query(status="none"),
        Query(metric="__class__", low="0"),
        Query(by=(("nope", "x"),)),
        Query(by=(("model", "x" * 999),)),
    ):
        with pytest.raises(UsageError, match="in this run"):
            index.listed(query)
    assert index.page(Query(low="nan", high="inf", sort="$$"), 10**8)["page"] == 5
    assert read_query({"by.model": "a", "by": "b", "q": "c", "x": "d"}) == Query(
        q="c", by=(("model", "a"),)
    )


def test_export_has_the_listed_answers(run: Path) -> None:
    index = opened(run)
    query = Query(verdict="not_grounded", sort="+row")
    told = [json.loads(x) for x in b"".join(index.export(query, "jsonl")).splitlines()]
    items = lines(run)
    assert [one["id"] for one in told] == [items[k]["id"] for k in index.listed(query).tolist()]
    table = b"".join(index.export(query, "csv")).decode()
    assert table.startswith("id,question,response,verdict,score,unsupported,reasons,")
    file, raw = run.parent / "worst.csv", (run / "items.jsonl").read_bytes().splitlines()
    write_worst_csv(file, lambda: iter(raw), RunFiles(run).iter_texts)
    read = csv.DictReader(io.StringIO(file.read_bytes().decode(), newline=""))
    worst = {row["id"]: row for row in read}  # the table of the command says the same
    table = b"".join(index.export(Query(), "csv")).decode()
    for row in csv.DictReader(io.StringIO(table, newline="")):
        for name in ("unsupported", "reasons"):
            assert row[name] == worst[row["id"]][name]
    assert sum(bool(row["unsupported"]) for row in worst.values()) > 50
    assert table.count("\r\n") >= len(told) + 1


def test_no_cell_of_the_table_is_a_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "@x", "-5", " +1", "a;=1+1", "- one\n- two", "ok", "＝1", "'quoted"]
    rows = [{"id": f"={k}", "question": "q", "response": text, "reference": ["x"],
             "meta": {"=f": text}} for k, text in enumerate(texts)]  # fmt: skip
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--metrics", "f1", "--by", "=f", "--quiet", "--out", tmp_path / "r")
    done = trueground("score", source, *words, "--out-csv", tmp_path / "worst.csv")
    assert done.returncode == 0, done.stderr
    index = opened(tmp_path / "r")
    told = [json.loads(x) for x in b"".join(index.export(Query(sort="+row"), "jsonl")).splitlines()]
    assert [one["response"] for one in told] == texts  # as they are
    data = b"".join(index.export(Query(sort="+row"), "csv")).decode()
    head, *table = list(csv.reader(io.StringIO(data)))
    assert head[7] == "'=f"
    assert [row[2] for row in table] == [row[7] for row in table] == list(map(guard, texts))
    assert [row[2] for row in table][:4] == ["'=1+1", "'@x", "'-5", "' +1"]
    assert [unguard(row[2]) for row in table] == texts
    assert table[0][-1] == "0.0"  # a number of ours
    worst = list(csv.DictReader(io.StringIO((tmp_path / "worst.csv").read_text())))
    assert {row["id"]: row["response"] for row in worst} == {
        f"'={k}": guard(text, numbers=False) for k, text in enumerate(texts)
    }


def test_fields_that_are_called_as_our_columns_lose_nothing(tmp_path: Path) -> None:
    fields = ("verdict", "response", "scores", "f1")
    rows = [{"id": str(k), "question": "q", "response": f"Paris {k}", "reference": ["Paris"],
             "meta": {name: f"{name} {k}" for name in fields}} for k in range(3)]  # fmt: skip
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    by = [word for name in fields for word in ("--by", name)]
    done = trueground("score", source, "--metrics", "f1", *by, "--out", tmp_path / "r", "--quiet")
    assert done.returncode == 0, done.stderr
    index = opened(tmp_path / "r")
    told = [json.loads(x) for x in b"".join(index.export(Query(), "jsonl")).splitlines()]
    assert {one["response"] for one in told} == {row["response"] for row in rows}
    assert {one["by.response"] for one in told} == {f"response {k}" for k in range(3)}
    assert all(set(one["scores"]) == {"f1"} for one in told)
    table = list(csv.reader(io.StringIO(b"".join(index.export(Query(), "csv")).decode())))
    assert {len(row) for row in table} == {len(table[0])}
    assert len(set(table[0])) == len(table[0])


@pytest.mark.long
def test_a_hundred_thousand_answers_are_browsed_in_a_blink(tmp_path: Path) -> None:
    """The bounds for a million (docs/performance.md), with room for a busy machine."""
    from bench.viewing import measure

    run = sample_run(tmp_path / "many", 100_000)
    found = measure(
        run, tmp_path / "home", ("list?sort=-f1", "list?q=merian", "item?id=food-00000")
    )
    assert found["index"] < 30
    assert found["page"] < 2
    assert found["server MB"] < 300
    assert found["worker MB"] < 300
    assert max(seconds for name, seconds in found.items() if "?" in name) < 1
