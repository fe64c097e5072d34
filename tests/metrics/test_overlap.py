"""The batch engine against the naive script, item by item, to 1e-12."""

from __future__ import annotations

from collections import Counter

import numpy as np
from bench import naive
from hypothesis import given, strategies as st
from rouge_score import rouge_scorer

from trueground.metrics import functions
from trueground.metrics.tokens import tokenize
from trueground.text.normalize import SQUAD

WORDS = st.sampled_from(
    ["the", "a", "Paris", "paris.", "1,194", "café", "Straße", "don't", "x" * 20, "of", "中国", "—"]
)
TEXT = st.one_of(st.lists(WORDS, max_size=12).map(" ".join), st.text(max_size=40))
ITEM = st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3), TEXT, TEXT)


@given(st.lists(ITEM, min_size=1, max_size=12))
def test_lexical_metrics_equal_the_naive_script(
    items: list[tuple[str, list[str], str, str]],
) -> None:
    columns = {
        "references": [i[1] for i in items],
        "contexts": [[i[2]] for i in items],
        "questions": [i[3] for i in items],
    }
    responses = [i[0] for i in items]
    expected = [naive.all_metrics(u, refs, [k], h) for u, refs, k, h in items]
    for name in [*naive.CORRECTNESS, *naive.FAITHFULNESS, *naive.DISCOUNTED]:
        values = functions.metric_function(name)(responses, **columns)
        for (_u, refs, k, h), value, want in zip(items, values, expected, strict=True):
            missing = (name.startswith("k_") and not k.strip()) or (
                name.endswith("_pp") and not h.strip()
            )
            nothing = name == "answer_accuracy" and not any(map(naive.normalize_answer, refs))
            if missing or nothing:
                assert np.isnan(value)
            elif name != "answer_accuracy" or all(map(naive.normalize_answer, refs)):
                assert abs(value - want[name]) <= 1e-12, name


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8))
def test_rouge_equals_the_library(pairs: list[tuple[str, str]]) -> None:
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=False)
    expected = [scorer.score(reference, response) for response, reference in pairs]
    for name, theirs in (("rouge_1", "rouge1"), ("rouge_2", "rouge2"), ("rouge_l", "rougeL")):
        values = functions.metric_function(name)(
            [p[0] for p in pairs], references=[[p[1]] for p in pairs]
        )
        assert np.allclose(values, [e[theirs].fmeasure for e in expected], rtol=0, atol=1e-12)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), min_size=1, max_size=10))
def test_overlap_counts(items: list[tuple[str, str, str]]) -> None:
    n = len(items)
    tokens = tokenize([t for column in zip(*items, strict=True) for t in column], SQUAD)
    u, k, h = (tokens.part(i * n, i * n + n) for i in range(3))
    counted = u.overlap(k, h)
    for i, texts in enumerate(items):
        a, b, c = (SQUAD.rule(t).split() for t in texts)
        left = [t for t in a if t not in set(c)]
        assert counted.common[i] == sum((Counter(a) & Counter(b)).values())
        assert (counted.a[i], counted.b[i], counted.left[i]) == (len(a), len(b), len(left))
        assert counted.left_common[i] == sum((Counter(left) & Counter(b)).values())


@given(st.lists(TEXT, min_size=1, max_size=4), st.lists(st.tuples(st.integers(0, 3), TEXT)))
def test_overlap_with_each_equals_overlap_of_pairs(
    texts: list[str], pairs: list[tuple[int, str]]
) -> None:
    rows = [row % len(texts) for row, _ in pairs]
    repeated = [texts[row] for row in rows]
    tokens = tokenize([*texts, *repeated, *(text for _, text in pairs)], SQUAD)
    n, last = len(texts), len(tokens)
    u, copies, k = (tokens.part(*p) for p in ((0, n), (n, n + len(rows)), (n + len(rows), last)))
    expected = copies.overlap(k)
    counted = u.overlap_with_each(k, np.array(rows, np.int64))
    for values, expected_values in zip(
        vars(counted).values(), vars(expected).values(), strict=True
    ):
        assert values.tolist() == expected_values.tolist()
