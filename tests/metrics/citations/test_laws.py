"""Laws of all citation metrics on answers and knowledge of any shape."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

import trueground as tg
from trueground.metrics.registry import METRICS

METRICS.load()

NAMES = [n for n in METRICS if n.startswith(("citation_", "na_")) or n == "alignment"]
VARIANTS = [
    *NAMES,
    "citation_f1(variant=reference-code)",
    "alignment(variant=paper)",
    "na_f1(off_topic=right)",
    "na_f1(variant=reference-code)",
]
PIECES = st.sampled_from(
    [
        "[Q1, ",
        "trait: ",
        "a, b",
        "c: d",
        "]",
        "[",
        "[NA]",
        "[1]",
        ". ",
        " She ",
        "Q1",
        "𝒂",
        "é",
        "\n",
    ]
)
ANSWER = st.lists(PIECES, max_size=12).map("".join)
VALUE = st.sampled_from(["a, b", "c: d", "", " ", "[x]", 5, True, 1.5])
GRAPH = st.fixed_dictionaries(
    {"qid": st.sampled_from(["Q1", "Q2", ""])},
    optional={"trait": st.one_of(VALUE, st.lists(VALUE, max_size=3)), "name": st.just("É")},
)
TRIPLES = st.lists(
    st.tuples(st.just("Q1"), st.sampled_from(["trait", "name", ""]), VALUE).map(
        lambda t: [*t[:2], str(t[2])]
    ),
    max_size=3,
)
RECORD = st.fixed_dictionaries(
    {"response": ANSWER},
    optional={
        "question": st.sampled_from(["", "Who is she?"]),
        "knowledge": st.lists(GRAPH, max_size=2),
        "gold_knowledge": TRIPLES,
        "absent_knowledge": TRIPLES,
        "meta": st.fixed_dictionaries({"first_round_knowledge": st.one_of(TRIPLES, VALUE)}),
    },
)


@given(st.lists(RECORD, min_size=1, max_size=4))
def test_values_and_statuses_belong_together(rows: list[dict[str, Any]]) -> None:
    result = tg.score(rows, metrics=VARIANTS)
    for row, item in zip(rows, result.evidence, strict=True):
        for name, value in item["scores"].items():
            assert (value is None) == (item["status"][name] != "scored")
            assert value is None or value >= 0
            assert value is None or value <= 1 or "reference-code" in name
            if row.get("knowledge") is None:
                assert item["status"][name] == "missing_field"
            elif not row["knowledge"] and item["status"][name] != "missing_field":
                assert item["status"][name] == "not_applicable"
    for name, entry in result.summary.raw["metrics"].items():
        assert entry["mean"] is not None or not entry["scored"], name


@given(st.lists(RECORD, min_size=2, max_size=4))
def test_an_item_does_not_depend_on_its_neighbors(rows: list[dict[str, Any]]) -> None:
    together = [item["scores"] for item in tg.score(rows, metrics=VARIANTS).evidence]
    alone = [tg.score([row], metrics=VARIANTS).evidence[0]["scores"] for row in rows]
    assert together == alone
