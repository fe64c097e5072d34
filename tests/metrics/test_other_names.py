"""Metrics by the names that they have in other tools."""

from __future__ import annotations

import pytest

import trueground as tg
from trueground.errors import UsageError
from trueground.metrics.other_names import METRIC_ALIASES, SIMILAR_METRICS
from trueground.metrics.registry import METRICS

METRICS.load()


def test_every_name_leads_to_a_metric_that_there_is() -> None:
    assert {
        *METRIC_ALIASES.values(),
        *(ours for ours, _ in SIMILAR_METRICS.values()),
    } <= METRICS.keys()
    assert not (METRIC_ALIASES.keys() | SIMILAR_METRICS.keys()) & METRICS.keys()
    assert not METRIC_ALIASES.keys() & SIMILAR_METRICS.keys()


def test_the_same_metric_under_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert [s.key for s in METRICS.parse_all("Faithfulness(scope=gold),EM,rougeL")] == [
        "grounding_precision(scope=gold)",
        "exact_match",
        "rouge_l",
    ]
    assert METRICS.describe_renamed(["em", "f1"]) == "metrics: exact_match ← em"
    assert METRICS.describe_renamed("f1") is None
    rows = [{"response": "Ada wrote it.", "contexts": ["Ada wrote it."]}]
    result = tg.score(rows, metrics="faithfulness")
    assert result.summary["faithfulness"].mean == result.summary["grounding_precision"].mean == 1
    assert capsys.readouterr().err == "trueground: metrics: grounding_precision ← faithfulness\n"


@pytest.mark.parametrize("name", SIMILAR_METRICS)
def test_another_metric_is_named_and_how_it_differs(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        METRICS.resolve(name.title())
    assert repr(SIMILAR_METRICS[name][0]) in str(caught.value)
    assert len(str(caught.value)) < 400


def test_unknown_names_get_three_suggestions() -> None:
    near = {
        "k_precison": ["k_precision", "precision", "k_precision_pp"],
        "suport": ["support", "correct_support", "support_min"],
        "faithfulnes": ["faithfulness", "llm_faithfulness", "rc_faithfulness"],
        "answer_relevanc": ["answer_relevance", "answer_relevancy", "relevance"],
    }
    for name, others in near.items():
        with pytest.raises(UsageError) as caught:
            METRICS.resolve(name)
        said = str(caught.value)
        assert f"Did you mean {' or '.join(map(repr, others))}?" in said
        assert len(said) < 200
        assert "trueground list metrics" in said
    for name in ("quality", "xyz"):  # nothing is near
        with pytest.raises(UsageError, match=rf"unknown metric '{name}'. To list all \d+: "):
            METRICS.resolve(name)
