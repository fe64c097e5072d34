"""Views: one for each judge and each way of asking, from the evidence of one line."""

from __future__ import annotations

from typing import Any

import pytest

from trueground.reports.answers import doubted_words, make_views
from trueground.reports.sentences import first_judge, judges, signatures

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
    assert make_views(evidence, "lexical") == [view]


def test_labels_are_judges_and_options_are_ways() -> None:
    evidence = {
        "support": {"claims": ONE},
        "support(scope=gold)": {"claims": TWO},
        "grounding_recall": {"facts": FACTS},
        "support@nli": {"claims": TWO},
        "context_entails@nli#2": {"response": ONE},
        "support(scope=gold)@nli#2": {"claims": ONE},
    }
    found = {view["name"]: view for view in make_views(evidence, "lexical")}
    assert list(found) == ["lexical", "lexical (scope=gold)", "nli", "nli#2"]
    assert found["lexical (scope=gold)"]["claims"] == TWO
    assert found["lexical (scope=gold)"]["facts"] == FACTS
    assert (found["nli"]["claims"], found["nli"]["facts"]) == (TWO, [])
    assert (found["nli#2"]["claims"], found["nli#2"]["response"]) == (ONE, ONE)


def test_nothing_checked_is_no_view_and_older_runs_have_no_names() -> None:
    assert make_views({"f1": {"note": "x"}}, "lexical") == []
    assert make_views({"grounding_recall": {"facts": FACTS}}, None)[0]["name"] == "the judge"


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


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ("It died on June 25, 2019.", "not in the context: June 25, 2019", ["June 25, 2019"]),
        (
            "In 2015, she made $9 million, by Spotify.",
            "not in the context: 2015, $9 million (nearest number $9.2 million), 'Spotify' …",
            ["2015", "$9 million", "Spotify"],
        ),
        (
            "It fell in 1923.",
            "not supported: 'in 1923' (number 0.93), \"nowhere's\" (0.60)",
            ["in 1923"],
        ),
        ("O'Brien sang", "the claim denies 'sang'; not in the response: \"O'Brien\"", ["O'Brien"]),
        ("a red car", "'red' in the claim, 'blue' in its place in the context", ["red"]),
        ("a red car", "elsewhere in the context, not with the rest of the claim: 'red'", []),
    ],
)
def test_reasons_name_the_words_in_doubt(text: str, reason: str, words: list[str]) -> None:
    assert doubted_words(text, [reason]) == words
    told = {"claims": [{"text": text, "supported": False, "reasons": [reason]}]}
    assert make_views({"support": told}, None)[0]["claims"][0].get("doubts", []) == words


def test_evidence_of_another_kind_names_no_words() -> None:
    assert doubted_words(5, ["not in the context: 5"]) == doubted_words("5", "5") == []
    assert doubted_words("5", [5, "not in the context: " + "x, " * 100_000]) == []
