"""All 2,170 questions of KaLMA against the union of their graphs (docs/linking.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("ahocorasick", reason="the graph extra is not installed")

from trueground.wings.graphs.json_graph import JsonGraph
from trueground.wings.graphs.linking import (
    LinkedQuestion,
    Linker,
    LinkingQuestion,
    Retrieval,
    read_questions,
    retrieval,
)
from trueground.wings.graphs.names import fold
from trueground.wings.graphs.operations import open_graph

SHARED = Path(__file__).parents[5] / "shared" / "data" / "kalma"
SPECIFIC, GENERAL = SHARED / "complex_question_graph.json", SHARED / "simple_question_graph.json"

pytestmark = pytest.mark.skipif(
    not SPECIFIC.exists(), reason="the published KaLMA files are not here"
)


@pytest.fixture(scope="module")
def linker() -> Linker:
    """Over all graphs of both files; both files give the same graphs, question by question."""
    specific = open_graph(SPECIFIC)
    assert isinstance(specific, JsonGraph)
    general = open_graph(GENERAL)
    assert isinstance(general, JsonGraph)
    assert set(specific.names()) == set(general.names())
    return Linker(specific, types=["human"])


def linked(
    linker: Linker, path: Path
) -> tuple[list[LinkingQuestion], list[LinkedQuestion], Retrieval]:
    questions = read_questions(path)
    found = linker.link([one.text for one in questions])
    return questions, found, retrieval(found, [one.gold for one in questions])


@pytest.mark.parametrize(
    ("path", "precision", "recall", "exact"),
    [(SPECIFIC, 0.90, 0.735, 750), (GENERAL, 0.91, 0.695, 725)],
    ids=["specific", "general"],
)
def test_found_entities_agree_with_the_given_ones(
    linker: Linker, path: Path, precision: float, recall: float, exact: int
) -> None:
    _, _, got = linked(linker, path)
    assert got.questions == 1085
    assert got.gold == 1247
    assert got.precision is not None
    assert got.recall is not None
    assert got.precision >= precision
    assert got.recall >= recall
    assert got.exact >= exact


@pytest.mark.parametrize("path", [SPECIFIC, GENERAL], ids=["specific", "general"])
def test_every_name_that_stands_in_a_question_is_found(linker: Linker, path: Path) -> None:
    """Of gold entities named in full, on word boundaries, only those inside a longer name lack."""
    questions, found, _ = linked(linker, path)
    names = {one.qid: one.text for one in linker.graph.names()}  # type: ignore[attr-defined]
    lacking, longer = 0, 0
    for question, one in zip(questions, found, strict=True):
        text = fold(one.question).text
        by_name = {fold(each.name).text for each in one.found}
        for qid in question.gold or ():
            name = fold(names[qid]).text
            if f" {name} " not in f" {text.replace(',', ' ').replace('?', ' ')} ":
                continue
            inside = any(name in each and name != each for each in by_name)
            longer += inside
            lacking += name not in by_name and not inside
    assert lacking == 0
    assert longer <= 8


@pytest.mark.parametrize("path", [SPECIFIC, GENERAL], ids=["specific", "general"])
def test_places_names_and_limits_hold(linker: Linker, path: Path) -> None:
    _, found, _ = linked(linker, path)
    assert sum(each.candidates > 1 for one in found for each in one.found) >= 25
    for one in found:
        assert len(set(one.qids)) == len(one.qids)
        names = [fold(each.name).text for each in one.found]
        assert len(set(names)) == len(names)
        for each in one.found:
            assert one.question[each.start : each.end] == each.name
            assert fold(each.entity.name).text == fold(each.name).text
