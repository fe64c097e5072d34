"""Indexes whose files are damaged or gone, and corpora that are fixed or changed meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from trueground.components.specs import ComponentSpec
from trueground.errors import InputError, UsageError, WriteError
from trueground.options.shared import Progress
from trueground.wings.search import kinds
from trueground.wings.search.base import Hit, OpenedRetriever, RetrieverKind
from trueground.wings.search.building import (
    add_retrievers,
    build_index,
    default_index_path,
    open_index,
    ready_index,
)
from trueground.wings.search.corpus import CorpusReading
from trueground.wings.search.index import Index, is_index, read_index_file
from trueground.wings.search.store import PassageStore, next_step

ROWS = [{"id": str(i), "text": f"Bees make honey number {i}."} for i in range(5)]
Fix = Callable[[Path, Path], Index]
MENDS: list[Fix] = [
    lambda corpus, out: build_index(corpus, out, ["bm25"]),
    lambda _corpus, out: add_retrievers(out, ["bm25"]),
    lambda _corpus, out: ready_index(out, ["bm25"]),
]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in ROWS))
    return path


def with_bm25(corpus: Path, out: Path) -> Path:
    for library in ("bm25s", "Stemmer"):
        pytest.importorskip(library, reason="the retrieval extra is not installed")
    build_index(corpus, out, ["bm25", "bm25(stem=false)"])
    return out


def found(index: Index, written: str = "bm25") -> list[int]:
    opened = index.open(written, cache=False)
    try:
        [hits] = opened.retriever.search(["honey"], 9)
        return [hit.index for hit in hits]
    finally:
        opened.close()


def gone(folder: Path) -> None:
    shutil.rmtree(folder)


def without_about(folder: Path) -> None:
    (folder / "bm25.json").unlink()


def torn(folder: Path) -> None:
    for file in folder.iterdir():
        if file.suffix == ".npy":
            os.truncate(file, 0)


@pytest.mark.parametrize("fix", MENDS)
@pytest.mark.parametrize("damage", [gone, without_about, torn])
def test_a_damaged_retriever_is_built_again(
    corpus: Path, tmp_path: Path, damage: Callable[[Path], None], fix: Fix
) -> None:
    out = with_bm25(corpus, tmp_path / "i")
    other = (out / open_folder(out, "bm25(stem=false)") / "bm25.json").stat().st_mtime_ns
    damage(out / "retrievers" / "bm25")
    assert open_index(out).damaged() == ["bm25"]
    with pytest.raises(InputError, match="delete the folder and build it again"):
        found(open_index(out))
    assert found(fix(corpus, out)) == [0, 1, 2, 3, 4]
    assert open_index(out).damaged() == []
    kept = out / open_folder(out, "bm25(stem=false)") / "bm25.json"
    assert kept.stat().st_mtime_ns == other


def open_folder(out: Path, written: str) -> str:
    parts = read_index_file(out).retrievers
    [folder] = [folder for folder, name in parts.items() if name == written]
    return folder


def short(file: Path) -> None:
    os.truncate(file, 10)


def changed(file: Path) -> None:
    file.write_bytes(b"?" * 9_000)


@pytest.mark.parametrize("fix", MENDS)
@pytest.mark.parametrize("damage", [Path.unlink, short, changed])
def test_damaged_passages_are_read_again(
    corpus: Path, tmp_path: Path, damage: Callable[[Path], None], fix: Fix
) -> None:
    out = with_bm25(corpus, tmp_path / "i")
    before = open_index(out).signature
    damage(out / "passages.sqlite")
    with pytest.raises(InputError, match=rf"rebuild the passages .*: trueground index build {out}"):
        open_index(out)
    with pytest.raises(InputError, match="rebuild the passages"):
        ready_index(out, [])  # as of a dry run, which writes nothing
    made = fix(corpus, out)
    assert made.signature == open_index(out).signature == before
    assert made.damaged() == []
    assert sorted(one.name for one in out.iterdir()) == sorted(
        ["index.json", "passages.sqlite", "retrievers"]
    )


def test_an_index_under_home_is_mended_by_the_next_run(corpus: Path) -> None:
    with_bm25(corpus, default_index_path(corpus))
    for remove, part in ((Path.unlink, "passages.sqlite"), (shutil.rmtree, "retrievers/bm25")):
        remove(default_index_path(corpus) / part)
        assert found(ready_index(corpus, ["bm25"])) == [0, 1, 2, 3, 4]


def test_passages_are_read_again_as_they_were(tmp_path: Path) -> None:
    text, out = tmp_path / "a.txt", tmp_path / "i"
    text.write_text("One two three. Four five six. Seven eight nine. Ten eleven twelve.")
    before = build_index(text, out, [], CorpusReading(words=3, overlap=1)).signature
    (out / "passages.sqlite").unlink()
    assert add_retrievers(out, []).signature == before


def test_passages_without_their_corpus_cannot_be_mended(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "i"
    build_index(corpus, out, [])
    (out / "passages.sqlite").unlink()
    away = corpus.rename(tmp_path / "away.jsonl")
    with pytest.raises(InputError, match=rf"so is the corpus {corpus} .*--out {out} --rebu"):
        add_retrievers(out, [])
    assert len(build_index(away, out, [], rebuild=True).passages) == len(ROWS)
    (out / "passages.sqlite").unlink()
    away.write_bytes(orjson.dumps(ROWS[0]))
    with pytest.raises(InputError, match=r"away\.jsonl has changed\. Rebuild it with --rebuild"):
        add_retrievers(out, [])


def test_the_signature_of_a_reading_can_be_read() -> None:
    for reading in (
        CorpusReading(),
        CorpusReading(7, 2),
        CorpusReading(1, 0, skip_unreadable=True),
    ):
        assert CorpusReading.parse(reading.signature) == reading
    assert CorpusReading.parse("reading-99:words=100,overlap=0") is None
    assert CorpusReading.parse("something") is None


class Vectors:
    """A kind with a model and without a check, which fixes its own files."""

    def __init__(self) -> None:
        self.built: list[bool] = []

    def kind(self) -> RetrieverKind:
        """Vectors."""
        return RetrieverKind(lambda given: f"vectors-{given.model}", self.build, self.open)

    def build(
        self, folder: Path, _passages: PassageStore, _given: ComponentSpec, _told: Progress
    ) -> None:
        self.built.append(folder.exists())
        folder.mkdir(exist_ok=True)

    def open(
        self, _folder: Path, _passages: PassageStore, _given: ComponentSpec
    ) -> OpenedRetriever:
        class One:
            name = signature = "vectors"

            def search(self, queries: list[str], _top: int) -> list[list[Hit]]:
                return [[Hit(0, 1.0)] for _ in queries]

        return OpenedRetriever(One(), lambda: None)  # type: ignore[arg-type]


def test_what_a_model_made_is_looked_at_by_its_folder(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors, out = Vectors(), tmp_path / "i"
    monkeypatch.setitem(kinds.retrievers, "vectors", vectors.kind)
    build_index(corpus, out, ["vectors:m"])
    assert add_retrievers(out, ["vectors:m"]).damaged() == []
    assert vectors.built == [False]
    shutil.rmtree(out / "retrievers" / "vectors-m")
    assert add_retrievers(out, ["vectors:m"]).retrievers == ["vectors:m"]
    assert vectors.built == [False, False]
    monkeypatch.delitem(kinds.retrievers, "vectors")
    shutil.rmtree(out / "retrievers" / "vectors-m")
    assert open_index(out).damaged() == []  # of a package that is not here


@pytest.mark.parametrize("usual", [True, False])
@pytest.mark.parametrize("same_time", [True, False])
def test_a_corpus_that_changes_while_it_is_read(
    corpus: Path, tmp_path: Path, same_time: bool, usual: bool
) -> None:
    times = (corpus.stat().st_atime_ns, corpus.stat().st_mtime_ns)
    before = corpus.read_bytes()

    def change(what: str, done: int, total: int | None) -> None:
        if what == "see" and done == total:  # its hash is known, and now it is read
            corpus.write_bytes(before.replace(b"honey", b"money"))
            if same_time:
                os.utime(corpus, ns=times)

    out = default_index_path(corpus) if usual else tmp_path / "i"
    with pytest.raises(InputError, match=r"changed while it was read: .*corpus\.jsonl has changed"):
        build_index(corpus, None if usual else out, [], progress=change)
    assert not out.exists()
    corpus.write_bytes(before)
    assert "honey" in build_index(corpus, out, []).passages[0].text


def test_a_corpus_that_is_removed_while_it_is_read(corpus: Path, tmp_path: Path) -> None:
    def remove(what: str, _done: int, _total: int | None) -> None:
        if what == "passages":
            shutil.rmtree(folder)

    folder, out = tmp_path / "docs", tmp_path / "i"
    folder.mkdir()
    rows = [{"text": f"Text {i}."} for i in range(5_000)]
    (folder / "a.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    with pytest.raises(InputError, match=r"docs is gone\. The index was not built"):
        build_index(folder, out, [], progress=remove)
    assert not is_index(out)


def test_a_corpus_that_could_not_be_read_binds_nothing(tmp_path: Path) -> None:
    folder, out = tmp_path / "docs", tmp_path / "i"
    folder.mkdir()
    (folder / "a.txt").write_text("Some text.")
    (folder / "b.txt").write_bytes(b"\xff\xff")
    for place in (out, None):
        with pytest.raises(InputError, match=r"b\.txt: found invalid UTF-8"):
            build_index(folder, place, [])
    assert not is_index(out)
    assert not is_index(default_index_path(folder))
    skip = CorpusReading(skip_unreadable=True)
    assert len(build_index(folder, tmp_path / "skipped", [], skip).passages) == 1
    (folder / "b.txt").unlink()
    assert len(build_index(folder, out, []).passages) == 1


def test_an_index_without_anything_whole_is_begun_anew(tmp_path: Path) -> None:
    """As a process leaves it that was killed."""
    one, two, out = tmp_path / "one.txt", tmp_path / "two.txt", tmp_path / "i"
    one.write_text("One text.")
    two.write_text("Another one.")
    build_index(one, out, [])
    (out / "index.json").unlink()
    assert build_index(two, out, []).passages[0].text == "Another one."
    with pytest.raises(InputError, match=r"from .*two\.txt, and .*one\.txt is a different corpus"):
        build_index(one, out, [])


def test_a_rebuild_needs_no_sound_passages(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "i"
    build_index(corpus, out, [])
    (out / "passages.sqlite").unlink()
    corpus.write_bytes(orjson.dumps(ROWS[0]))
    assert len(build_index(corpus, out, [], rebuild=True).passages) == 1
    with pytest.raises(UsageError, match="is an index, not a corpus"):
        build_index(out, None, [])


def test_each_failure_to_write_has_its_own_step(corpus: Path, tmp_path: Path) -> None:
    assert next_step(OSError(28, "No space left on device")) == "free some disk space"
    assert next_step(PermissionError(13, "Permission denied")) == "allow writing there"
    assert next_step(OSError(30, "Read-only file system")) == "allow writing there"
    state = read_index_file(build_index(corpus, tmp_path / "i", []).path)
    with pytest.raises(WriteError, match=r"No such file or directory; fix the cause, then run"):
        state.write(tmp_path / "none")
