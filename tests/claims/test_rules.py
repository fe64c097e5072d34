"""Sentences and clauses as claims."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.marks import mostly_long

from trueground.claims import rules
from trueground.claims.base import Decomposer
from trueground.claims.registry import decomposers, get_decomposer
from trueground.claims.rules import RuleDecomposer
from trueground.errors import UsageError


def split(text: str) -> list[str]:
    return [claim.text for claim in RuleDecomposer().decompose([text])[0]]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("", []),
        (" \n ", []),
        ("Paris", ["Paris"]),
        ("Yes.", ["Yes."]),
        ("Paris. He lived there.", ["He lived there."]),
        (
            "She was born in Warsaw and died in Passy.",
            ["She was born in Warsaw", "She died in Passy."],
        ),
        ("He left early, but she stayed late.", ["He left early", "she stayed late."]),
        ("It was cold; the lake was frozen.", ["It was cold", "the lake was frozen."]),
        ("He likes cats and dogs.", ["He likes cats and dogs."]),
        (
            "She said that Alice and Bob were married.",
            ["She said that Alice and Bob were married."],
        ),
        (
            "The tower was designed and built in 1900.",
            ["The tower was designed and built in 1900."],
        ),
        ("There are three: salt; pepper; oil.", ["There are three: salt; pepper; oil."]),
        (
            "He left in 1900 (he came back in 1910).",
            ["He left in 1900 (he came back in 1910)."],
        ),
        ("She sold cars, and her son sold boats.", ["She sold cars", "her son sold boats."]),
        (
            "The engine was designed in Turin and built by two brothers.",
            ["The engine was designed in Turin and built by two brothers."],
        ),
        (
            "It has a tail, two gills and a fin placed low.",
            ["It has a tail, two gills and a fin placed low."],
        ),
        (
            "It includes a park, a lake and two schools.",
            ["It includes a park", "It includes a lake", "It includes two schools."],
        ),
        ("After it was sold, he and his wife left.", ["After it was sold, he and his wife left."]),
        ("- apples are red\n- pears are green", ["apples are red", "pears are green"]),
        ("He is tall. He  IS tall!", ["He is tall."]),
        ("日本は国です。東京は首都です。", ["日本は国です。", "東京は首都です。"]),
    ],
)
def test_statements(text: str, claims: list[str]) -> None:
    assert split(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Sure! It is red. I hope this helps!", ["It is red."]),
        ("It is red. Let me know if you need more.", ["It is red."]),
        ("Is it red? It is not red.", ["It is not red."]),
        ("Would you like to know more?", []),
        ("Based on the provided context, it is red.", ["it is red."]),
        ("According to the passage, it is red.", ["it is red."]),
        ("The context states that it is red.", ["it is red."]),
        ("Did you know that radios use waves?", ["radios use waves?"]),
        ("Do you know what a radio is?", []),
    ],
)
def test_talk_to_the_reader_is_no_claim(text: str, claims: list[str]) -> None:
    assert split(text) == claims


def test_sentence_numbers_and_batch_order() -> None:
    first, second = RuleDecomposer().decompose(
        ["It is red. It was blue and it was old.", "No way."]
    )
    assert [claim.sentence for claim in first] == [0, 1, 1]
    assert [claim.text for claim in second] == ["No way."]


GOLDEN = Path(__file__).parent / "data" / "rules_golden.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
WORDS = [
    "Mara",
    "Holt",
    "Leeds",
    "the",
    "a",
    "king",
    "town",
    "was",
    "is",
    "were",
    "born",
    "died",
    "founded",
    "and",
    "but",
    "who",
    "which",
    "that",
    "in",
    "by",
    "not",
    "said",
    "1867",
    ",",
    ",",
    ";",
    "(",
    ")",
    ".",
    '"',
    "It",
    "She",
    "include",
]


@pytest.mark.parametrize("case", CASES, ids=[case["sentence"][:40] for case in CASES])
def test_golden(case: dict[str, Any]) -> None:
    assert split(case["sentence"]) == case["claims"]


def test_golden_covers_every_construction() -> None:
    assert len(CASES) >= 60
    assert {"conjunction", "pronoun", "list", "negation", "modality", "reported"} <= {
        case["about"] for case in CASES
    }
    assert sum(len(case["claims"]) > 1 for case in CASES) >= 20


@given(
    st.text()
    | st.text(alphabet="Ab is was;, and.()?\n-é日", max_size=80)
    | st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
)
def test_claims_stand_in_order_and_once(text: str) -> None:
    claims = RuleDecomposer().decompose([text])[0]
    last = (0, 0)
    for claim in claims:
        assert 0 <= claim.start < claim.end <= len(text)
        assert claim.text == claim.text.strip() != ""
        assert (claim.sentence, claim.start) >= last
        last = (claim.sentence, claim.start)
    assert len({claim.text for claim in claims}) == len(claims)
    assert RuleDecomposer().decompose([text])[0] == claims


@pytest.mark.parametrize(
    "unit",
    mostly_long(1, [
        "was and ", "(", "A B, C D and ", "and ", ", ", "()", "( a ", '"', "'a ", "a, ", "A, ",
        "A and ", "who was ", "in 1900 ", "; was ", "is a town that is ", ", who was ",
    ]),
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit: str) -> None:
    def seconds(repeats: int) -> float:
        before = time.process_time()
        RuleDecomposer().decompose(["Mara was " + unit * repeats])
        return time.process_time() - before

    # Quadratic time would be 16 times the shorter text's on any machine; the second is noise.
    assert seconds(16_000) < 8 * seconds(4_000) + 1


def test_spans_point_at_what_was_said() -> None:
    text = "It rained. Mara Holt was born in Leeds and died in York."
    claims = RuleDecomposer().decompose([text])[0]
    assert [(claim.text, text[claim.start : claim.end]) for claim in claims] == [
        ("It rained.", "It rained."),
        ("Mara Holt was born in Leeds", "Mara Holt was born in Leeds"),
        ("Mara Holt died in York.", "died in York."),
    ]


def test_registry() -> None:
    made = get_decomposer("rules")
    assert "rules" in decomposers
    assert isinstance(made, Decomposer)
    assert (made.name, made.signature) == ("rules", "rules-4")
    with pytest.raises(UsageError, match="rules"):
        get_decomposer("rule")


PIECES = [
    "and ",
    "AND ",
    "but ",
    "; ",
    "Ada ran ",
    "he sang ",
    "won a, b, and c ",
    "sand ",
    "(x)",
    '"',
]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_split_statements_quick_look_changes_nothing(sentence: str) -> None:
    quick = rules.split_statements(sentence)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "_may_divide", lambda _: True)
        thorough = rules.split_statements(sentence)
    assert quick == thorough


def test_split_statements_sentence_without_joint_is_not_read_word_by_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(rules, "View")
    assert rules.split_statements("The tower is tall.") == [("", 0, 18)]
