"""kill -9 at every system call that writes: the same command goes on, to the same end."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.evaluate.questions_file import write_questions
from tests.killing import Forge, available, forge
from tests.marks import mostly_long

from trueground.wings.graphs.operations import open_graph
from trueground.wings.search.building import open_index

pytestmark = pytest.mark.skipif(not available(), reason="strace cannot be used here")
EXAMPLES = Path(__file__).parents[2] / "examples/answers.jsonl"
REFUSE_FINISHED = ("score", "score-judged", "score-labels", "shards")
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


def write_answers(path: Path, n: int) -> None:
    """Answers of which every other one is grounded."""
    rows = (
        {"id": str(k), "contexts": [f"The tower is {k} m tall."], "references": [f"{k} m"],
         "response": f"It is {k + k % 2} m tall.", "model": f"m{k % 2}"}
        for k in range(n)
    )  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class Command(NamedTuple):
    """What is run, and what must be as if nothing had happened; of the rest nothing is hidden."""

    words: list[str]
    same: tuple[str, ...] = ()


def command(name: str, folder: Path, out: Path) -> Command:
    pages = ("items.jsonl", "summary.json", "report.html")
    if name == "score":
        words = ["score", str(EXAMPLES), "--limit", "3"]
    elif name == "score-overwrite":
        words = ["score", str(EXAMPLES), "--limit", "3", "--overwrite"]
    elif name == "score-judged":  # in batches of 64
        write_answers(folder / "answers.jsonl", 140)
        words = ["score", str(folder / "answers.jsonl"), "--judge", "llm:fake:True"]
        words += ["--metrics", "grounding_precision", "--by", "model", "--no-cache"]
    elif name == "score-labels":
        write_answers(folder / "answers.jsonl", 40)
        labels = folder / "labels.jsonl"
        rows = ({"id": str(n), "human": {"faithful": n % 2}} for n in range(30))
        labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
        words = ["score", str(folder / "answers.jsonl"), "--metrics", "support"]
        words += ["--labels", str(labels), "--labels-drawn", "random"]
    elif name == "shards":
        write_answers(folder / "answers.jsonl", 20)
        words = ["score", str(folder / "answers.jsonl"), "--metrics", "f1", "--shards", "3"]
        words += ["--workers", "1"]
    elif name == "run":
        write_questions(folder / "q.jsonl", 3)
        words = ["run", "faitheval/unanswerable", "--data", str(folder / "q.jsonl"), "--no-cache"]
        words += ["--model", "fake:echo"]
    elif name == "index":
        (folder / "corpus.jsonl").write_text('{"id": "a", "text": "One passage."}\n')
        words = ["index", "build", str(folder / "corpus.jsonl"), "--retriever", "bm25"]
        pages = ("passages.sqlite", "retrievers/bm25/bm25.json", "retrievers/bm25/scores.npy")
    else:
        (folder / "g.nt").write_text(f'<urn:a> {LABEL} "Anna" .\n<urn:b> {LABEL} "Ben" .\n')
        words = ["graph", "load", str(folder / "g.nt")]
        pages = ()
    return Command([*words, "--out", str(out), "--quiet"], pages)


@pytest.fixture(scope="module")
def smithy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    folder = tmp_path_factory.mktemp("forge")
    with forge(folder, TRUEGROUND_HOME=str(folder / "home")) as made:
        yield made


def state(out: Path) -> str:
    """What is there, but for numbers and times: from the same state all goes on alike."""
    files = sorted(one for one in out.rglob("*") if one.is_file())
    of_stores = [one for one in files if out / "store-1" in one.parents]
    seen = [f"{one.relative_to(out)} {one.stat().st_size}" for one in of_stores]
    for one in files:
        if one not in of_stores:
            content = re.sub(rb"\d+", b"0", one.read_bytes()).hex()
            seen.append(f"{one.relative_to(out)} {content}")
    return "\n".join([*seen, *sorted(str(one) for one in out.rglob("*") if one.is_dir())])


def kill_and_go_on(smithy: Forge, folder: Path, name: str, some: int | None) -> None:
    whole, out = folder / "whole" / "out", folder / "killed" / "out"
    expected = command(name, folder, whole)
    code, said = smithy.run(expected.words)
    assert code == 0, said
    wanted = command(name, folder, out)
    points = smithy.points(wanted.words, out)
    assert len(points) > 25
    known = set[str]()
    for point in points if some is None else random.Random(name).sample(points, some):
        shutil.rmtree(out, ignore_errors=True)
        if not smithy.kill(wanted.words, point) or (left := state(out)) in known:
            continue
        known.add(left)
        code, said = smithy.run(wanted.words)
        # Killed after the last thing that is written: the run is whole, and nothing is to be done.
        is_finished = code == 2 and name in REFUSE_FINISHED and " finished run" in said
        assert code == 0 or is_finished, (point, said)
        for file in wanted.same:
            assert (out / file).read_bytes() == (whole / file).read_bytes(), (point, file)
        assert not list(out.rglob(".*")), point
        if name == "graph":
            graph = open_graph(out)
            assert [entity.text for entity in graph.names()] == ["Anna", "Ben"], point
            graph.close()
        elif name == "index":
            open_index(out).open("bm25").close()


@pytest.mark.parametrize("name", mostly_long(2, ["score", "run", "graph"]))
def test_killed_at_some_points(smithy: Forge, tmp_path: Path, name: str) -> None:
    kill_and_go_on(smithy, tmp_path, name, 2)


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    ["score", "score-overwrite", "score-judged", "score-labels", "shards", "run", "index", "graph"],
)
def test_killed_at_every_point(smithy: Forge, tmp_path: Path, name: str) -> None:
    kill_and_go_on(smithy, tmp_path, name, None)
