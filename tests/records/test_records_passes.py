"""The two passes: bad rows, duplicates, limits, batches, and memory that does not grow."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

import polars as pl
import pytest
from tests.records.record_files import read, write

from trueground.errors import BadRowsError, InputError
from trueground.records import checks
from trueground.records.reading import RecordSource
from trueground.types import Passage, Record


def answer(row_id: object, **members: object) -> str:
    return json.dumps({"id": row_id, "response": "x", **members}) + "\n"


def test_skipped_rows_are_listed_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        answer("a", group="g")
        + "{broken\n"
        + answer("a", question="q")
        + '{"response": "no id"}\n'
        + answer("b", response=None)
        + answer("a")
        + answer("c", question="q")
    )
    records = RecordSource.open(path, on_bad_row="skip")
    check = records.check()
    assert [(row.row, row.id, row.field) for row in check.bad] == [
        (2, None, None),
        (3, "a", "id"),
        (5, "b", "response"),
        (6, "a", "id"),
    ]
    assert (check.n, check.bad_total) == (3, 4)
    assert (check.fields["question"], check.fields["group"]) == (1, 1)
    # Rows keep their number as id whatever is skipped before them.
    assert [r.id for batch in records.batches() for r in batch] == ["a", "3", "c"]


def test_stopping_lists_the_first_rows_and_counts_all(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n" * 1500 + answer("a") * 2000)
    with pytest.raises(BadRowsError) as caught:
        RecordSource.open(path).check()
    assert caught.value.total == 1500 + 1999
    assert [row.row for row in caught.value.rows] == list(range(1, 1001))


def test_duplicates_before_other_bad_rows_are_among_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(answer("a") * 3 + "{}\n" * 3000)
    with pytest.raises(BadRowsError) as caught:
        RecordSource.open(path).check()
    assert [row.row for row in caught.value.rows] == list(range(2, 1002))


def test_only_bad_rows_is_no_input(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("{}\n{}\n")
    with pytest.raises(InputError, match="holds no records: all 2 rows are bad"):
        RecordSource.open(path, on_bad_row="skip").check()


def test_ids_are_unique_over_all_files_and_missing_ids_count_on(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.csv"
    one.write_text('{"response": "x"}\n' + answer("a"))
    two.write_text("id,response\n,y\nb,z\n")
    assert [r.id for r in read([str(one), two])] == ["0", "a", "2", "b"]
    with pytest.raises(BadRowsError, match=r"one.jsonl, line 2") as caught:
        RecordSource.open([one, one]).check()
    [row] = caught.value.rows
    assert (row.row, row.id) == (2, "a")
    assert f"first in {one}, line 2" in row.found


def test_ids_that_only_share_a_hash_are_not_duplicates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "hash_id", lambda row_id: bytes([len(row_id) % 3] * 8))
    path = tmp_path / "a.jsonl"
    path.write_text("".join(answer(i) for i in range(300)))
    assert RecordSource.open(path).check().n == 300
    path.write_text("".join(answer(i) for i in (*range(300), 7)))
    with pytest.raises(BadRowsError) as caught:
        RecordSource.open(path).check()
    assert [(row.row, row.id) for row in caught.value.rows] == [(301, "7")]


def test_numbers_and_texts_can_be_the_same_id() -> None:
    with pytest.raises(BadRowsError, match="records, row 1"):
        RecordSource.open([{"id": 5, "response": "x"}, {"id": "5", "response": "y"}]).check()


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv", ".parquet"])
def test_limit_reads_only_the_first_rows(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    if ending == ".parquet":
        pl.DataFrame({"response": ["a", "b", None]}).write_parquet(path)
    else:
        texts = {
            ".jsonl": '{"response": "a"}\n{"response": "b"}\n{broken',
            ".json": '[{"response": "a"}, {"response": "b"}, {broken',
            ".csv": 'response\na\nb\n"broken',
        }
        path.write_text(texts[ending])
    assert [r.response for r in read(path, limit=2)] == ["a", "b"]
    with pytest.raises(BadRowsError):
        RecordSource.open(path, limit=3).check()


def test_progress_is_told_the_rows_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"response": "x"}\n' * 2500)
    told: list[int] = []
    RecordSource.open(path).check(told.append)
    assert told == [1024, 2048, 2500]


def test_batches_are_bounded_by_rows_and_by_text() -> None:
    lengths = [10, 10, 10, 50, 200, 10]
    rows = [
        Record(id=str(i), response="r" * 5, contexts=[Passage("c" * (n - 5))])
        for i, n in enumerate(lengths)
    ]
    records = RecordSource.open(rows)
    by_text = [[r.id for r in batch] for batch in records.batches(max_chars=60)]
    assert by_text == [["0", "1", "2"], ["3"], ["4"], ["5"]]
    by_rows = [len(batch) for batch in records.batches(max_rows=4)]
    assert by_rows == [4, 2]


def test_a_file_that_changed_since_the_check_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write(path, Record(id="a", response="x"))
    records = RecordSource.open(path)
    records.check()
    write(path, Record(id="a", response="other"))
    with pytest.raises(InputError, match="changed after it was checked"):
        list(records.batches())


def peak_memory(path: Path) -> int:
    """The most bytes that Python held during both passes."""
    gc.collect()
    tracemalloc.start()
    try:
        records = RecordSource.open(path)
        assert records.check().n == sum(len(batch) for batch in records.batches(256))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.long
@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv"])
def test_memory_does_not_grow_with_the_rows(ending: str, tmp_path: Path) -> None:
    peaks = []
    counts = (20_000, 100_000) if ending == ".jsonl" else (4_000, 20_000)
    for n in counts:
        path = tmp_path / f"{n}{ending}"
        with path.open("w") as out:
            if ending == ".csv":
                out.write("id,response,question\n")
                out.writelines(f"id-{i},{'r' * 80},{'q' * 40}\n" for i in range(n))
            else:
                out.write("[" if ending == ".json" else "")
                between = "," if ending == ".json" else ""
                out.writelines(
                    f'{between if i else ""}{{"id": "id-{i}", "response": "{"r" * 80}"}}\n'
                    for i in range(n)
                )
                out.write("]" if ending == ".json" else "")
        peaks.append(peak_memory(path))
    # 8 bytes of hash per id, and as much again while the list of them grows, are allowed.
    assert peaks[1] - peaks[0] < 20 * (counts[1] - counts[0]) + 200_000, peaks
