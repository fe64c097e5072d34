"""Sentences and clauses as claims."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueground.claims import Decomposer, RuleDecomposer, decomposers, get_decomposer
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
        ("She was born in Warsaw and died in Passy.", ["She was born in Warsaw", "died in Passy."]),
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
        ("He left in 1900 (he came back in 1910).", ["He left in 1900", "he came back in 1910"]),
        ("Curie (born 1867) was a chemist.", ["Curie (born 1867) was a chemist."]),
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


@given(st.text() | st.text(alphabet="Ab is was;, and.()?\n-é日", max_size=80))
def test_every_claim_stands_in_its_text(text: str) -> None:
    last = 0
    for claim in RuleDecomposer().decompose([text])[0]:
        assert text[claim.start : claim.end] == claim.text
        assert claim.text == claim.text.strip() != ""
        assert claim.start >= last
        last = claim.end


def test_registry() -> None:
    for name in decomposers:
        made = get_decomposer(name)
        assert isinstance(made, Decomposer)
        assert made.name == name
        assert made.signature
    with pytest.raises(UsageError, match="rules"):
        get_decomposer("rule")
