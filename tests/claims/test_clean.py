"""The cleaning rules that every decomposer's facts pass."""

from __future__ import annotations

import pytest

from trueground.claims.base import clean, is_one_word
from trueground.types import Claim

TEXT = "Mara won. She was born in Leeds. Yes."
SPANS = [(0, 9), (10, 32), (33, 37)]


def texts(claims: list[Claim]) -> list[str]:
    return [claim.text for claim in claims]


def test_facts_carry_the_span_and_number_of_their_sentence() -> None:
    claims = clean(SPANS, TEXT, [["Mara won."], ["Mara was born.", " Born in Leeds. "], []])
    assert claims == [
        Claim("Mara won.", 0, 9, 0),
        Claim("Mara was born.", 10, 32, 1),
        Claim("Born in Leeds.", 10, 32, 1),
    ]


def test_a_fact_longer_than_its_sentence_becomes_the_sentence() -> None:
    claims = clean(SPANS, TEXT, [["Mara Holt won the medal."], [], []])
    assert texts(claims) == ["Mara won."]
    assert texts(clean(SPANS, TEXT, [["Mara Holt won", "Mara lost a game"], [], []])) == [
        "Mara won."
    ]


def test_a_fact_counts_once() -> None:
    claims = clean(SPANS, TEXT, [["Mara won."], ["mara  WON", "Mara won!"], []])
    assert texts(claims) == ["Mara won."]


def test_one_word_sentences() -> None:
    assert texts(clean(SPANS, TEXT, [[], [], ["Yes."]])) == []
    assert texts(clean([(0, 4)], "Yes.", [["Yes."]])) == ["Yes."]


def test_a_sole_sentence_without_facts_is_its_own_fact() -> None:
    assert clean([(0, 9)], "Mara won.", [[" "]]) == [Claim("Mara won.", 0, 9, 0)]
    assert clean([(0, 9)], "Mara won.", [[]]) == [Claim("Mara won.", 0, 9, 0)]
    assert clean(SPANS, TEXT, [[], [], []]) == []
    assert clean([], "", []) == []


def test_every_sentence_needs_its_facts() -> None:
    with pytest.raises(ValueError, match="zip"):
        clean(SPANS, TEXT, [["Mara won."]])


@pytest.mark.parametrize(
    ("sentence", "one"),
    [("Yes.", True), ("...", True), ("1,000", True), ("It is.", False), ("日本は国です。", False)],
)
def test_one_word(sentence: str, one: bool) -> None:
    assert is_one_word(sentence) is one
