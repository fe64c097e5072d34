"""Recall, success, MRR and nDCG against values computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import numpy as np
import pytest

from trueground.errors import UsageError
from trueground.wings.search.base import Hit
from trueground.wings.search.evaluation import evaluate, measure

# Equal scores: their order is the retriever's, not one that a library makes of them.
HITS = [
    [Hit(4, 1.0), Hit(30, 1.0), Hit(2, 1.0), Hit(9, 1.0)],
    [Hit(7, 0.5), Hit(1, 0.4)],
    [],
    [Hit(3, 2.0)],
]
GOLD: list[list[set[int]]] = [[{30}, {9}, {55}], [{1}], [{6}], []]


class Fixed:
    name = "fixed"
    signature = "fixed-1"

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        return [HITS[int(query)][:top] for query in queries]


def test_values_by_hand() -> None:
    names, values = measure(HITS, GOLD, [1, 2, 4])
    found = dict(zip(names, values.T.tolist(), strict=True))
    nan = pytest.approx(float("nan"), nan_ok=True)
    assert found["recall@1"] == [0, 0, 0, nan]
    assert found["recall@2"] == [pytest.approx(1 / 3), 1, 0, nan]
    assert found["recall@4"] == [pytest.approx(2 / 3), 1, 0, nan]
    assert found["success@1"] == [0, 0, 0, nan]
    assert found["success@2"] == [1, 1, 0, nan]
    assert found["mrr@1"] == [0, 0, 0, nan]
    assert found["mrr@4"] == [0.5, 0.5, 0, nan]
    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    gained = 1 / log2(3) + 1 / log2(5)
    assert found["ndcg@4"] == [pytest.approx(gained / ideal), pytest.approx(1 / log2(3)), 0, nan]
    assert found["ndcg@2"][0] == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))


def test_a_gold_passage_that_stands_several_times_is_found_by_any_hit() -> None:
    hits = [[Hit(5, 1.0), Hit(6, 1.0), Hit(1, 1.0)], [Hit(2, 1.0)]]
    # Passages 5 and 6 have the same text; passage 2 holds two gold texts, each also elsewhere.
    gold = [[{5, 6, 7}, {1}], [{2, 3}, {1, 2}]]
    names, values = measure(hits, gold, [1, 2, 3])
    found = dict(zip(names, values.T.tolist(), strict=True))
    assert found["recall@1"] == [0.5, 1.0]
    assert found["recall@2"] == [0.5, 1.0]
    assert found["recall@3"] == [1.0, 1.0]
    assert found["mrr@3"] == [1.0, 1.0]
    ideal = 1 + 1 / log2(3)
    assert found["ndcg@3"] == [pytest.approx((1 + 1 / log2(4)) / ideal), pytest.approx(1)]


def test_values_are_those_of_ir_measures() -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="it is not installed")
    rng = np.random.default_rng(0)
    hits = [
        [Hit(int(i), 0.0) for i in rng.permutation(30)[: rng.integers(0, 11)]] for _ in range(300)
    ]
    gold = [[{int(i)} for i in rng.permutation(30)[: rng.integers(1, 5)]] for _ in range(300)]
    names, values = measure(hits, gold, [1, 5, 20])
    relevant = [ir_measures.Qrel(str(q), str(n), 1) for q, some in enumerate(gold) for [n] in some]
    run = [
        ir_measures.ScoredDoc(str(q), str(hit.index), -float(rank))
        for q, some in enumerate(hits)
        for rank, hit in enumerate(some)
    ]
    theirs = {
        maker @ k: f"{name}@{k}"
        for name, maker in zip(
            ("recall", "success", "mrr", "ndcg"),
            (ir_measures.R, ir_measures.Success, ir_measures.RR, ir_measures.nDCG),
            strict=True,
        )
        for k in (1, 5, 20)
    }
    compared = 0
    for made in ir_measures.iter_calc(list(theirs), relevant, run):
        value = values[int(made.query_id), names.index(theirs[made.measure])]
        assert value == pytest.approx(made.value, rel=1e-12)
        compared += 1
    assert compared > 12 * 250


def test_means_leave_out_queries_without_gold() -> None:
    found = evaluate(Fixed(), ["0", "1", "2", "3"], GOLD, [2], top=4)
    assert found.signature == "fixed-1"
    mean = found.means["recall@2"]
    assert mean.mean == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert (mean.n, mean.scored, mean.ci_level) == (4, 3, 0.95)
    assert mean.ci is not None
    assert 0 <= mean.ci[0] < mean.mean < mean.ci[1] <= 1
    assert np.isnan(found.values[3]).all()
    again = evaluate(Fixed(), ["0", "1", "2", "3"], GOLD, [2], top=4)
    assert again.means == found.means


def test_nothing_found_and_nothing_gold() -> None:
    nothing = evaluate(Fixed(), ["2", "2"], [[{1}], [{2}]], [1])
    assert nothing.means["mrr@1"].mean == 0
    no_gold = evaluate(Fixed(), ["0"], [[]], [1])
    assert (no_gold.means["mrr@1"].mean, no_gold.means["mrr@1"].ci) == (None, None)


def test_what_cannot_be_meant() -> None:
    with pytest.raises(UsageError, match="2 queries and 1 sets"):
        evaluate(Fixed(), ["0", "1"], [[{1}]], [1])
    for ks, top in (([], 5), ([0], 5), ([6], 5)):
        with pytest.raises(UsageError, match="expected each k from 1 to top"):
            evaluate(Fixed(), ["0"], [[{1}]], ks, top=top)
