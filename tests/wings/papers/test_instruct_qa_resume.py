"""A run over passages goes on where it was, whatever became of the index in between."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import KEY, ChaosServer
from tests.commands import PROGRAM, trueground
from tests.marks import mostly_long
from tests.wings.papers.instruct_qa_files import PEOPLE, jsonl, single, world

from trueground.benchmarks.base import Sources, Task, get_benchmark
from trueground.studies.sweeps import prepare_variants
from trueground.wings.search.building import add_retrievers, build_index, default_index_path

BOTH = ("--retriever", "bm25", "--retriever", "bm25(k1=0.9)")
N = 40


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": KEY}


def done(*more: object, env: dict[str, str], cwd: Path) -> str:
    found = trueground(*more, env=env, cwd=cwd)
    assert found.returncode == 0, found.stderr
    return found.stdout


def answer(prompt: str) -> str:
    return next(name for name in PEOPLE if name in prompt) if "founded in" in prompt else "?"


def many(folder: Path) -> tuple[Path, Path]:
    """(questions, corpus), of as many questions as a sweep can be killed in."""
    _, corpus = world(folder)
    return jsonl(folder / "many.jsonl", [single(town) for town in range(N)]), corpus


def result(run: Path) -> list[Any]:
    return [(run / name).read_bytes() for name in ("items.jsonl", "summary.json")]


def test_a_sweep_over_retrievers_can_be_repeated(env: dict[str, str], tmp_path: Path) -> None:
    """The second retriever is added to the index when the first has been prepared."""
    data, corpus = world(tmp_path)
    with ChaosServer(answer=answer) as server:
        common = ("run", "instruct-qa", "--data", data, "--corpus", corpus, *BOTH, "--model", "m")
        common += ("--base-url", server.base_url, "--quiet", "--no-cache")
        done(*common, "--out", "one", env=env, cwd=tmp_path)
        calls = sum(server.calls.values())
        assert calls == 2 * 7
        done(*common, "--out", "one", env=env, cwd=tmp_path)
        assert sum(server.calls.values()) == calls
        # A third session, with another retriever in the index than at its beginning.
        index = ("index", "build", corpus, "--retriever", "bm25(b=0.4)", "--quiet")
        done(*index, env=env, cwd=tmp_path)
        done(*common, "--out", "one", env=env, cwd=tmp_path)
        assert sum(server.calls.values()) == calls
    told = done("report", "one", "--format", "json", env=env, cwd=tmp_path)
    assert "data (sha256)" not in told


@pytest.mark.long
@pytest.mark.parametrize(
    "moments", mostly_long(1, [([N + N // 4],), ([N // 4, N + N // 4, N + N // 2],)])
)
def test_a_sweep_that_was_killed_goes_on(
    env: dict[str, str], tmp_path: Path, moments: list[int]
) -> None:
    """In a folder of its own or in one that it finds; a retriever is added in between."""
    data, corpus = many(tmp_path)
    with ChaosServer(answer=answer, delay=0.02) as server:
        common = ("run", "instruct-qa", "--data", data, "--corpus", corpus, *BOTH, "--model", "m")
        common += ("--base-url", server.base_url, "--quiet", "--no-cache")
        common += ("--max-connections", 2)
        for number, at in enumerate(moments):
            process = subprocess.Popen([*PROGRAM, *map(str, common)], env=env, cwd=tmp_path)
            give_up = time.monotonic() + 60
            while process.poll() is None and sum(server.calls.values()) < at:
                assert time.monotonic() < give_up
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
            index = ("index", "build", corpus, "--retriever", f"bm25(b=0.{number})", "--quiet")
            done(*index, env=env, cwd=tmp_path)
        done(*common, env=env, cwd=tmp_path)
        # What was under way when the process died may come again, and nothing else.
        calls: Counter[str] = server.calls
        assert 2 * N <= sum(calls.values()) <= 2 * N + len(moments) * 2
        [killed] = (tmp_path / "runs").iterdir()
        done(*common, "--out", "whole", env=env, cwd=tmp_path)
    for name in ("bm25", "bm25-k1-0.9"):
        assert result(killed / name) == result(tmp_path / "whole" / name)


def prepared(data: Path, corpus: Path) -> Task:
    return get_benchmark("instruct-qa").prepare("questions", {"corpus": str(corpus)}, Sources(data))


def test_the_corpus_is_known_by_its_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under another path, another home, as an index or not: the same run."""
    data, corpus = world(tmp_path / "in")
    made = []
    for number in range(2):
        monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / f"home{number}"))
        place = tmp_path / f"place{number}"
        place.mkdir()
        made.append(prepared(data, shutil.copy(corpus, place / "corpus.jsonl")))
    index = build_index(corpus, tmp_path / "index", ["bm25", "bm25(b=0.3)"])
    made.append(prepared(data, index.path))
    add_retrievers(index.path, ["bm25(b=0.2)"])
    made.append(prepared(data, index.path))
    for one in made:
        assert one.options == made[0].options
        assert [file.sha256 for file in one.files] == [file.sha256 for file in made[0].files]
        assert [Path(file.path).name for file in one.files] == ["questions.jsonl"]


def test_a_copy_of_a_corpus_is_searched_with_several_retrievers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file that the index was once made from is another by now."""
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    data, corpus = world(tmp_path / "in")
    prepared(data, corpus)
    copy = Path(shutil.copy(corpus, tmp_path / "corpus.jsonl"))
    corpus.write_text(json.dumps({"text": "Something else."}) + "\n", encoding="utf-8")
    options = {"corpus": str(copy), "retriever": ["bm25", "bm25(b=0.4)"]}
    found = prepare_variants(get_benchmark("instruct-qa"), ("questions",), options, Sources(data))
    assert len(found) == 2
    assert len(list(found[1].task.questions())) == 7
    assert default_index_path(copy).is_dir()
