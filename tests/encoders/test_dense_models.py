"""Dense retrieval end to end through small models: DPR's pair, Contriever, sentence-transformers.

They have random weights: what is looked at is that ranks are those of the vectors that
`transformers` gives.
"""

# ruff: noqa: E402 - without the extras nothing below can be imported
from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the hf extra is not installed")
transformers = pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.encoders import tiny
from tests.encoders.test_passages import plain_dpr
from tests.encoders.tiny_retrieval import tiny_contriever, tiny_dpr
from tests.wings.search.vectors import Shelf

from trueground.components.specs import ComponentSpec
from trueground.encoders.base import EncoderOptions
from trueground.encoders.models import BiEncoder
from trueground.errors import InputError, UsageError
from trueground.options.shared import do_nothing
from trueground.wings.search.base import Hit
from trueground.wings.search.dense import DENSE_KIND

QUERIES = ["who wrote the first song", "which river is in the city", "film", "1952 ; no"]
SHELF = Shelf(
    [(f"{a} {b}", f"the {b} of {a} in {c} was {a}") for a in ("city", "film", "song")
     for b in ("river", "team", "capital", "year") for c in ("new", "old", "1952")]
    + [("", "a passage without a title")]
)  # fmt: skip


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))


def searched(top: Path, written: str, count: int = 5) -> tuple[list[list[Hit]], Path]:
    given = ComponentSpec.parse("retriever", written)
    folder = top / DENSE_KIND.folder(given)
    DENSE_KIND.build(folder, SHELF, given, do_nothing)
    opened = DENSE_KIND.open(folder, SHELF, given)
    found = opened.retriever.search(QUERIES, count)
    opened.close()
    return found, folder


def nearest(vectors: Any, asked: Any, count: int = 5) -> list[list[int]]:
    scores = asked.astype(np.float64) @ vectors.astype(np.float64).T
    return [list(np.argsort(-row, kind="stable")[:count]) for row in scores]


def numbers(found: list[list[Hit]]) -> list[list[int]]:
    return [[hit.index for hit in hits] for hits in found]


def pairs() -> list[tuple[str, str]]:
    return [(SHELF[n].title or "", SHELF[n].text) for n in range(len(SHELF))]


@pytest.mark.parametrize("index", ["flat", "hnsw"])
def test_a_pair_of_dpr(tmp_path: Path, index: str) -> None:
    if index != "flat":
        pytest.importorskip("faiss", reason="the retrieval extra is not installed")
    asks = tiny_dpr(tmp_path / "asks", "Question")
    holds = tiny_dpr(tmp_path / "holds", "Context", seed=1)
    written = f"dense:{asks}(passages={holds},index={index},backend=torch)"
    found, _ = searched(tmp_path, written)
    vectors = plain_dpr(holds, "Context", pairs())
    asked = plain_dpr(asks, "Question", [("", query) for query in QUERIES])
    assert numbers(found) == nearest(vectors, asked)
    for hits, query in zip(found, asked, strict=True):
        for hit in hits:
            assert hit.score == pytest.approx(float(vectors[hit.index] @ query), abs=1e-4)


def test_the_passages_encoder_is_not_needed_for_a_search_but_must_be_the_same(
    tmp_path: Path,
) -> None:
    asks = tiny_dpr(tmp_path / "asks", "Question")
    holds = tiny_dpr(tmp_path / "holds", "Context", seed=1)
    written = f"dense:{asks}(passages={holds},backend=torch)"
    before, folder = searched(tmp_path, written)
    given = ComponentSpec.parse("retriever", written)
    shutil.move(holds, tmp_path / "elsewhere")
    opened = DENSE_KIND.open(folder, SHELF, given)
    assert opened.retriever.search(QUERIES, 5) == before
    opened.close()
    tiny_dpr(tmp_path / "holds", "Context", seed=2)
    with pytest.raises(InputError, match="Use the model as it was"):
        DENSE_KIND.open(folder, SHELF, given)


def test_half_a_pair_of_dpr_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    asks = tiny_dpr(tmp_path / "asks", "Question")
    with pytest.raises(UsageError, match="name the other with passages="):
        searched(tmp_path / "index", f"dense:{asks}(backend=torch)")
    assert not (tmp_path / "index").exists()


def test_contriever_and_sentence_transformers(tmp_path: Path) -> None:
    contriever = tiny_contriever(tmp_path / "contriever")
    usual = tiny.tiny_text_encoder(tmp_path / "usual")
    for folder, similarity in ((contriever, "dot"), (usual, "cosine")):
        options = EncoderOptions(backend="torch", similarity=similarity, cache=False)
        encoder = BiEncoder(folder, options)
        vectors, asked = encoder.encode(SHELF.searched), encoder.encode(QUERIES)
        found, files = searched(tmp_path, f"dense:{folder}(backend=torch)")
        assert numbers(found) == nearest(vectors, asked)
        about = json.loads((files / "vectors.json").read_text())
        assert (about["similarity"], about["count"]) == (similarity, len(SHELF))
        assert (files / "vectors.f32").read_bytes() == vectors.tobytes()
    other, _ = searched(tmp_path, f"dense:{contriever}(backend=torch,similarity=cosine)")
    assert all(-1.001 <= hit.score <= 1.001 for hits in other for hit in hits)


def test_passages_are_not_kept_twice(tmp_path: Path) -> None:
    folder = tiny.tiny_text_encoder(tmp_path / "usual")
    searched(tmp_path, f"dense:{folder}(backend=torch)")
    with closing(sqlite3.connect(tmp_path / "home" / "vectors.sqlite")) as file:
        tables = file.execute("select name from sqlite_master where type = 'table'").fetchall()
        rows = max(file.execute(f"select count(*) from {name}").fetchone()[0] for (name,) in tables)
    assert rows == len(QUERIES)
