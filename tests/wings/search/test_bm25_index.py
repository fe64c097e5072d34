"""BM25 on disk: the hits of the one in memory, from the same bytes however it was built."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueground.components.specs import ComponentSpec
from trueground.errors import InputError, MissingExtraError, UsageError, WorkerError, WriteError
from trueground.options.shared import do_nothing
from trueground.types import Passage
from trueground.wings.search import bm25, bm25_index, bm25_search
from trueground.wings.search.base import Hit, Retriever, RetrieverKind
from trueground.wings.search.bm25 import BM25, BM25_KIND, BM25OnDisk, Bm25Options, build_bm25
from trueground.wings.search.search_words import stemmer

for library in ("bm25s", "Stemmer"):
    pytest.importorskip(library, reason="the retrieval extra is not installed")

ODD = [
    "The harbour of Lund was built in 1871.",
    "Lund has two harbours, and each harbour has a crane.",
    "",
    "Über den Kränen: 東京の港。 İstanbul’da ＦＵＬＬ ﬁve ²",
    "The harbour of Lund was built in 1871.",
    "…",
    "crane " * 300,
    'quotes " and \\ backslashes_stay \u2028 outside',
]


class Listed:
    """Passages in memory."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = self.searched = texts

    @property
    def sha256(self) -> str:
        return hashlib.sha256(repr(list(self.texts)).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> Passage:
        return Passage(self.texts[index])

    def page_keys(self, index: int) -> frozenset[str]:
        return frozenset()


class InOrderOnly(Listed):
    """Passages that can be read one after the other, and are not in memory together."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(texts)
        self.searched = _OneByOne(texts)


class _OneByOne(Sequence[str]):
    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def __len__(self) -> int:
        raise AssertionError("only read in order")

    def __getitem__(self, index: object) -> str:
        raise AssertionError("only read in order")

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)


def made_up(n: int, seed: int = 0, words_each: int = 30) -> list[str]:
    """Texts in which few words are frequent and most are rare."""
    rng = random.Random(seed)
    vocabulary = [f"{rng.choice(('run', 'harbour', 'é', 'x'))}{i}ing" for i in range(3_000)]
    frequency = [1 / (i + 1) for i in range(3_000)]
    return [
        " ".join(rng.choices(vocabulary, frequency, k=rng.randint(1, words_each))) for _ in range(n)
    ]


def questions(texts: Sequence[str], n: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    found = []
    for _ in range(n):
        pool = rng.choice(texts).split() or ["none"]
        found.append(" ".join(rng.choices(pool, k=rng.randint(1, 9))))
    return found


def written(text: str = "bm25") -> ComponentSpec:
    return ComponentSpec.parse("retriever", text)


def opened(
    folder: Path, texts: Sequence[str], option: str = "bm25", **how: int | None
) -> BM25OnDisk:
    passages = InOrderOnly(texts)
    options = Bm25Options.parse(written(option))
    build_bm25(folder, passages, options, do_nothing, **how)  # type: ignore[arg-type]
    return BM25OnDisk(folder, passages, options, workers=1)  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def same(ours: list[list[Hit]], theirs: list[list[Hit]]) -> None:
    assert [[hit.index for hit in hits] for hits in ours] == [
        [hit.index for hit in hits] for hits in theirs
    ]
    scores = [np.array([hit.score for hit in hits]) for hits in theirs]
    for hits, expected in zip(ours, scores, strict=True):
        assert np.allclose([hit.score for hit in hits], expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("option", ["bm25", "bm25(stem=false)", "bm25(k1=0.9,b=0.4)", "bm25(k1=0)"])
def test_hits_are_those_of_the_search_in_memory(tmp_path: Path, option: str) -> None:
    texts = made_up(600) + ODD
    given_options = Bm25Options.parse(written(option))
    memory = BM25(texts, stem=given_options.stem, k1=given_options.k1, b=given_options.b)
    disk = opened(tmp_path / "bm25", texts, option, block=64, span=500)
    asked = [
        *questions(texts, 120),
        *ODD,
        "crane crane crane lund",
        "zebra quux",
        "the THE harbour",
    ]
    for top in (1, 10, 100, 1_000):
        same(disk.search(asked, top), memory.search(asked, top))


@pytest.mark.long
def test_long_lists_are_skipped_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = made_up(2_500, seed=3)
    memory = BM25(texts, stem=True)
    disk = opened(tmp_path / "bm25", texts)
    asked = questions(texts, 60, seed=4)
    expected = {top: memory.search(asked, top) for top in (1, 5, 80, 3_000)}
    skipped = 0
    counted = bm25_search._Query._seen

    def seen(query: bm25_search._Query, top: int, sums: np.ndarray) -> object:  # type: ignore[type-arg]
        nonlocal skipped
        found = counted(query, top, sums)
        skipped += found[0] < len(query._lists)
        return found

    monkeypatch.setattr(bm25_search._Query, "_seen", seen)
    ways = ((0, 0, 25), (300, 20, 1_000), (0, 10_000, 25), (100_000, 0, 25))
    for few, short, per_search in ways:
        monkeypatch.setattr(bm25_search, "_POSTINGS_PER_LOOKUP", per_search)
        monkeypatch.setattr(bm25_search, "_MAX_POSTINGS_TO_SUM", few)
        monkeypatch.setattr(bm25_search, "_MAX_SHORT_LIST", short)
        skipped = 0
        for top, hits in expected.items():
            same(disk.search(asked, top), hits)
        assert (skipped > 40) == (few < 1_000 and short < 1_000)


@pytest.mark.long
def test_the_same_bytes_however_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = made_up(700) + ODD
    opened(tmp_path / "once", texts)
    expected = contents(tmp_path / "once")
    assert {"scores.npy", "terms.txt", "bm25.json"} <= expected.keys()
    ways = [(1, 1, 1), (1, 7, 100), (2, 50, 997)]
    for number, (workers, block, span) in enumerate(ways):
        folder = tmp_path / str(number)
        opened(folder, texts, workers=workers, block=block, span=span)
        assert contents(folder) == expected
    # A maker that forgets its words, and blocks that end where texts are long.
    monkeypatch.setattr(bm25_index, "_MAX_CACHED_WORDS", 100)
    monkeypatch.setattr(bm25_index, "_MAX_BLOCK_CHARACTERS", 900)
    opened(tmp_path / "again", texts, block=40)
    assert contents(tmp_path / "again") == expected


def test_several_processes_find_the_same(tmp_path: Path) -> None:
    texts = made_up(400)
    asked = questions(texts, 600)
    alone = opened(tmp_path / "bm25", texts)
    together = BM25OnDisk(tmp_path / "bm25", Listed(texts), Bm25Options(), workers=2)
    try:
        assert together.search(asked, 7) == alone.search(asked, 7)
        assert together.search(asked[:3], 2) == alone.search(asked[:3], 2)
        assert together.search([], 2) == []
    finally:
        together.close()
    with pytest.raises(UsageError, match="open it again"):
        together.search(asked, 7)


def test_a_process_that_is_killed_is_told_of(tmp_path: Path) -> None:
    opened(tmp_path / "bm25", ["a b"])
    retriever = BM25OnDisk(tmp_path / "bm25", Listed(["a b"]), Bm25Options(), workers=2)
    retriever.search(["a"], 1)
    assert retriever._pool is not None
    for process in list(retriever._pool._pool._processes.values()):
        process.kill()
        process.join()
    with pytest.raises(WorkerError, match="OMP_NUM_THREADS=1"):
        retriever.search(["a"] * 3, 1)
    assert retriever.search(["a"], 1) == [[Hit(0, pytest.approx(0.1150, abs=1e-3))]]
    retriever.close()


@pytest.mark.parametrize("texts", [[], [""], ["…", " ", ""]])
def test_nothing_there(tmp_path: Path, texts: list[str]) -> None:
    disk = opened(tmp_path / "bm25", texts)
    assert disk.search(["lund", "", "?"], 5) == [[], [], []]


def test_nothing_asked_and_nothing_known(tmp_path: Path) -> None:
    disk = opened(tmp_path / "bm25", ODD)
    assert disk.search([], 5) == []
    assert disk.search(["zebra", "", "…", "lun", "lundd", "\u0000", "zzzz", "0"], 5) == [[]] * 8
    assert disk.search(["lund"], 0) == [[]]


def test_equal_scores_come_in_corpus_order_at_every_depth(tmp_path: Path) -> None:
    texts = ["red", "blue", "red", "red", "red red blue"] * 50
    disk = opened(tmp_path / "bm25", texts)
    whole = [hit.index for hit in disk.search(["red blue blue"], 999)[0]]
    for top in (1, 2, 49, 50, 51, 120, 249):
        assert [hit.index for hit in disk.search(["red blue blue"], top)[0]] == whole[:top]


@given(
    st.lists(st.text(alphabet="ab é東İß-_1", max_size=12), max_size=9),
    st.lists(st.text(alphabet="ab é東İß-_1", max_size=9), min_size=1, max_size=4),
    st.sampled_from(["bm25", "bm25(stem=false)"]),
    st.integers(1, 5),
)
def test_any_texts(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    asked: list[str],
    option: str,
    size: int,
) -> None:
    disk = opened(tmp_path_factory.mktemp("any") / "bm25", texts, option, block=size, span=size)
    same(disk.search(asked, size), BM25(texts, stem=option == "bm25").search(asked, size))


def test_the_kind_builds_once_and_opens(tmp_path: Path) -> None:
    kind: RetrieverKind = BM25_KIND
    passages = Listed(made_up(50))
    told: list[tuple[str, int, int | None]] = []
    folder = tmp_path / "index" / kind.folder(written())
    kind.build(folder, passages, written(), lambda *say: told.append(say))
    assert told[0] == ("bm25: words", 50, 50)
    assert told[-1][0] == "bm25: scores"
    assert told[-1][1] == told[-1][2]
    before = contents(folder)
    told.clear()
    kind.build(folder, passages, written(), lambda *say: told.append(say))
    assert not told
    assert contents(folder) == before
    retriever: Retriever
    retriever, close = kind.open(folder, passages, written())
    assert retriever.name == "bm25"
    for piece in ("k1=1.5", "b=0.75", "words-1", "english-PyStemmer-"):
        assert piece in retriever.signature
    assert [hit.index for hit in retriever.search([passages.texts[7]], 1)[0]] == [7]
    close()


def test_folders_by_options() -> None:
    folder = BM25_KIND.folder
    assert folder(written()) == folder(written("bm25(k1=1.50,stem=true)")) == "bm25"
    others = {folder(written(f"bm25({o})")) for o in ("k1=0.9", "b=0.4", "stem=false", "k1=0,b=0")}
    assert len(others) == 4
    assert all(len(name) == 13 and name.startswith("bm25-") for name in others)


@pytest.mark.parametrize(
    "wrong", ["k1=-1", "k1=nan", "k1=1e9", "b=1.5", "b=-0.1", "stem=yes", "speed=9"]
)
def test_options_that_cannot_be_meant(wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong.partition("=")[0]):
        BM25_KIND.folder(written(f"bm25({wrong})"))
    with pytest.raises(UsageError, match="no model"):
        BM25_KIND.folder(written("bm25:some-model"))


def test_an_index_for_others_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, passages = tmp_path / "bm25", Listed(["a b", "c"])
    with pytest.raises(InputError, match=r"no readable bm25 index.*build it again"):
        BM25_KIND.open(folder, passages, written())
    BM25_KIND.build(folder, passages, written(), do_nothing)
    for others in (Listed(["a b", "d"]), Listed(["a b"])):
        with pytest.raises(InputError, match=r"made with passages.*; delete the folder"):
            BM25_KIND.open(folder, others, written())
        with pytest.raises(InputError, match="made with passages"):
            BM25_KIND.build(folder, others, written(), do_nothing)
    with pytest.raises(InputError, match=r"made with options .*k1=1\.5.*, not .*k1=0\.5"):
        BM25_KIND.open(folder, passages, written("bm25(k1=0.5)"))
    real = bm25.version
    # Scores are computed here, whichever bm25s there is; stems are PyStemmer's.
    monkeypatch.setattr(
        bm25, "version", lambda name: "9.9.1" if name == "PyStemmer" else real(name)
    )
    with pytest.raises(InputError, match=r"stemmer PyStemmer-.*, not PyStemmer-9\.9"):
        BM25_KIND.open(folder, passages, written())


@pytest.mark.parametrize("missing", ["scores.npy", "terms.numbers.npy", "terms.txt"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    folder, passages = tmp_path / "bm25", Listed(ODD)
    BM25_KIND.build(folder, passages, written(), do_nothing)
    (folder / missing).unlink()
    with pytest.raises(InputError, match=rf"{missing}.*build it again"):
        BM25_KIND.open(folder, passages, written())


@pytest.mark.parametrize("harm", ["empty", "changed"])
def test_a_damaged_file_is_told(tmp_path: Path, harm: str) -> None:
    BM25_KIND.build(tmp_path / "bm25", Listed(ODD), written(), do_nothing)
    path = tmp_path / "bm25" / bm25_index.NUMBERS
    content = path.read_bytes()
    head = 128  # of the .npy format
    path.write_bytes(b"" if harm == "empty" else content[:head] + b"\x55" * len(content[head:]))
    with pytest.raises(InputError, match="delete the folder and build it again"):
        BM25_KIND.open(tmp_path / "bm25", Listed(ODD), written()).retriever.search(["crane"], 3)


def test_a_build_that_was_broken_off_begins_anew(tmp_path: Path) -> None:
    texts = made_up(300)
    expected = contents_of(tmp_path / "whole", texts)

    class Torn(InOrderOnly):
        def __init__(self, stop: int) -> None:
            super().__init__(texts)
            self.searched = _Torn(texts, stop)

    class _Torn(_OneByOne):
        def __init__(self, texts: Sequence[str], stop: int) -> None:
            super().__init__(texts)
            self._stop = stop

        def __iter__(self) -> Iterator[str]:
            yield from self._texts[: self._stop]
            raise KeyboardInterrupt

    def stop(what: str, _done: int, _total: int | None) -> None:
        if what == "bm25: scores":
            raise KeyboardInterrupt

    folder = tmp_path / "bm25"
    for at in (0, 1, 200):
        with pytest.raises(KeyboardInterrupt):
            build_bm25(folder, Torn(at), Bm25Options(), do_nothing, block=50)
        assert not folder.exists()
    with pytest.raises(KeyboardInterrupt):
        build_bm25(folder, Listed(texts), Bm25Options(), stop, block=50, span=100)
    assert not folder.exists()
    assert contents_of(folder, texts) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bm25", "whole"]


def contents_of(folder: Path, texts: Sequence[str]) -> dict[str, bytes]:
    opened(folder, texts)
    return contents(folder)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match=r"can't write.*Not a directory.*fix the cause"):
        build_bm25(tmp_path / "file" / "bm25", Listed(["a"]), Bm25Options(), do_nothing)


def test_without_pystemmer_the_install_line_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(package: str) -> str:
        raise bm25.PackageNotFoundError(package)

    monkeypatch.setattr(bm25, "version", absent)
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=r"pip install \"trueground\[retrieval\]\""):
        BM25_KIND.build(tmp_path / "bm25", Listed(["a"]), written(), do_nothing)
    with pytest.raises(MissingExtraError):
        stemmer(True)
    plain = written("bm25(stem=false)")
    BM25_KIND.build(tmp_path / "bm25", Listed(["a"]), plain, do_nothing)
    retriever, close = BM25_KIND.open(tmp_path / "bm25", Listed(["a"]), plain)
    assert [hit.index for hit in retriever.search(["A"], 1)[0]] == [0]
    assert "PyStemmer" not in retriever.signature
    close()


def test_only_many_passages_or_queries_get_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25, "cores", lambda: 2)
    asked: list[int] = []
    real = bm25._Workers

    def noted(count: int, *args: object) -> object:
        asked.append(count)
        return real(count, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(bm25, "_Workers", noted)
    passages = Listed(made_up(40))
    BM25_KIND.build(tmp_path / "small", passages, written(), do_nothing)
    monkeypatch.setattr(bm25, "_MIN_PASSAGES_FOR_WORKERS", 40)
    BM25_KIND.build(tmp_path / "large", passages, written(), do_nothing)
    assert asked == [2]
    assert contents(tmp_path / "small") == contents(tmp_path / "large")
    monkeypatch.setattr(bm25, "_MIN_QUERIES_FOR_WORKERS", 30)
    retriever, close = BM25_KIND.open(tmp_path / "large", passages, written())
    assert isinstance(retriever, BM25OnDisk)
    few = retriever.search(passages.texts[:29], 3)
    assert retriever._pool is None
    many = retriever.search(passages.texts[:30], 3)
    assert retriever._pool is not None
    assert many[:29] == few
    close()


def test_no_library_is_imported_to_search_without_stems(tmp_path: Path) -> None:
    folder = tmp_path / "bm25"
    opened(folder, ["a b", "b c"], "bm25(stem=false)")
    code = (
        "import sys; from pathlib import Path\n"
        "from trueground.wings.search.bm25 import BM25OnDisk, Bm25Options\n"
        "options = Bm25Options(stem=False)\n"
        f"class Two:\n    sha256 = {Listed(['a b', 'b c']).sha256!r}\n"
        "    def __len__(self): return 2\n"
        "passages = Two()\n"
        f"retriever = BM25OnDisk(Path({str(folder)!r}), passages, options)\n"
        "assert [h.index for h in retriever.search(['c'], 2)[0]] == [1]\n"
        "assert not {'bm25s', 'Stemmer', 'tqdm', 'torch', 'onnxruntime'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
