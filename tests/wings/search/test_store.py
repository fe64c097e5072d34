"""Passages on disk: what was written is read again, and nothing else is."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.wings.search.corpus_files import generated

from trueground.errors import InputError, OutputError, WriteError
from trueground.wings.search.store import CorruptStoreError, PassageEntry, PassageStore, page_key

ENTRIES = [
    PassageEntry("Der Fluss\nist lang.", "a", "Loire", "https://host/Loire"),
    PassageEntry("  blanks around  ", "wiki:7", None, None),
    PassageEntry("\x85\u2028 海 🜁 \t\x0b", "7", "Loire", "Loire"),
    PassageEntry('"quoted" \\ {"text": "x"}', "b", "LOIRE_valley", None),
]
text = st.text(st.characters(exclude_categories=["Cs"]))
full = text.filter(lambda value: bool(value.strip()))
maybe = st.none() | full
entries = st.lists(
    st.builds(PassageEntry, full, full, maybe, maybe), min_size=1, unique_by=lambda e: e.id
)


@pytest.fixture
def store(tmp_path: Path) -> PassageStore:
    return PassageStore.write(tmp_path / "s", ENTRIES)


def test_a_file_holds_what_memory_does(tmp_path: Path) -> None:
    corpus, store = PassageStore(None, ENTRIES), PassageStore.write(tmp_path / "s", ENTRIES)
    assert len(store) == len(corpus) == 4
    assert [store[i] for i in range(4)] == [corpus[i] for i in range(4)]
    assert [store.page_keys(i) for i in range(4)] == [corpus.page_keys(i) for i in range(4)]
    assert list(store.texts) == list(corpus.texts) == [entry.text for entry in ENTRIES]
    assert list(store.searched) == list(corpus.searched)
    assert store.searched[0] == "Loire Der Fluss\nist lang."
    assert store.searched[1] == corpus.searched[1] == "  blanks around  "
    assert store.sha256 == corpus.sha256
    assert corpus.searched[1:3] == store.searched[1:3]
    assert len(corpus.searched) == 4


@pytest.mark.parametrize("part", [slice(1, 3), slice(None), slice(3, 0, -2), slice(2, 9)])
def test_slices_are_those_of_a_list(store: PassageStore, part: slice) -> None:
    expected = [entry.text for entry in ENTRIES]
    assert store.texts[part] == expected[part]
    assert store.texts[-1] == expected[-1] == store[-1].text


@pytest.mark.parametrize("index", [4, -5])
def test_no_such_number(store: PassageStore, index: int) -> None:
    with pytest.raises(IndexError, match=f"passage {index} of 4"):
        store[index]


def test_numbers_of_ids(store: PassageStore) -> None:
    assert [store.number(entry.id) for entry in ENTRIES] == [0, 1, 2, 3]
    assert store.number("c") is None
    assert store.number("") is None


def test_gold_ids_of_dpr_have_a_prefix(tmp_path: Path) -> None:
    store = PassageStore.write(tmp_path / "s", generated(20))
    assert store.number("wiki:13") == 13
    assert store.number("wiki:20") is None
    assert store.number("wiki:wiki:13") is None


def test_numbers_of_titles_and_pages(store: PassageStore) -> None:
    assert store.numbers_of_title("loire") == [0, 2]
    assert store.numbers_of_title("https://host/Loire") == [0]
    assert store.numbers_of_title("Loire  Valley") == [3]
    assert store.numbers_of_title("Seine") == []


@given(entries)
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, given: list[PassageEntry]
) -> None:
    store = PassageStore.write(tmp_path_factory.mktemp("round") / "s", given)
    corpus = PassageStore(None, given)
    assert list(store) == [corpus[i] for i in range(len(corpus))]
    assert store.sha256 == corpus.sha256
    for number, entry in enumerate(given):
        assert store.number(entry.id) == number
        if entry.title:
            expected = [
                i for i in range(len(given)) if page_key(entry.title) in corpus.page_keys(i)
            ]
            assert store.numbers_of_title(entry.title) == expected


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            PassageEntry(" \n", "x", None, "a.txt"),
            r"passage 4 \(counted from 0; id 'x', page 'a.txt'\): fo",
        ),
        (PassageEntry("", "x"), r"found blank text; expected some text"),
        (PassageEntry("x", "  ", None, "p"), r"passage 4 .*found a blank id"),
        (
            PassageEntry("x", "b"),
            r"passages 3 and 4 \(counted from 0\) have the same id 'b'; expected",
        ),
        (
            PassageEntry("cut \ud83d", "x"),
            r"id 'x' contains a lone surrogate \(\\ud83d\); expected valid",
        ),
        (PassageEntry("x", "\udcff"), r"contains a lone surrogate"),
    ],
)
def test_wrong_entries_leave_nothing(tmp_path: Path, wrong: PassageEntry, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PassageStore.write(tmp_path / "s", [*ENTRIES, wrong])
    assert list(tmp_path.iterdir()) == []


def test_no_entries(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the corpus has no passages"):
        PassageStore.write(tmp_path / "s", [])


def test_a_reader_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[PassageEntry]:
        yield from ENTRIES
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PassageStore.write(tmp_path / "s", broken())
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays(store: PassageStore, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="s exists already; remove it, or choose another"):
        PassageStore.write(tmp_path / "s", ENTRIES)
    assert len(PassageStore(tmp_path / "s")) == 4


def test_what_a_killed_process_left_is_written_over(tmp_path: Path) -> None:
    (tmp_path / ".s.part").write_bytes(b"half")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    assert len(PassageStore.write(tmp_path / "s", ENTRIES)) == 4
    (tmp_path / ".t.part").symlink_to(victim)
    assert len(PassageStore.write(tmp_path / "t", ENTRIES)) == 4
    assert victim.read_text() == "mine"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["s", "t", "victim"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(WriteError, match="can't write the passages to"):
        PassageStore.write(tmp_path / "s", ENTRIES)


def test_a_file_where_a_folder_belongs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WriteError, match=r"can't write the passages to .*file/s: "):
        PassageStore.write(tmp_path / "file" / "s", ENTRIES)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def no_database(path: Path) -> None:
    path.write_bytes(b"?" * 9_000)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (Path.unlink, "there are no passages; .*build one"),
        (cut_off, r"damaged or incomplete \(it is truncated\); rebuild it"),
        (no_database, r"damaged or incomplete \(file is not a database\)"),
        (emptied, r"damaged or incomplete \(no such table: meta\)"),
    ],
)
def test_damage_is_named(store: PassageStore, harm: object, message: str) -> None:
    assert callable(harm)
    assert store.path is not None
    harm(store.path)
    with pytest.raises(CorruptStoreError, match=message):
        PassageStore(store.path)


def test_another_format_is_refused(store: PassageStore) -> None:
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("UPDATE meta SET format = 9")
        db.commit()
    with pytest.raises(
        CorruptStoreError, match="found passages of format 9, expected 2; rebuild it"
    ):
        PassageStore(store.path)


def test_passages_that_are_gone_are_named_when_they_are_read(store: PassageStore) -> None:
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as db:
        db.execute("DELETE FROM passages WHERE number = 2")
        db.commit()
    again = PassageStore(store.path)
    assert again[0].id == "a"
    with pytest.raises(CorruptStoreError, match="passage 2 is missing"):
        again[2]
    with pytest.raises(CorruptStoreError, match="found 3 of the 4 passages from number 0 on"):
        list(again.texts)


def test_pages_are_kept_once(tmp_path: Path) -> None:
    store = PassageStore.write(tmp_path / "s", generated(70))
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as db:
        assert db.execute("SELECT count(*) FROM pages").fetchone() == (10,)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_store_is_read_on_both_sides_of_a_fork(store: PassageStore) -> None:
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, context, initializer=_hold, initargs=(store,)) as pool:
        assert list(pool.map(_held_text, range(4))) == [entry.text for entry in ENTRIES]
    assert list(store.texts) == [entry.text for entry in ENTRIES]


_held: list[PassageStore] = []


def _hold(store: PassageStore) -> None:
    _held.append(store)


def _held_text(number: int) -> str:
    return _held[0].texts[number]


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    PassageStore.write(tmp_path / "s", generated(5000), lambda *said: told.append(said))
    assert told == [("passages", 4096, None), ("passages", 5000, 5000)]


def test_threads_and_other_processes_read_the_same(tmp_path: Path) -> None:
    store = PassageStore.write(tmp_path / "s", generated(3000))
    expected = [entry.text for entry in generated(3000)]
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(lambda k: [store.texts[i] for i in range(k, 3000, 4)], range(4))
        assert [list(part) for part in parts] == [expected[k::4] for k in range(4)]
    again = pickle.loads(pickle.dumps(store))
    assert list(again.texts) == expected
    assert again.sha256 == store.sha256


_MEMORY = """
import resource, sys
from pathlib import Path
from tests.wings.search.corpus_files import generated
from trueground.wings.search.store import PassageEntry
from trueground.wings.search.store import PassageStore
from trueground.wings.search.corpus import read_entries

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

source, folder = map(Path, sys.argv[1:])
PassageStore.write(folder / "warm", generated(1000))
before = peak()
store = PassageStore.write(folder / "s", read_entries(source))
written = peak()
assert len(store) == 200_000
assert sum(map(len, store.searched)) > 100_000_000
assert store.number("199999") == 199_999 and store.numbers_of_title("page 9") == list(range(63, 70))
print(written - before, peak() - written)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units")
def test_200_000_passages_of_120_megabytes_need_little_memory(tmp_path: Path) -> None:
    source = tmp_path / "psgs.tsv"
    with source.open("w") as out:
        out.write("id\ttext\ttitle\n")
        for i in range(200_000):
            out.write(f"{i}\t{'river and city ' * 40}{i}\tPage {i // 7}\n")
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(source), str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written, read = map(float, done.stdout.split())
    assert written < 40, f"writing took {written:.0f} MB"
    assert read < 20, f"reading took {read:.0f} MB"
