"""Dense retrieval on disk: ranks against brute force, recall, resuming, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.marks import mostly_long
from tests.wings.search.vectors import Clusters, Shelf, numbered

from trueground.components.specs import ComponentSpec
from trueground.errors import InputError, MissingExtraError, ProtocolError, UsageError, WriteError
from trueground.options.shared import do_nothing
from trueground.wings.search import dense, vectors
from trueground.wings.search.base import Hit, SearchQuery
from trueground.wings.search.dense import DENSE_KIND
from trueground.wings.search.vectors import nearest, rounding_margin

QUERIES = [str(n) for n in range(5_000, 5_030)]
Ranked = list[list[Hit]]
HNSW, IVF = "dense:m(index=hnsw)", "dense:m(index=ivf)"


@pytest.fixture
def encoders(monkeypatch: pytest.MonkeyPatch) -> dict[str, Clusters]:
    """Which encoder stands behind a name; by default the same behind all."""
    known: dict[str, Clusters] = {}

    def of_name(model: str, options: Any) -> Clusters:
        return known.setdefault(model, Clusters())

    monkeypatch.setattr(dense, "BiEncoder", of_name)
    return known


def built(top: Path, passages: Shelf, written: str = "dense:m") -> Path:
    given = ComponentSpec.parse("retriever", written)
    folder = top / DENSE_KIND.folder(given)
    DENSE_KIND.build(folder, passages, given, do_nothing)
    return folder


@pytest.mark.parametrize("written", ["dense:m", "dense:m(index=hnsw)"])
def test_links_are_not_written_through(
    tmp_path: Path, encoders: dict[str, Clusters], written: str
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = built(tmp_path / "whole", numbered(50), written)
    for name in [one.name for one in folder.iterdir()]:
        other = tmp_path / name / folder.name
        other.mkdir(parents=True)
        for link in (name, f".{name}.part", f"{name}.new"):
            (other / link).symlink_to(victim)
        built(tmp_path / name, numbered(50), written)
        assert victim.read_text() == "mine"
        assert (other / name).read_bytes() == (folder / name).read_bytes()


def searched(
    top: Path, passages: Shelf, written: str = "dense:m", count: int = 10, queries: Any = QUERIES
) -> Ranked:
    given = ComponentSpec.parse("retriever", written)
    opened = DENSE_KIND.open(top / DENSE_KIND.folder(given), passages, given)
    try:
        return opened.retriever.search(queries, count)
    finally:
        opened.close()


def brute(passages: Shelf, count: int, dtype: type = np.float32) -> Ranked:
    """All products in float64, sorted; equal ones in corpus order."""
    encoder = Clusters()
    vectors = encoder.encode(passages.texts).astype(dtype).astype(np.float64)
    found = []
    for query in encoder.encode(QUERIES):
        scores = (vectors * query).sum(axis=1)
        order = np.argsort(-scores, kind="stable")[:count]
        found.append([Hit(int(i), float(scores[i])) for i in order])
    return found


def recall(found: Ranked, exact: Ranked) -> float:
    shares = [
        len({hit.index for hit in hits} & {hit.index for hit in best}) / len(best)
        for hits, best in zip(found, exact, strict=True)
    ]
    return sum(shares) / len(shares)


@pytest.mark.parametrize("store", mostly_long(1, ["float16", "float32"]))
def test_flat_ranks_are_those_of_a_full_sort(
    tmp_path: Path,
    encoders: dict[str, Clusters],
    monkeypatch: pytest.MonkeyPatch,
    store: str,
) -> None:
    passages, written = numbered(700), f"dense:m(store={store})"
    folder = built(tmp_path, passages, written)
    dtype = np.dtype(store)
    file = folder / ("vectors.f32" if store == "float32" else "vectors.f16")
    assert file.stat().st_size == 700 * 24 * dtype.itemsize
    expected = brute(passages, 700, dtype.type)
    for block, threads, tile in ((8_192, 1, 64), (33, 2, 7), (1, 3, 30)):
        monkeypatch.setattr(vectors, "_PASSAGES_PER_PRODUCT", block)
        monkeypatch.setattr(dense, "_QUERIES", tile)
        monkeypatch.setattr(dense, "cores", lambda threads=threads: threads)
        for count in (1, 12, 700, 5_000):
            found = searched(tmp_path, passages, written, count)
            assert found == [hits[:count] for hits in expected]
    assert all(
        hits.index(Hit(k, hit.score)) < hits.index(Hit(k + 1, hit.score))
        for hits in searched(tmp_path, passages, count=700, written=written)
        for hit in hits
        if (k := hit.index) % 10 == 8
    )


def test_vectors_that_differ_by_less_than_a_product_can_be_off_by() -> None:
    draw = np.random.default_rng(0)
    base = draw.standard_normal(768) * 10
    near = (base + 1e-5 * draw.standard_normal((500, 768))).astype(np.float32)
    asked = (base + draw.standard_normal((5, 768))).astype(np.float32)
    longest = float(np.linalg.norm(near.astype(np.float64), axis=1).max())
    for hits, query in zip(
        nearest(near, asked, 20, rounding_margin(asked, longest), 2, 64), asked, strict=True
    ):
        scores = (near.astype(np.float64) * query).sum(axis=1)
        assert [hit.index for hit in hits] == np.argsort(-scores, kind="stable")[:20].tolist()


@pytest.mark.parametrize(
    ("written", "least"),
    mostly_long(1, [(HNSW, 0.98), (IVF, 0.9), ("dense:m(index=ivf,nlist=20,nprobe=20)", 1.0)]),
)
def test_approximate_hits_are_near_the_exact_ones_and_scored_exactly(
    tmp_path: Path, encoders: dict[str, Clusters], written: str, least: float
) -> None:
    pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    passages = numbered(3_000)
    folder = built(tmp_path, passages, written)
    ranked, found = brute(passages, 3_000), searched(tmp_path, passages, written)
    exact = [hits[:10] for hits in ranked]
    assert recall(found, exact) >= least
    scores = [dict(best) for best in ranked]
    for hits, known in zip(found, scores, strict=True):
        assert [hit.score for hit in hits] == [known[hit.index] for hit in hits]
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.index))
    one_by_one = [searched(tmp_path, passages, written, queries=[q])[0] for q in QUERIES]
    assert one_by_one == found
    again = built(tmp_path / "again", passages, written)
    assert (again / "index.faiss").read_bytes() == (folder / "index.faiss").read_bytes()
    assert len(searched(tmp_path, passages, written, 5_000)[0]) <= 3_000


def test_all_indexes_of_the_same_vectors_share_them(
    tmp_path: Path, encoders: dict[str, Clusters]
) -> None:
    pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    passages = numbered(300)
    for written in ("dense:m", HNSW, IVF, "dense:m(index=hnsw,m=8,ef_search=20)"):
        built(tmp_path, passages, written)
        assert searched(tmp_path, passages, written)[0]
    assert encoders["m"].seen == passages.texts
    assert len(list(tmp_path.glob("*/vectors.f32"))) == 1
    one, other = (
        ComponentSpec.parse("retriever", f"dense:m(index=hnsw,ef_search={n})") for n in (5, 50)
    )
    assert DENSE_KIND.folder(one) == DENSE_KIND.folder(other)


def test_only_exact_search_promises_that_fewer_hits_are_the_beginning_of_more(
    tmp_path: Path, encoders: dict[str, Clusters]
) -> None:
    pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    passages = numbered(50)
    for written, nested in (("dense:m", True), (HNSW, False)):
        folder, given = (
            built(tmp_path, passages, written),
            ComponentSpec.parse("retriever", written),
        )
        opened = DENSE_KIND.open(folder, passages, given)
        assert opened.retriever.nested is nested  # type: ignore[attr-defined]
        assert "clusters-cpu" in opened.retriever.signature
        opened.close()


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.wings.search.vectors import Clusters, numbered
from trueground.wings.search import vectors

left = [int(sys.argv[2])]

def before():
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)

vectors.BLOCK = 64
encoder = Clusters(before=before)
vectors.write_vectors(
    Path(sys.argv[1]), numbered(500), encoder, "float32", "m", lambda *_: None
)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill so")
def test_a_killed_build_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, encoders: dict[str, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BLOCK", 64)
    passages = numbered(500)
    whole = built(tmp_path / "whole", passages)
    broken = tmp_path / "broken" / whole.name
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"}
    for blocks in (2, 3):
        command = [sys.executable, "-c", KILLED, str(broken), str(blocks)]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL
    assert vectors.read_header(broken).done == 5 * 64  # type: ignore[union-attr]
    with pytest.raises(InputError, match="320 of 500"):
        searched(tmp_path / "broken", passages)
    # A block that was being written when it stopped.
    with (broken / "vectors.f32").open("ab") as out:
        out.write(b"\x7f" * 1_001)
    encoders["m"].seen.clear()
    built(tmp_path / "broken", passages)
    assert encoders["m"].seen == passages.texts[320:]
    assert contents(broken) == contents(whole)


def test_rows_that_never_reached_the_disk_are_made_again(
    tmp_path: Path, encoders: dict[str, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BLOCK", 64)
    passages = numbered(200)
    folder = built(tmp_path, passages)
    before = contents(folder)
    os.truncate(folder / "vectors.f32", 130 * 24 * 4 + 7)
    with pytest.raises(InputError, match=r"vectors.f32 has 12,487 bytes.*19,200.*truncated"):
        searched(tmp_path, passages)
    encoders["m"].seen.clear()
    built(tmp_path, passages)
    assert encoders["m"].seen == passages.texts[128:]
    assert contents(folder) == before


def test_what_is_whole_is_not_encoded_again_even_by_another_library(
    tmp_path: Path, encoders: dict[str, Clusters]
) -> None:
    passages = numbered(30)
    built(tmp_path, passages)
    encoders["m"] = Clusters(signature="clusters-cuda")
    built(tmp_path, passages)
    assert encoders["m"].seen == []
    assert searched(tmp_path, passages, count=3) == brute(passages, 3)


def test_other_passages_another_model_and_nothing_there(
    tmp_path: Path, encoders: dict[str, Clusters]
) -> None:
    passages, others = numbered(30), numbered(30, start=7)
    with pytest.raises(InputError, match=r"found none.*trueground index build"):
        searched(tmp_path, passages)
    built(tmp_path, passages)
    with pytest.raises(InputError, match=r"30 other passages.*build the index again"):
        searched(tmp_path, others)
    encoders["m"] = Clusters(space="other weights")
    with pytest.raises(InputError, match=r"vectors of clusters.*other weights.*remove"):
        searched(tmp_path, passages)
    encoders["q"] = Clusters(width=7)
    with pytest.raises(InputError, match=r"7 dimensions.*24.*belongs to m"):
        searched(tmp_path, passages, "dense:q(passages=m)")
    encoders["m"] = Clusters()
    built(tmp_path, others)
    assert searched(tmp_path, others, count=3) == brute(others, 3)


def test_a_build_that_was_begun_with_another_encoder(
    tmp_path: Path, encoders: dict[str, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "BLOCK", 8)
    calls = iter([False, False, True])

    def fail() -> None:
        if next(calls):
            raise KeyboardInterrupt

    encoders["m"] = Clusters(before=fail)
    with pytest.raises(KeyboardInterrupt):
        built(tmp_path, numbered(30))
    encoders["m"] = Clusters(signature="clusters-cuda")
    with pytest.raises(InputError, match=r"clusters-cpu.*clusters-cuda.*Use the same encoder"):
        built(tmp_path, numbered(30))


def test_a_structure_that_is_torn_or_of_other_vectors(
    tmp_path: Path, encoders: dict[str, Clusters]
) -> None:
    pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    passages = numbered(300)
    folder = built(tmp_path, passages, HNSW)
    file = folder / "index.faiss"
    good = file.read_bytes()
    file.write_bytes(good[:-5])
    with pytest.raises(InputError, match="no whole index hnsw of these vectors"):
        searched(tmp_path, passages, HNSW)
    file.write_bytes(b"\0" * len(good))
    with pytest.raises(InputError, match=r"index.faiss cannot be read.*Remove"):
        searched(tmp_path, passages, HNSW)
    file.write_bytes(good[:-5])
    built(tmp_path, passages, HNSW)
    assert file.read_bytes() == good
    built(tmp_path, numbered(300, start=3))  # the vectors are others now
    with pytest.raises(InputError, match="no whole index"):
        searched(tmp_path, numbered(300, start=3), HNSW)


@pytest.mark.parametrize("written", ["dense:m", HNSW, IVF])
def test_no_passages_and_nothing_asked(
    tmp_path: Path, encoders: dict[str, Clusters], written: str
) -> None:
    if written != "dense:m":
        pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    built(tmp_path, Shelf([]), written)
    assert searched(tmp_path, Shelf([]), written) == [[] for _ in QUERIES]
    passages = numbered(20)
    built(tmp_path, passages, written)
    assert searched(tmp_path, passages, written, queries=[]) == []
    assert searched(tmp_path, passages, written, 0, ["1"]) == [[]]
    assert len(searched(tmp_path, passages, written, 50, ["1"])[0]) == 20


def test_progress_is_told(tmp_path: Path, encoders: dict[str, Clusters]) -> None:
    pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    told: list[tuple[str, int, int | None]] = []
    given = ComponentSpec.parse("retriever", HNSW)
    folder = tmp_path / DENSE_KIND.folder(given)
    DENSE_KIND.build(folder, numbered(30), given, lambda *what: told.append(what))
    assert told == [
        ("encode passages", 0, 30),
        ("encode passages", 30, 30),
        ("build hnsw", 0, 30),
        ("build hnsw", 30, 30),
    ]


@pytest.mark.parametrize(
    ("written", "match"),
    [
        ("dense", r"needs a model: dense:FOLDER"),
        ("dense:m(index=lsh)", r"index='lsh'; expected one of flat, hnsw, ivf"),
        ("dense:m(nprobe=3)", r"nprobe belongs to index=ivf, and index is flat"),
        ("dense:m(index=ivf,m=3)", r"m belongs to index=hnsw"),
        ("dense:m(similarity=l2)", r"expected one of cosine, dot, auto"),
        ("dense:m(pooling=x)", r"expected one of mean, cls, max"),
        ("dense:m(store=int8)", r"expected one of float32, float16"),
        ("dense:m(idex=flat)", r"Did you mean 'index'"),
        ("dense:m(passages=n,revision=main)", r"NAME@REVISION"),
        ("dense:m(index=hnsw,m=1)", r"m='1'; expected a whole number, 2 or more"),
    ],
)
def test_options_that_cannot_be_meant(written: str, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        DENSE_KIND.folder(ComponentSpec.parse("retriever", written))


def test_lists_beyond_what_there_is(tmp_path: Path, encoders: dict[str, Clusters]) -> None:
    pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    with pytest.raises(UsageError, match="nlist=31; there are 30 passages"):
        built(tmp_path, numbered(30), "dense:m(index=ivf,nlist=31)")
    assert "m" not in encoders
    built(tmp_path, numbered(30), "dense:m(index=ivf,nlist=5)")
    with pytest.raises(UsageError, match="nprobe=6; there are 5 lists"):
        searched(tmp_path, numbered(30), "dense:m(index=ivf,nlist=5,nprobe=6)")


def test_the_two_halves_of_a_pair(tmp_path: Path, encoders: dict[str, Clusters]) -> None:
    encoders["q"], encoders["p"] = Clusters(only="questions"), Clusters(only="passages")
    passages = numbered(30)
    with pytest.raises(UsageError, match=r"q is .* for questions; name the other with passages="):
        built(tmp_path, passages, "dense:q")
    built(tmp_path, passages, "dense:q(passages=p)")
    assert searched(tmp_path, passages, "dense:q(passages=p)", 3) == brute(passages, 3)
    with pytest.raises(UsageError, match=r"p is .* for passages; write dense:QUESTIONS"):
        searched(tmp_path, passages, "dense:p")


def test_an_encoder_that_breaks_its_promise(
    tmp_path: Path, encoders: dict[str, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Large(Clusters):
        def encode(self, texts: Any) -> Any:
            return super().encode(texts) * np.float32(1e6)

    encoders["m"] = Large()
    with pytest.raises(ProtocolError, match=r"passage 0 .* too large for float16.*store=float32"):
        built(tmp_path, numbered(9), "dense:m(store=float16)")
    encoders["m"] = Clusters()
    built(tmp_path, numbered(9))
    monkeypatch.setattr(encoders["m"], "encode", lambda texts: np.full((len(texts), 24), np.nan))
    with pytest.raises(ProtocolError, match="numbers that are none"):
        searched(tmp_path, numbered(9))
    monkeypatch.setattr(encoders["m"], "encode_passages", lambda given: np.ones((1, 24)))
    with pytest.raises(ProtocolError, match=r"shape \(1, 24\) for 11 passages"):
        built(tmp_path, numbered(11))


def test_the_turns_of_a_conversation_reach_the_encoder(
    tmp_path: Path, encoders: dict[str, Clusters]
) -> None:
    asked: list[Any] = []

    class Heard(Clusters):
        def encode_queries(self, queries: Any) -> Any:
            asked.extend(queries)
            return super().encode_queries(queries)

    encoders["m"] = Heard()
    passages = numbered(30)
    built(tmp_path, passages)
    plain, talk = searched(tmp_path, passages, queries=["7", SearchQuery("3", "5", "7")])
    assert plain == talk
    assert asked == [("7",), ("3", "5", "7")]


def test_the_folder_of_a_model_does_not_say_where_it_lies(tmp_path: Path) -> None:
    def folder(written: str) -> str:
        return DENSE_KIND.folder(ComponentSpec.parse("retriever", written))

    for place in ("a", "b"):
        (tmp_path / place / "dpr").mkdir(parents=True)
    here, there = (f"dense:{tmp_path / place / 'dpr'}" for place in ("a", "b"))
    assert folder(here) == folder(there) == folder("dense:/not/here/dpr")
    assert folder(here).startswith("dense-dpr-")
    assert folder("dense:org/dpr") == folder("dense:q(passages=org/dpr,device=cuda)")
    options = ("store=float16", "pooling=cls", "similarity=dot", "dtype=bfloat16", "window=64")
    folders = {folder(f"dense:org/dpr({option})") for option in options}
    assert len(folders | {folder("dense:org/dpr"), folder(here)}) == len(options) + 2


def test_a_disk_that_is_full(
    tmp_path: Path, encoders: dict[str, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vectors.os, "fsync", full)
    with pytest.raises(WriteError, match=r"No space left on device.*build again"):
        built(tmp_path, numbered(9))


def test_what_fails_before_writing_is_no_failure_of_writing(
    tmp_path: Path, encoders: dict[str, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> None:
        raise ConnectionResetError("the model's process is gone")

    encoders["m"] = Clusters(before=gone)
    with pytest.raises(ConnectionResetError, match="the model's process"):
        built(tmp_path, numbered(9))


def test_every_encoder_that_was_opened_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Counted] = []

    class Counted(Clusters):
        left = 1

        def close(self) -> None:
            self.left -= 1

    def of_name(model: str, options: Any) -> Clusters:
        opened.append(Counted())
        return opened[-1]

    monkeypatch.setattr(dense, "BiEncoder", of_name)
    (tmp_path / "p").mkdir()
    written = f"dense:q(passages={tmp_path / 'p'})"
    passages = numbered(30)
    built(tmp_path, passages, written)
    assert searched(tmp_path, passages, written, 3) == brute(passages, 3)
    assert [encoder.left for encoder in opened] == [0, 0, 0]


def test_without_faiss_only_the_exact_search_works(
    tmp_path: Path, encoders: dict[str, Clusters], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    passages = numbered(9)
    with pytest.raises(MissingExtraError, match=r"trueground\[retrieval\]"):
        built(tmp_path, passages, HNSW)
    assert "m" not in encoders
    built(tmp_path, passages)
    assert searched(tmp_path, passages, count=3) == brute(passages, 3)


def test_faiss_gets_its_settings_back(tmp_path: Path, encoders: dict[str, Clusters]) -> None:
    faiss = pytest.importorskip("faiss", reason="the retrieval extra is not installed")

    def state() -> tuple[int, int]:
        return faiss.omp_get_max_threads(), faiss.cvar.distance_compute_blas_threshold

    before = state()
    built(tmp_path, numbered(50), IVF)
    searched(tmp_path, numbered(50), IVF)
    assert state() == before
    read: Callable[[], Any] = dense.faiss_module
    assert read() is faiss


@pytest.mark.parametrize("written", ["dense:m", HNSW])
def test_damaged_files_are_told_without_a_model(
    tmp_path: Path,
    encoders: dict[str, Clusters],
    monkeypatch: pytest.MonkeyPatch,
    written: str,
) -> None:
    passages, given = numbered(300), ComponentSpec.parse("retriever", written)
    if written == HNSW:
        pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    folder = built(tmp_path, passages, written)
    before = searched(tmp_path, passages, written)
    assert DENSE_KIND.check is not None
    name = "vectors.f32" if written == "dense:m" else "index.faiss"
    for damage in (lambda file: os.truncate(file, 1_000), Path.unlink):
        with monkeypatch.context() as patched:
            patched.setattr(dense, "BiEncoder", None)
            DENSE_KIND.check(folder, passages, given)
            damage(folder / name)
            with pytest.raises(InputError, match=r"truncated or damaged|no whole index hnsw"):
                DENSE_KIND.check(folder, passages, given)
        built(tmp_path, passages, written)
        assert searched(tmp_path, passages, written) == before
