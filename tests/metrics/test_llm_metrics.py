"""Yes-or-no metrics by a language model: which items are asked about, and what they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.metrics.answering import compared_columns

from trueground.components.specs import ComponentSpec
from trueground.metrics import registry
from trueground.metrics.batch import Column
from trueground.metrics.compared import METRICS
from trueground.types import Comparison, ComparisonRequest, Passage, Record, Status, Turn

RECORDS = [
    Record(
        id="a",
        response="In 1867.",
        question="When?",
        history=[Turn("Who  was\nshe?", "user"), Turn("A chemist.")],
        contexts=[Passage("Born in 1867.", title="Ida"), Passage(" "), Passage("Died in 1934.")],
        references=["1867", "in 1867"],
        answerable=True,
    ),
    Record(
        id="b",
        response="I don't know.",
        question="Where?",
        contexts=[Passage("Born in 1867.")],
        references=["Warsaw"],
        answerable=False,
    ),
    Record(id="c", response=" \n", question="Why?", contexts=[Passage("x")], references=["y"]),
    Record(id="d", response="Because.", answerable=True),
]
FIRST = ComparisonRequest(
    "In 1867.", ("1867", "in 1867"), "When?", "user: Who was she?\nA chemist."
)
SCORED, MISSING = Status.SCORED, Status.MISSING_FIELD


class Comparers:
    """Answers by a rule; keeps what it was asked, and by which comparer."""

    def __init__(self, rule: Callable[[ComparisonRequest], Comparison] | None = None) -> None:
        self.asked: list[tuple[str, ComparisonRequest]] = []
        self.rule = rule or (lambda request: Comparison({"v": float("know" in request.response)}))

    def __call__(self, written: str, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        self.asked += [(written, request) for request in requests]
        return [self.rule(request) for request in requests]


def columns(comparers: Comparers, *specs: str) -> list[Column]:
    return compared_columns([registry.METRICS.parse(spec) for spec in specs], RECORDS, comparers)


def statuses(column: Column) -> list[Status]:
    assert (np.isnan(column.values) == (column.status != 0)).all()
    return [list(Status)[code] for code in column.status]


def test_correctness() -> None:
    comparers = Comparers(lambda _: Comparison({"correct": 1.0}, detail={"reference": "1867"}))
    (column,) = columns(comparers, "llm_correctness")
    assert statuses(column) == [SCORED, SCORED, SCORED, MISSING]
    assert column.values[:3].tolist() == [1, 1, 0]  # an empty response is not asked about
    assert comparers.asked == [
        ("llm-correctness", FIRST),
        ("llm-correctness", ComparisonRequest("I don't know.", ("Warsaw",), "Where?")),
    ]
    assert column.notes == [{"reference": "1867"}, {"reference": "1867"}, None, None]


def test_faithfulness_is_asked_of_answers() -> None:
    comparers = Comparers(lambda _: Comparison({"faithful": 1.0}))
    (column,) = columns(comparers, "llm_faithfulness")
    assert statuses(column) == [SCORED, Status.ABSTAINED, Status.NO_CLAIMS, MISSING]
    texts = ("Born in 1867.", "Died in 1934.")  # without titles, and without the blank one
    assert comparers.asked == [
        ("llm-faithfulness", ComparisonRequest(FIRST.response, texts, "When?", FIRST.history))
    ]


@pytest.mark.parametrize(("policy", "value", "asked"), [("one", 1, 1), ("zero", 0, 1)])
def test_a_policy_with_a_value_asks_nothing(policy: str, value: float, asked: int) -> None:
    comparers = Comparers(lambda _: Comparison({"faithful": 0.5}))
    (column,) = columns(comparers, f"llm_faithfulness(abstain={policy})")
    assert column.values[:2].tolist() == [0.5, value]
    assert len(comparers.asked) == asked


def test_as_it_is_all_are_asked_about() -> None:
    comparers = Comparers(lambda _: Comparison({"faithful": 0.0}))
    as_is, exclude = columns(comparers, "llm_faithfulness(abstain=as_is)", "llm_faithfulness")
    assert (statuses(as_is)[1], statuses(exclude)[1]) == (SCORED, Status.ABSTAINED)
    # What the second policy asks was asked under the first.
    assert [request.response for _, request in comparers.asked] == ["In 1867.", "I don't know."]


def test_abstention_and_its_rates_ask_each_item_once() -> None:
    comparers = Comparers()
    all_, p_ir, p_g = columns(comparers, "llm_abstained", "llm_p_ir", "llm_p_g")
    assert all_.values.tolist() == [0, 1, 0, 0]
    other = Status.NOT_APPLICABLE
    assert statuses(p_ir) == [other, SCORED, MISSING, other]
    assert statuses(p_g) == [SCORED, other, MISSING, SCORED]
    assert sorted(request.response for _, request in comparers.asked) == [
        *("Because.", "I don't know.", "In 1867.")
    ]
    assert all(request.texts == () for _, request in comparers.asked)


def test_a_rate_asks_only_about_its_items() -> None:
    comparers = Comparers()
    columns(comparers, "llm_p_ir")
    assert [request.response for _, request in comparers.asked] == ["I don't know."]


def test_llm_metric_without_reply_is_unscored_with_reason() -> None:
    lost = Comparison(status=Status.UNPARSEABLE, reply="Perhaps", reason="no verdict")
    for name in ("llm_correctness", "llm_faithfulness", "llm_abstained"):
        (column,) = columns(Comparers(lambda _: lost), name)
        assert statuses(column)[0] is Status.UNPARSEABLE
        assert column.notes is not None
        assert column.notes[0] == {"reply": "Perhaps", "reason": "no verdict"}


def test_a_prompt_of_ones_own() -> None:
    comparers = Comparers()
    files = ["my (own).txt", "it's.txt", """it's "mine".txt"""]
    for file in files:
        columns(comparers, f"llm_abstained(prompt={file})")
    written = list(dict.fromkeys(written for written, _ in comparers.asked))
    assert [ComponentSpec.parse("comparer", one).options["prompt"] for one in written] == files
    assert "prompt" not in registry.METRICS.parse("llm_correctness").key


def test_none_is_computed_unless_it_is_named() -> None:
    of_language_models = [m for m in METRICS if m.name.startswith("llm_")]
    names = {metric.name for metric in METRICS}
    fields = ("references", "contexts", "question", "answerable")
    assert not names & {spec.key for spec in registry.METRICS.default_specs(fields)}
    assert [m.higher_is_better for m in of_language_models] == [True, True, False, True, False]
