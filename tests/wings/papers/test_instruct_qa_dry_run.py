"""--dry-run of the QA benchmark: the prompts are counted, and nothing is left behind."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import KEY
from tests.wings.papers.instruct_qa_files import QUESTIONS, jsonl, single, world
from typer.testing import CliRunner, Result

from trueground.cli.app import app
from trueground.errors import InputError, UsageError
from trueground.wings.search.building import build_index, ready_index


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def listing(folder: Path) -> list[tuple[str, int, int]]:
    """Every file and folder below, with size and time; of the temporary folder what is in it."""
    found = [path for path in folder.rglob("*") if path.name != "temporary"]
    stats = [(str(path.relative_to(folder)), path.stat()) for path in found]
    return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def dry(data: Path, corpus: Path, *more: object) -> Result:
    words = ["run", "instruct-qa", "--data", data, "--corpus", corpus, "--model", "fake:echo"]
    return CliRunner().invoke(app, [*map(str, words), *map(str, more), "--dry-run"])


def estimates(done: Result) -> list[dict[str, Any]]:
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


RETRIEVERS = ("bm25", "bm25(k1=0.9)", 'hybrid:"bm25 + bm25(k1=0.9)"', 'multi-hop:"bm25"')


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """No home, no index, no hits; and the same numbers as with an index that is there."""
    data, corpus = world(tmp_path / "in")
    before = listing(tmp_path)
    words = [word for one in RETRIEVERS for word in ("--retriever", one)]
    words += ["--setting", "retrieved", "--setting", "gold", "--format", "json"]
    found = estimates(dry(data, corpus, *words))
    assert listing(tmp_path) == before
    assert len(found) == len(RETRIEVERS) + 1
    assert {one["calls"] for one in found} == {len(QUESTIONS)}
    assert min(one["tokens_in"] for one in found) > 0
    ready_index(corpus, RETRIEVERS[:2])
    before = listing(tmp_path)
    assert estimates(dry(data, corpus, *words)) == found
    assert listing(tmp_path) == before


def test_an_index_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    """What it lacks is made beside it."""
    data, corpus = world(tmp_path / "in")
    index = build_index(corpus, tmp_path / "index", [])
    before = listing(tmp_path)
    words = ("--retriever", "bm25", "--retriever", "bm25(b=0.4)", "--format", "json")
    found = estimates(dry(data, index.path, *words))
    assert listing(tmp_path) == before
    assert found == estimates(dry(data, corpus, *words))
    build_index(corpus, index.path, ["bm25"])
    before = listing(tmp_path)
    assert estimates(dry(data, index.path, *words)) == found
    assert listing(tmp_path) == before


@pytest.mark.parametrize("as_index", [False, True])
def test_vectors_are_not_made_to_be_thrown_away(tmp_path: Path, as_index: bool) -> None:
    data, corpus = world(tmp_path / "in and out")
    if as_index:
        corpus = build_index(corpus, tmp_path / "an index", ["bm25"]).path
    before = listing(tmp_path)
    for written in ("dense:some/model", 'hybrid:"bm25 + dense:some/model"'):
        done = dry(data, corpus, "--retriever", "bm25", "--retriever", written)
        assert isinstance(done.exception, UsageError)
        step = f"trueground index build '{corpus}' --retriever dense:some/model"
        assert str(done.exception).endswith(step)
    assert listing(tmp_path) == before


def test_vectors_that_are_there_are_searched(tmp_path: Path) -> None:
    """The questions' own vectors are not kept, nor are the hits."""
    for module in ("torch", "transformers"):
        pytest.importorskip(module, reason="the hf extra is not installed")
    from tests.encoders.tiny_retrieval import tiny_contriever

    data, corpus = world(tmp_path / "in")
    written = f"dense:{tiny_contriever(tmp_path / 'tiny')}"
    index = build_index(corpus, tmp_path / "index", [written])
    before = listing(tmp_path)
    words = (
        "--retriever",
        written,
        "--retriever",
        f'hybrid:"bm25 + {written}"',
        "--format",
        "json",
    )
    assert len(estimates(dry(data, index.path, *words))) == 2
    assert listing(tmp_path) == before


def test_nothing_is_left_after_an_error_either(tmp_path: Path) -> None:
    _, corpus = world(tmp_path / "in")
    data = jsonl(tmp_path / "typo.jsonl", [{**single(1), "gold": ["Nowhere"]}])
    before = listing(tmp_path)
    done = dry(data, corpus)
    assert isinstance(done.exception, InputError)
    assert f"the gold passage 'Nowhere' is not in the corpus {corpus};" in str(done.exception)
    assert listing(tmp_path) == before
    assert not [*Path(tempfile.gettempdir()).iterdir()]
