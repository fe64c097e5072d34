"""What a run of KaLMA says of its questions before it asks, and on every page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.commands import trueground
from tests.wings.papers.kalma_files import EDDA, IVAR, MINIMUM, ORLA, SPECIFIC, data_folder, write

from trueground.benchmarks.base import Sources, Task, get_benchmark
from trueground.errors import InputError

NONE = "No minimum knowledge sets are given"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_folder(tmp_path / "clone")


def prepared(sources: Sources, name: str = "questions", **options: str) -> Task:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    return get_benchmark("kalma").prepare(name, given, sources)


def told(data: Path, name: str = "questions", limit: int | None = None, **options: str) -> Any:
    """The notices of a task whose questions have been read, without those on absent sets."""
    words: list[str] = []
    task = prepared(Sources(data, limit=limit, note=words.append), name, **options)
    assert list(task.questions()) == list(task.questions())
    assert list(task.notices) == words
    return [word for word in words if not word.startswith(NONE)]


def own(data: Path, *rows: dict[str, Any]) -> Path:
    return write(
        data / "own.json", [{"question": f"Question {i}?", **r} for i, r in enumerate(rows)]
    )


def test_sets_of_two_sources(data: Path) -> None:
    botanist, miller = [["Q101", "occupation", "botanist"]], [["Q102", "occupation", "miller"]]
    path = own(
        data,
        {"knowledge": [ORLA], "gold_knowledge": botanist},
        {"knowledge": [IVAR], "gold_knowledge": miller},
        {"knowledge": [EDDA]},
    )
    one = str(write(data / "one.json", [["Question 0?", MINIMUM[0][1]]]))
    task = prepared(Sources(path), minimum=one)
    sets = [question.record.gold_knowledge for question in task.questions()]
    assert sets == [MINIMUM[0][1], miller, None]
    assert task.notices[0] == (
        "The minimum knowledge sets are of two sources: 1 of 3 questions have the one of one.json, "
        "1 their own gold_knowledge."
    )
    full = [["Question 0?", botanist], ["Question 1?", miller], ["Question 2?", []]]
    assert told(path, minimum=str(write(data / "full.json", full))) == []
    path = own(data, {"knowledge": [ORLA]}, {"knowledge": [], "gold_knowledge": miller})
    made_up, mixed, _ = told(path, synthetic_minimum="2")
    assert "synthetic" in made_up
    assert "1 of 2 questions have the one drawn, 1 their own gold_knowledge" in mixed


def test_questions_without_a_graph(data: Path) -> None:
    path = own(data, {"era": 1}, {"knowledge": [EDDA], "era": 2}, {"knowledge": []})
    assert told(path) == [
        "2 of 3 questions have no graph to show; their citations are not scored.",
    ]
    assert told(path, limit=1)[0].startswith("1 of 1 questions have no graph to show")


def test_linked_questions_without_a_graph(data: Path) -> None:
    pytest.importorskip("ahocorasick")
    assert told(data, "specific", knowledge="linked") == [
        "1 of 4 questions have no graph to show; their citations are not scored."
    ]


def test_gold_graphs_that_are_nowhere(data: Path) -> None:
    sets = [[MINIMUM[0][0], [*MINIMUM[0][1], ["Q999", "occupation", "miller"]]], *MINIMUM[1:]]
    minimum = str(write(data / "far.json", sets))
    lack = "1 of 3 questions lack the graph of some entity that their minimum set names."
    left_out = "1 of 4 questions have no graph to show and are left out."
    assert told(data, "specific", minimum=minimum, knowledge="gold") == [left_out, lack]
    assert told(data, "specific", minimum=minimum) == [left_out]
    graph = str(write(data / "graphs.json", [ORLA, IVAR, EDDA]))
    found = told(data, "specific", minimum=minimum, knowledge="gold", graph=graph)
    assert found[-2:] == [
        "1 of 3 questions have no graph to show; their citations are not scored.",
        "2 of 3 questions lack the graph of some entity that their minimum set names.",
    ]


@pytest.mark.parametrize(("remove", "fewer"), [("0", 0), ("1", 0), ("2", 1), ("3", 2)])
def test_fewer_pieces_than_are_removed(data: Path, remove: str, fewer: int) -> None:
    # The graphs have three, one and two pieces of the sets.
    _, *found = told(data, "specific", minimum=str(data / "minimum.json"), remove=remove)
    words = f"{fewer} of 3 questions lose fewer than {remove} pieces: their graphs do not have so "
    assert found == ([f"{words}many of their minimum set."] if fewer else [])


def test_folders_are_no_files(data: Path) -> None:
    write(data / "own" / "a.json", [SPECIFIC[0]])
    with pytest.raises(InputError, match="own is a folder; expected a file with"):
        prepared(Sources(data / "own"))
    with pytest.raises(InputError, match="own is a folder; expected a file with"):
        prepared(Sources(data), "specific", minimum=str(data / "own"))


def test_a_dry_run_tells_the_calls_of_rating(data: Path) -> None:
    words = ["run", "kalma/specific", "--data", data, "--model", "fake:x", "--dry-run"]
    rater = "llm:r(base_url=http://127.0.0.1:9/v1)"
    done = trueground(*words, "--rated", "2", "--rater", rater, cwd=data)
    assert done.returncode == 0, done.stderr
    assert "asks the rater up to 24 times (12 for each of 2 answers), and again" in done.stderr
    assert "no graph to show and are left out" in done.stderr
