"""Views: one for each judge and each way of asking, from the evidence of one line."""

from __future__ import annotations

from typing import Any

from trueground.reports.evidence import views
from trueground.reports.manifest import first_judge, judges, signatures

ONE = [{"text": "a", "supported": True}]
TWO = [{"text": "a", "supported": False}]
FACTS = [{"text": "f", "supported": None}]


def test_one_judge_is_one_view() -> None:
    evidence = {
        "grounding_precision": {"claims": ONE},
        "grounding_recall": {"facts": FACTS},
        "grounding_f1": {"see": "grounding_precision"},
        "abstained": {"phrase": "I do not know"},
        "note": ["not", "a", "dict"],
    }
    cited = {"references": [], "alignment": [], "missing": [], "passages": []}
    view = {"name": "lexical", "claims": ONE, "facts": FACTS, "response": []} | cited
    assert views(evidence, "lexical") == [view]


def test_labels_are_judges_and_options_are_ways() -> None:
    evidence = {
        "support": {"claims": ONE},
        "support(scope=gold)": {"claims": TWO},
        "grounding_recall": {"facts": FACTS},
        "support@nli": {"claims": TWO},
        "context_entails@nli#2": {"response": ONE},
        "support(scope=gold)@nli#2": {"claims": ONE},
    }
    found = {view["name"]: view for view in views(evidence, "lexical")}
    assert list(found) == ["lexical", "lexical (scope=gold)", "nli", "nli#2"]
    assert found["lexical (scope=gold)"]["claims"] == TWO
    assert found["lexical (scope=gold)"]["facts"] == FACTS
    assert (found["nli"]["claims"], found["nli"]["facts"]) == (TWO, [])
    assert (found["nli#2"]["claims"], found["nli#2"]["response"]) == (ONE, ONE)


def test_nothing_checked_is_no_view_and_older_runs_have_no_names() -> None:
    assert views({"f1": {"note": "x"}}, "lexical") == []
    assert views({"grounding_recall": {"facts": FACTS}}, None)[0]["name"] == "the judge"


def test_judges_of_a_manifest() -> None:
    def manifest(*names: str) -> dict[str, Any]:
        told = [{"name": name, "signature": f"{name}-1"} for name in names]
        return {"judge": told[0] if told else None, "judges": told}

    assert judges(manifest("lexical", "nli")) == ["lexical", "nli"]
    assert first_judge(manifest("lexical", "nli")) == "lexical"
    assert first_judge(manifest("nli", "nli")) == "nli#1"
    assert (judges({}), first_judge({"judge": None})) == ([], None)
    assert judges({"judge": {"name": "lexical"}}) == ["lexical"]
    assert signatures(manifest("a", "b")) == [("judge", "a-1"), ("judge", "b-1")]
