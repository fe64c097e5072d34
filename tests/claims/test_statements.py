"""What a text states: without talk to the reader and without what the sources are said to lack."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from trueground.claims.rules import RuleDecomposer
from trueground.claims.statements import find_statements


def split(text: str) -> list[str]:
    return [claim.text for claim in RuleDecomposer().decompose([text])[0]]


LACKS = [
    "The recipe does not mention fresh yeast.",
    "The passage does not mention his age.",
    "The passage doesn’t say.",
    "However, the context does not specify the exact date.",
    "Unfortunately, the provided documents do not contain information about the price.",
    "The text gives no details about the fire.",
    "The report provides no information about that.",
    "There is no mention of the price in the article.",
    "There is no information about the price.",
    "The price is not stated in the passage.",
    "The provided information is insufficient to answer the question.",
    "I could not find the price in the context.",
    "I'm not sure.",
    "I don't know the exact number.",
    "I'm sorry, but I couldn't find any information about the book.",
    "Therefore, I am unable to answer the question based on this passage alone.",
    "None of the passages explicitly state what the drawer is for.",
    "The context does not say who built it [2].",
    "Der Text erwähnt den Architekten nicht.",
    "Le texte ne mentionne pas l'architecte.",
    "No hay información en los pasajes proporcionados sobre el precio.",
    "文中没有提到建筑师。",
]
STATES = [
    "The recipe does not contain nuts.",
    "The report found no evidence of fraud.",
    "The report provides no evidence of fraud.",
    "The report does not contain errors.",
    "He did not mention the war in his speech.",
    "The king does not mention his brother.",
    "The law does not mention fines.",
    "The contract does not cover theft.",
    "The document does not allow photography.",
    "It is unknown who wrote Beowulf.",
    "The cause cannot be determined.",
    "It is not possible to determine the sex before week 12.",
    "The species cannot be found in Europe.",
    "The minister did not say when he would resign.",
    "There is no evidence of life on Mars.",
    "She said that she did not know the answer.",
    "The passage does not mention his brother, who died in 1903.",
    "I'm not sure because it was sold to Craig McCaw.",
    "I'm not sure, but he was born in Leeds.",
    "Other groups may have a harder time as they are not named in the article.",
    "Predicting the date remains uncertain due to the weather.",
    "Das Museum ist montags nicht geöffnet.",
    "On ignore qui a écrit Beowulf.",
]


@pytest.mark.parametrize("sentence", LACKS)
@pytest.mark.parametrize(
    "template", ["{} It uses 7 g of dry yeast.", "It uses 7 g of dry yeast. {}"]
)
def test_find_statements_sentence_about_a_lack_is_no_claim(sentence: str, template: str) -> None:
    assert split(template.format(sentence)) == ["It uses 7 g of dry yeast."]


@pytest.mark.parametrize("sentence", STATES)
def test_find_statements_negative_about_the_world_stays_a_claim(sentence: str) -> None:
    assert split(f"It opened in 1990. {sentence}") == ["It opened in 1990.", sentence]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            "The recipe does not mention fresh yeast. However, it uses 7 g of dry yeast.",
            ["However, it uses 7 g of dry yeast."],
        ),
        (
            "While the recipe does not mention fresh yeast, it uses 7 g of dry yeast.",
            ["it uses 7 g of dry yeast."],
        ),
        (
            "Although the text does not give his age, height or weight, he was born in Leeds.",
            ["he was born in Leeds."],
        ),
        (
            "The recipe does not mention fresh yeast, but it uses 7 g of dry yeast.",
            ["it uses 7 g of dry yeast."],
        ),
        (
            "The recipe does not mention fresh yeast but uses 7 g of dry yeast.",
            ["The recipe uses 7 g of dry yeast."],
        ),
        (
            "It uses 7 g of dry yeast, but the recipe does not mention fresh yeast.",
            ["It uses 7 g of dry yeast"],
        ),
        ("It is 300 m tall; its price is not stated in the passage.", ["It is 300 m tall"]),
        (
            "The report describes a fire in 1903 but does not say who caused it.",
            ["The report describes a fire in 1903"],
        ),
        (
            "They have no parking, and there is no mention of live music.",
            ["They have no parking"],
        ),
        (
            "I love it, but the passage does not say why, but I remember a song.",
            ["I love it, but the passage does not say why, but I remember a song."],
        ),
        ("No information about Benjy and Laska could be found. He won.", ["He won."]),
        (
            '"They won but the text does not say" is a line of the song.',
            ['"They won but the text does not say" is a line of the song.'],
        ),
        ("The passage is old. It does not say who built it.", ["The passage is old."]),
        ("The sign is old. It does not say who owns it.",
         ["The sign is old.", "It does not say who owns it."]),
    ],
)  # fmt: skip
def test_find_statements_keeps_the_part_that_states_something(text: str, claims: list[str]) -> None:
    assert split(text) == claims


def test_find_statements_numbers_count_all_sentences() -> None:
    text = "The passage does not mention his age. He was born in 1912."
    (statement,) = find_statements(text)
    assert statement.number == 1
    assert text[statement.start : statement.end] == "He was born in 1912."


def test_find_statements_span_is_what_was_said() -> None:
    text = "The recipe does not mention fresh yeast but uses 7 g of dry yeast."
    (claim,) = RuleDecomposer().decompose([text])[0]
    assert text[claim.start : claim.end] == "uses 7 g of dry yeast."


PIECES = (
    *(
        "The passage ",
        "does not mention ",
        "it",
        ", but ",
        "while ",
        "although ",
        " and ",
        "; ",
        ", ",
    ),
    *(
        "I'm not sure",
        "he was born",
        ". ",
        "1912",
        '"',
        "no information",
        " however",
        "文中没有提到",
    ),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_find_statements_spans_are_in_order_and_inside_their_sentences(text: str) -> None:
    last = -1
    for statement in find_statements(text):
        assert statement.number > last
        assert statement.sentence[0] <= statement.start <= statement.end <= statement.sentence[1]
        last = statement.number
