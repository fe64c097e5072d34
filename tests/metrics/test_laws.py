"""Laws that hold for every metric in the dictionary; exceptions are named sets."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

import trueground as tg
from trueground.metrics.registry import METRICS, make_spec
from trueground.text.normalize import Normalizer

METRICS.load()

# METEOR needs WordNet, which not every machine has; tests/text/test_meteor.py covers it.
# Rated and compared ones ask models: tests/metrics/test_ratings.py, tests/metrics/test_compared.py.
NAMES = sorted(n for n, m in METRICS.items() if n != "meteor" and not m.is_asked)
LEXICAL = [n for n in NAMES if "normalizer" in METRICS[n].options]
# 1 when the response is the reference, or the one context, itself.
IDENTITY = [
    n
    for n in NAMES
    if METRICS[n].family in ("correctness", "faithfulness") and n != "choice_accuracy"
] + ["grounding_precision"]
# Probabilities: near 1 for what stands there word for word, never 1.
PROBABLE = ["support", "support_min", "correct_support"]
IDENTITY = [n for n in IDENTITY if n not in PROBABLE]
# Without the question's tokens something can be missing.
NOT_WHEN_HEARD = {"k_recall_pp", "k_f1_pp"}
# 0 when response and evidence share no token.
DISJOINT = [n for n in IDENTITY if n != "grounding_precision"]

WORDS = st.sampled_from(
    [
        "Marie",
        "Curie",
        "was",
        "born",
        "in",
        "Warsaw",
        "1867",
        "Ärzte",
        "東京",
        "naïve",
        "don't",
        "3.14",
        "—",
    ]
)
TEXT = st.one_of(st.text(max_size=30), st.lists(WORDS, min_size=1, max_size=10).map(" ".join))
RECORD = st.fixed_dictionaries(
    {"response": TEXT},
    optional={
        "question": TEXT,
        "contexts": st.lists(TEXT, max_size=3),
        "references": st.lists(TEXT, max_size=3),
        "gold_facts": st.lists(TEXT, max_size=2),
        "answerable": st.booleans(),
        "history": st.lists(TEXT, max_size=2),
    },
)


def clean(record: dict[str, object]) -> bool:
    """NUL is refused by the reader, and has its own tests."""
    return "\x00" not in repr(record).replace("\\x00", "\x00")


def scores(rows: list[dict[str, object]], names: list[str]) -> list[dict[str, object]]:
    return [
        {"scores": item["scores"], "status": item["status"]}
        for item in tg.score(rows, metrics=names).evidence
    ]


@given(st.lists(RECORD.filter(clean), min_size=2, max_size=5), st.randoms())
def test_order_of_items_does_not_matter(rows: list[dict[str, object]], dice: random.Random) -> None:
    order = list(range(len(rows)))
    dice.shuffle(order)
    plain = scores(rows, NAMES)
    assert scores([rows[i] for i in order], NAMES) == [plain[i] for i in order]


@given(RECORD.filter(clean))
def test_values_and_statuses_belong_together(record: dict[str, object]) -> None:
    item = scores([record], NAMES)[0]
    for name in NAMES:
        value, status = item["scores"][name], item["status"][name]  # type: ignore[index]
        assert (value is None) == (status != "scored")
        assert value is None or 0 <= value <= 1
    if not any(t.strip() for t in record.get("contexts") or []):  # type: ignore[attr-defined]
        for name in NAMES:
            if "contexts" in METRICS[name].default_needs:
                assert item["scores"][name] is None  # type: ignore[index]


@pytest.mark.parametrize("name", IDENTITY)
def test_identical_texts_score_one(name: str) -> None:
    text = "Marie Curie was born in Warsaw."
    prior_turns = "Radium?" if name in NOT_WHEN_HEARD else "Where was Marie Curie born?"
    row = {"response": text, "references": [text], "contexts": [text], "question": prior_turns}
    assert scores([row], [name])[0]["scores"] == {name: pytest.approx(1.0)}


@pytest.mark.parametrize("name", PROBABLE)
def test_identical_texts_are_very_likely_supported(name: str) -> None:
    text = "Marie Curie was born in Warsaw."
    row = {"response": text, "references": [text], "contexts": [text]}
    assert 0.9 < scores([row], [name])[0]["scores"][name] < 1  # type: ignore[index]


@pytest.mark.parametrize("name", DISJOINT)
def test_disjoint_texts_score_zero(name: str) -> None:
    row = {
        "response": "wholly other words",
        "references": ["Paris"],
        "contexts": ["Paris lies on the Seine"],
        "question": "where?",
    }
    assert scores([row], [name])[0]["scores"] == {name: 0.0}


@pytest.mark.parametrize("name", [n for n in IDENTITY if METRICS[n].family == "correctness"])
def test_more_references_never_lower_a_correctness_metric(name: str) -> None:
    row = {"response": "She was born in Warsaw", "references": ["in Paris", "Warsaw"]}
    both = scores([row], [name])[0]["scores"][name]  # type: ignore[index]
    for reference in row["references"]:
        one = scores([{**row, "references": [reference]}], [name])[0]["scores"][name]  # type: ignore[index]
        assert one <= both


@given(st.lists(WORDS, min_size=1, max_size=8), st.lists(WORDS, max_size=8))
def test_more_context_never_lowers_k_precision(first: list[str], more: list[str]) -> None:
    row = {"response": "Marie was born in 東京 3.14", "contexts": [" ".join(first)]}
    longer = {**row, "contexts": [" ".join(first), " ".join(more)]}
    values = [s["scores"]["k_precision"] for s in scores([row, longer], ["k_precision"])]  # type: ignore[index]
    assert values[0] <= values[1]


@pytest.mark.parametrize("name", LEXICAL)
@pytest.mark.parametrize("normalizer", ["faitheval", "unicode-1"])
def test_every_lexical_metric_takes_every_normalizer(name: str, normalizer: str) -> None:
    (spec,) = METRICS.parse_all(f"{name}(normalizer={normalizer})")
    assert spec.key == f"{name}(normalizer={normalizer})"
    assert f"normalizer:{normalizer}" in spec.signature
    row = {"response": "3.14", "references": ["3.14"], "contexts": ["3.14"], "question": "?x"}
    assert scores([row], [spec.key])[0]["scores"] == {spec.key: 1.0}


@pytest.mark.parametrize("name", NAMES)
def test_declarations_are_whole(name: str) -> None:
    metric = METRICS[name]
    assert all((metric.doc, metric.source, metric.family))
    assert make_spec(metric, {}).key == name
    for option in metric.options.values():
        assert not option.allowed or option.default in option.allowed
    for name_ in metric.options["normalizer"].allowed if "normalizer" in metric.options else ():
        assert Normalizer.named(name_).rule("A cat") in ("cat", "a cat")


def test_flat_functions_give_the_same_numbers() -> None:
    values = tg.metrics.k_precision(
        responses=["Warsaw is big", "Paris"],
        contexts=[["Warsaw is a city"], None],
    )
    assert values[0] == pytest.approx(2 / 3)
    assert values[1] != values[1]
    assert tg.metrics.f1(responses=[], references=[]).shape == (0,)
    assert tg.metrics.grounding_precision(["a", "b"], supported=[[1, 0], []])[0] == 0.5
    with pytest.raises(tg.errors.UsageError, match="supported="):
        tg.metrics.grounding_precision(["a"], contexts=[["b"]])
    with pytest.raises(tg.errors.UsageError, match="2 entries"):
        tg.metrics.f1(["a"], references=[["x"], ["y"]])
    with pytest.raises(AttributeError, match="Did you mean"):
        _ = tg.metrics.k_precison
