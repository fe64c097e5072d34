"""The paper's worked examples: Figures 2 and 3, and the answers of Tables 19 and 20."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.citations.made import PairJudge, claim, graph, k, triples

import trueground as tg
from trueground.testing import FakeJudge

SHARED = Path(__file__).parents[4] / "shared"
PAPER = SHARED / "papers" / "kalma.txt"
DATA = SHARED / "data" / "kalma" / "complex_question_graph.json"

FIGURE_2 = {
    "response": f"First {k(1)}{k(2)}. Second {k(2)}{k(6)}[NA]. Third {k(6)}{k(9)}.",
    "knowledge": [graph(*range(1, 10))],
    "gold_knowledge": triples(1, 2, 3, 4, 5),
}
FIGURE_3 = {
    "response": f"First {k(1)}[NA]. Second {k(3)}{k(6)}[NA]. Third {k(6)}{k(9)}.",
    "knowledge": [graph(1, 3, 6, 9)],
    "gold_knowledge": triples(1, 2, 3, 4, 5),
    "absent_knowledge": triples(2, 4, 5),
}


def means(result: tg.Result) -> dict[str, Any]:
    return {key: entry["mean"] for key, entry in result.summary.raw["metrics"].items()}


def test_figure_2() -> None:
    found = means(tg.score([FIGURE_2], metrics="citation_precision,citation_recall,citation_f1"))
    f1 = 2 * 0.5 * 0.4 / 0.9
    assert found == {
        "citation_precision": 3 / 6,
        "citation_precision_micro": 3 / 6,
        "citation_recall": 2 / 5,
        "citation_recall_micro": 2 / 5,
        "citation_f1": pytest.approx(f1),
        "citation_f1_micro": pytest.approx(f1),
    }


def test_figure_2_as_the_authors_script_counts() -> None:
    names = [f"citation_{n}(variant=reference-code)" for n in ("precision", "recall", "f1")]
    found = means(tg.score([FIGURE_2], metrics=names))
    assert found["citation_precision(variant=reference-code)"] == pytest.approx(2 / 6)
    assert found["citation_precision_micro(variant=reference-code)"] == pytest.approx(2 / 6)
    assert found["citation_recall(variant=reference-code)"] == 2 / 5
    assert found["citation_f1(variant=reference-code)"] == pytest.approx(2 * 2 / (6 + 5))


def test_figure_3() -> None:
    judge = PairJudge([("First.", claim(2))])
    result = tg.score([FIGURE_3], metrics="na_precision,na_recall,na_f1", judge=judge)
    found = means(result)
    assert found["na_precision"] == found["na_precision_micro"] == 1 / 2
    assert found["na_recall"] == found["na_recall_micro"] == pytest.approx(1 / 3)
    assert found["na_f1"] == found["na_f1_micro"] == pytest.approx(2 * (1 / 6) / (5 / 6))
    # The six questions of the figure, sentence by sentence; none about the third.
    drawn = [(s, claim(n)) for s in ("First.", "Second.") for n in (2, 4, 5)]
    assert sorted((r.texts[0], r.claim) for r in judge.asked) == sorted(drawn)
    shown = result.evidence[0]["evidence"]["na_precision"]
    assert [(c["sentence"], c["supported"]) for c in shown["missing"]] == [
        (0, True),
        *[(0, False)] * 2,
        *[(1, False)] * 3,
    ]
    assert shown["absent"] == triples(2, 4, 5)


needs_paper = pytest.mark.skipif(
    not (PAPER.exists() and DATA.exists()), reason="the paper's text and data are not here"
)
# What the question of both tables asks for, chosen by hand.
MINIMUM = [
    ["Q206534", "religion", "atheism"],
    ["Q206534", "notable works", "The Red Badge of Courage"],
    ["Q206534", "movement", "literary realism"],
    ["Q206534", "alma mater", "Syracuse University"],
    ["Q206534", "member of sports team", "Syracuse Orange baseball"],
    ["Q206534", "occupation", "writer"],
]
# A reader finds these in their sentences, though not in the same words.
REWORDED = {
    "date of birth: 1871-11-01": 1.0,
    "date of death: 1900-06-05": 1.0,
    "movement: literary realism": 1.0,
    "religion: atheism": 1.0,
}


def printed(table: int) -> dict[str, Any]:
    """The answer of a table beside the graph of its question."""
    before, _ = PAPER.read_text(encoding="utf-8").split(
        f"Table {table}: An example of the attributed answer", 1
    )[0:2]
    answer = before.rsplit("Generated Output : ", 1)[1].strip()
    graphs = json.loads(DATA.read_text(encoding="utf-8"))[0][1]
    # A slip of the text recognition.
    return {
        "response": answer.replace("Baden weil er", "Badenweiler"),
        "knowledge": graphs,
        "gold_knowledge": MINIMUM,
    }


@needs_paper
def test_tables_19_and_20() -> None:
    judge = FakeJudge(REWORDED, default=0.0)
    result = tg.score([printed(19), printed(20)], judge=judge)
    first, second = (item["scores"] for item in result.evidence)
    assert first["citation_correctness"] == second["citation_correctness"] == 1.0
    # 14 and 9 citations; religion, works, movement, school and team are needed in both.
    assert first["citation_precision"] == pytest.approx(5 / 14)
    assert second["citation_precision"] == pytest.approx(5 / 9)
    assert first["citation_recall"] == second["citation_recall"] == pytest.approx(5 / 6)
    assert first["alignment"] == second["alignment"] == 1.0
    found = means(result)
    assert found["citation_precision"] == pytest.approx((5 / 14 + 5 / 9) / 2)
    assert found["citation_precision_micro"] == pytest.approx(10 / 23)
    assert found["citation_recall_micro"] == pytest.approx(10 / 12)
    assert found["citation_f1_micro"] == pytest.approx(2 * 10 / (23 + 12))
    # Only what does not stand there in the graph's own words was asked.
    assert sorted({r.claim for r in judge.requests}) == sorted(REWORDED)
    marked = result.evidence[0]["evidence"]["citation_correctness"]
    assert [s["missing"] for s in marked["sentences"]] == [0, 0, 0, 0, 1]
    assert marked["missed"] == [["Q206534", "occupation", "writer"]]


@needs_paper
def test_tables_19_and_20_by_the_lexical_judge() -> None:
    """It reads the dates; "realist" and "atheistic" it does not take for realism and atheism."""
    result = tg.score([printed(19), printed(20)], metrics="alignment")
    first, second = (item["scores"]["alignment"] for item in result.evidence)
    assert first == pytest.approx(12 / 14)
    assert second == pytest.approx(8 / 9)
