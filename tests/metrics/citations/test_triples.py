"""Correctness, precision, recall and F1 of cited triples."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from tests.metrics.citations.made import Row, graph, k, triple, triples

import trueground as tg
from trueground.errors import UsageError

NAMES = ["citation_correctness", "citation_precision", "citation_recall", "citation_f1"]


def item(response: str, **fields: Any) -> dict[str, Any]:
    row = {"response": response, "knowledge": [graph(1, 2, 3)], "gold_knowledge": triples(1, 2)}
    return tg.score([row | fields], metrics=NAMES).evidence[0]


def scores(response: str, **fields: Any) -> list[float | None]:
    return list(item(response, **fields)["scores"].values())


def statuses(response: str, **fields: Any) -> list[str]:
    return list(item(response, **fields)["status"].values())


def test_repeats_count_for_citations_and_not_for_knowledge() -> None:
    # k1 three times, k3 once: 4 of 4 correct, 3 of 4 needed, 1 of 2 hit.
    answer = f"It is {k(1)}{k(1)}. So {k(1)}{k(3)}."
    assert scores(answer) == [1.0, 0.75, 0.5, pytest.approx(0.6)]
    assert scores(answer, gold_knowledge=triples(1, 1, 2, 2, 1)) == scores(answer)


def test_a_citation_that_the_graph_does_not_have_is_worth_nothing() -> None:
    answer = f"It is {k(1)}{k(5)}[Q2, trait 1: value 1][Q1, trait 1: value 2]."
    assert scores(answer, gold_knowledge=triples(1, 5)) == [0.25, 0.25, 0.5, pytest.approx(1 / 3)]


@pytest.mark.parametrize(
    "bracket", ["[Q1]", "[Q1, value 1]", "[Q1, trait 1]", "[Q1, trait 1: ]", "[trait 1: value 1]"]
)
def test_incomplete_citations_are_never_correct(bracket: str) -> None:
    found = item(f"It is {k(1)}. So {bracket}.")
    cited = [
        c
        for sentence in found["evidence"]["citation_correctness"]["sentences"]
        for c in sentence["citations"]
    ]
    assert cited[0]["correct"]
    assert not any(c["correct"] or c["needed"] for c in cited[1:])
    assert found["scores"]["citation_correctness"] == 1 / len(cited)


def test_a_citation_without_an_id_is_wrong_unless_names_count() -> None:
    graphs = [graph(1, 2) | {"name": "Ann Bell"}, graph(3, qid="Q2") | {"name": ["Bo", "Cy, Dr"]}]
    gold = [*triples(1, 2), ["Q2", "trait 3", "value 3"]]
    answer = (
        f"One {k(1)}. Two [ann bell, trait 2: value 2, trait 9: x]. "
        "Three [Cy, Dr, trait 3: value 3][12, trait 3: value 3]"
        "[unknown, trait 3: value 3][trait 3: value 3]. [Note: four]."
    )
    given = {"knowledge": graphs, "gold_knowledge": gold}
    assert scores(answer, **given) == [1 / 7, 1 / 7, 1 / 3, pytest.approx(0.2)]
    both = {
        variant: tg.score(
            [{"response": answer} | given], metrics=[f"{n}(variant={variant})" for n in NAMES]
        ).evidence[0]["scores"]
        for variant in ("by_name", "reference-code")
    }
    assert list(both["by_name"].values()) == [3 / 7, 3 / 7, 1.0, pytest.approx(0.6)]
    assert list(both["reference-code"].values()) == [1 / 7, 1 / 7, 1 / 3, pytest.approx(0.2)]
    told = item(answer, **given)["evidence"]["citation_correctness"]["sentences"]
    assert [(c.get("name"), c.get("linked")) for s in told for c in s["citations"]] == [
        (None, None),
        *[("ann bell", "Q1")] * 2,
        ("Cy, Dr", "Q2"),
        *[(name, None) for name in ("12", "unknown", "")],
    ]


def test_a_name_of_two_graphs_stands_for_none() -> None:
    graphs = [graph(1) | {"name": "Ann"}, graph(1, qid="Q2") | {"name": "ANN"}]
    row = {"response": "One [Ann, trait 1: value 1].", "knowledge": graphs}
    metric = "citation_correctness(variant=by_name)"
    assert tg.score([row], metrics=metric).summary[metric].mean == 0.0
    row["knowledge"] = [graphs[0], graphs[0], graph(1, qid="Q2")]
    assert tg.score([row], metrics=metric).summary[metric].mean == 1.0


def test_equality_of_triples() -> None:
    graphs = [
        {"qid": "Q1", "name": "Zoë  Linde", "date_of_birth": "1801", "work": ["A, B", "C: D"]}
    ]
    answer = (
        "She [Q1, name: Zoe\u0308 Linde] came [Q1, date of birth: 1801] and wrote "
        "[Q1, work: A, B, work: C: D]."
    )
    gold = [["Q1", "date_of birth", "1801"], ["Q1", "work", "C:  D"], ["Q1", "spouse", " "]]
    assert scores(answer, knowledge=graphs, gold_knowledge=gold) == [
        1.0,
        0.5,
        1.0,
        pytest.approx(2 / 3),
    ]
    assert scores("She [Q1, name: Zoe].", knowledge=graphs, gold_knowledge=gold)[0] == 0.0


def test_no_citation() -> None:
    assert scores("Nothing is cited [NA], [1] and [sic].") == [None, None, 0.0, 0.0]
    assert statuses("Nothing.") == ["no_claims", "no_claims", "scored", "scored"]
    assert scores("") == [None, None, 0.0, 0.0]


def test_citation_metrics_without_needed_fields_give_a_status() -> None:
    answer = f"It is {k(1)}."
    assert statuses(answer, knowledge=[]) == ["not_applicable"] * 4
    assert statuses(answer, knowledge=None) == ["missing_field"] * 4
    assert statuses(answer, gold_knowledge=None) == ["scored", *["missing_field"] * 3]
    assert statuses(answer, knowledge=[], gold_knowledge=None) == ["not_applicable"] * 4
    assert statuses(answer, gold_knowledge=[]) == ["scored", *["no_claims"] * 3]
    assert statuses(answer, gold_knowledge=[["Q1", "trait 1", ""]])[1:] == ["no_claims"] * 3
    assert item(answer, knowledge=[])["evidence"] == {}


def test_evidence_marks_every_citation() -> None:
    shown = item(f"One {k(1)}{k(3)}. Two [NA].", absent_knowledge=triples(7))["evidence"]
    assert [key for key, found in shown.items() if set(found) != {"counts"}] == [
        "citation_correctness"
    ]
    told = shown["citation_correctness"]
    first, second = told["sentences"]
    assert [(c["correct"], c["needed"]) for c in first["citations"]] == [
        (True, True),
        (True, False),
    ]
    assert (first["text"], second["text"], second["missing"]) == ("One.", "Two.", 1)
    assert (told["missed"], told["absent"]) == ([triple(2)], [triple(7)])
    only = item(f"One {k(1)}.", gold_knowledge=None)["evidence"]["citation_correctness"]
    assert only["sentences"][0]["citations"][0]["needed"] is None
    assert (only["missed"], only["absent"]) == ([], [])


def test_micro_and_macro_over_several_answers() -> None:
    rows: list[Row] = [
        {"response": f"A {k(1)}{k(2)}.", "gold_knowledge": triples(1, 2)},  # 2/2, 2/2
        {"response": f"B {k(3)}{k(1)}{k(3)}{k(9)}.", "gold_knowledge": triples(1, 2, 3, 4)},
        {"response": "C.", "gold_knowledge": triples(1, 2)},  # no citation, 0/2
        {"response": f"D {k(1)}.", "gold_knowledge": triples(1), "knowledge": []},
    ]
    rows = [{"knowledge": [graph(1, 2, 3, 4)], **row} for row in rows]
    found = tg.score(rows, metrics=NAMES).summary.raw["metrics"]
    means = {key: entry["mean"] for key, entry in found.items()}
    # B: 3 of 4 citations are correct and needed, and they hit 2 of 4.
    p, r = (1 + 0.75) / 2, (1 + 0.5 + 0) / 3
    mp, mr = 5 / 6, 4 / 8
    assert means == {
        "citation_correctness": (1 + 0.75) / 2,
        "citation_correctness_micro": 5 / 6,
        "citation_precision": p,
        "citation_precision_micro": mp,
        "citation_recall": r,
        "citation_recall_micro": mr,
        "citation_f1": pytest.approx(2 * p * r / (p + r)),
        "citation_f1_micro": pytest.approx(2 * mp * mr / (mp + mr)),
    }
    assert (found["citation_recall_micro"]["scored"], found["citation_recall"]["n"]) == (3, 4)
    assert found["citation_precision"]["unscored"] == {"no_claims": 1, "not_applicable": 1}


def test_a_run_without_any_citation() -> None:
    row = {"response": "C.", "gold_knowledge": triples(1), "knowledge": [graph(1)]}
    found = tg.score([row, row], metrics=NAMES).summary.raw["metrics"]
    assert found["citation_precision"]["mean"] is None
    assert found["citation_precision_micro"]["mean"] is None
    assert found["citation_f1"]["mean"] == found["citation_f1_micro"]["mean"] == 0.0


def recounted(rows: list[Row]) -> dict[str, float]:
    """The arithmetic of the authors' script on lists of numbers, written anew for this test."""
    hits = {"precision": 0, "recall": 0}
    units = {"precision": 0, "recall": 0}
    shares: dict[str, list[float]] = {"precision": [], "recall": []}
    for row in rows:
        late = [n for n in row["gold"] if n not in row["first"]]
        counted = {
            "precision": (sum(n in row["cited"] for n in row["gold"]), len(row["cited"])),
            "recall": (sum(n in row["cited"] for n in late), len(late)),
        }
        for name, (hit, unit) in counted.items():
            hits[name] += hit
            units[name] += unit
            if unit:
                shares[name].append(hit / unit)
    result = {f"{n}_micro": hits[n] / units[n] for n in hits}
    result |= {n: sum(values) / len(values) for n, values in shares.items()}
    for tail in ("", "_micro"):
        p, r = result[f"precision{tail}"], result[f"recall{tail}"]
        result[f"f1{tail}"] = 2 * p * r / (p + r)
    return result


@pytest.mark.parametrize("seed", range(8))
def test_the_variant_counts_as_the_authors_script(seed: int) -> None:
    dice = random.Random(seed)
    rows = []
    for _ in range(12):
        gold = dice.sample(range(1, 9), dice.randint(2, 6))
        cited = [
            dice.randint(1, 12) for _ in range(dice.randint(0, 7))
        ]  # beyond 6 not in the graph
        rows.append({"gold": gold, "first": gold[: dice.randint(0, 1)], "cited": cited})
    records = [
        {
            "response": f"It {''.join(map(k, row['cited']))}.",
            "knowledge": [graph(*range(1, 7))],
            "gold_knowledge": triples(*row["gold"]),
            "meta": {"first_round_knowledge": triples(*row["first"])},
        }
        for row in rows
    ]
    names = [f"citation_{n}(variant=reference-code)" for n in ("precision", "recall", "f1")]
    found = tg.score(records, metrics=names).summary.raw["metrics"]
    for name, value in recounted(rows).items():
        key = f"citation_{name}(variant=reference-code)"
        assert found[key]["mean"] == pytest.approx(value), key


def test_the_first_round_must_be_triples() -> None:
    row = {
        "response": f"It {k(1)}.",
        "knowledge": [graph(1)],
        "gold_knowledge": triples(1),
        "meta": {"first_round_knowledge": "Q1"},
    }
    key = "citation_recall(variant=reference-code)"
    found = tg.score([row], metrics=key).evidence[0]
    assert found["status"] == {key: "error"}
    assert "expected a list of [qid, property, value]" in found["evidence"][key]["reason"]
    first = {"meta": {"first_round_knowledge": triples(1)}}
    assert tg.score([row | first], metrics=key).evidence[0]["status"] == {key: "no_claims"}


def test_list_functions() -> None:
    answers = [f"A {k(1)}{k(3)}.", "B.", f"C {k(1)}."]
    graphs = [[graph(1, 2, 3)], [graph(1)], []]
    gold = [triples(1, 2), triples(1), triples(1)]
    metrics = tg.metrics
    values = metrics.citation_precision(answers, knowledge=graphs, gold_knowledge=gold)
    np.testing.assert_array_equal(values, [0.5, np.nan, np.nan])
    values = metrics.citation_recall(answers, knowledge=graphs, gold_knowledge=gold)
    np.testing.assert_array_equal(values, [0.5, 0, np.nan])
    values = metrics.citation_recall(
        answers,
        knowledge=graphs,
        gold_knowledge=gold,
        metas=[{"first_round_knowledge": triples(1)}, None, None],
        variant="reference-code",
    )
    np.testing.assert_array_equal(values, [0, 0, np.nan])
    values = metrics.citation_correctness(answers, knowledge=[[graph(1)], None, None])
    np.testing.assert_array_equal(values, [0.5, np.nan, np.nan])
    for wrong, says in (
        ({"knowledge": graphs}, "needs gold_knowledge="),
        ({"knowledge": [[{"name": "x"}]] * 3, "gold_knowledge": gold}, "a qid"),
        ({"knowledge": graphs, "gold_knowledge": [[["Q1", "x"]]] * 3}, "expected .qid, property"),
        (
            {"knowledge": graphs, "gold_knowledge": gold, "supported": [[1]] * 3},
            "use verdicts",
        ),
        (
            {"knowledge": graphs, "gold_knowledge": gold, "variant": "own"},
            "expected one of",
        ),
    ):
        with pytest.raises(UsageError, match=says):
            metrics.citation_precision(answers, **wrong)
