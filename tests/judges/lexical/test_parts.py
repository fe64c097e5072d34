"""The parts of the lexical judge: stems, word groups, value agreement, windows."""

from __future__ import annotations

import pytest

from trueground.judges.lexical.claim import ClaimView
from trueground.judges.lexical.judge import LexicalJudge, find_evidence, find_verbatim
from trueground.judges.lexical.lexicon import opposed, word_of
from trueground.judges.lexical.texts import ContextView, TextView
from trueground.judges.lexical.values import agrees, find_values
from trueground.judges.lexical.weights import NAMES
from trueground.text.stemming import stem
from trueground.types import JudgeRequest


@pytest.mark.parametrize(
    "family",
    ["melt melts melted melting", "company companies", "plan planned planning", "city cities"],
)
def test_inflections_share_a_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "group",
    ["born birth birthplace native", "wrote writer author", "die died death", "buy acquired"],
)
def test_related_words_share_a_key(group: str) -> None:
    assert len({word_of(word).key for word in group.split()}) == 1


@pytest.mark.parametrize(
    ("claimed", "found", "agree"),
    [
        ("4", "four", True),
        ("3 km", "3,000 metres", True),
        ("3 km", "3 m", False),
        ("5 miles", "8 km", True),
        ("$5", "£5", False),
        ("5%", "5", False),
        ("5", "5%", False),
        ("1 day", "24 hours", True),
        ("in May 2020", "1 May 2020", True),
        ("1 May 2020", "in May 2020", False),
        ("the 1990s", "1994", True),
        ("1994", "the 1990s", False),
        ("the third", "three", False),
        ("120 metres", "121 metres", False),
        ("64 years", "65 years", False),
        ("3.01 km", "3,000 metres", False),
        ("8", "8 km", True),
        ("8", "8 percent", False),
        ("20 °C", "68 °F", True),
        ("20 °C", "21 °C", False),
    ],
)
def test_agreement(claimed: str, found: str, agree: bool) -> None:
    """Only what was converted from one system of units to another may be rounded."""
    assert agrees(find_values(claimed)[0], find_values(found)[0]) is agree


def test_a_claim_that_rounds_is_held_to_five_percent() -> None:
    claimed, near, far = (find_values(text)[0] for text in ("40,000", "41,200", "43,000"))
    assert agrees(claimed, near, about=True)
    assert not agrees(claimed, near)
    assert not agrees(claimed, far, about=True)


def test_the_smallest_window_that_says_all_is_taken() -> None:
    text = TextView("Rain fell. Anna sang. The hall was full. Bob danced. Snow fell.")
    context = ContextView([text])
    place = find_evidence(ClaimView("Anna sang in a full hall"), context).place
    assert place is not None
    assert (place.first, place.end) == (1, 3)
    assert all(place.said)
    place = find_evidence(ClaimView("Snow fell"), context).place
    assert place is not None
    assert (place.first, place.end) == (4, 5)


def test_a_place_lies_in_one_text() -> None:
    texts = [TextView(text) for text in ("", "Anna sang.", " ", "The hall was full. Bob danced.")]
    place = find_evidence(ClaimView("Bob danced"), ContextView(texts)).place
    assert place is not None
    assert (place.text, place.first, place.end) == (3, 1, 2)
    assert find_evidence(ClaimView("Bob danced"), ContextView(texts[:1])).place is None


def test_features_have_names_and_more_is_better_but_for_three() -> None:
    judge = LexicalJudge()
    text = "Anna Frey sang in Oslo in 1990."
    claims = (
        "Anna Frey sang in Oslo.",
        "Lena Voss danced in Rome in 1985.",
        "Anna Frey sang in 1989.",
    )
    found = judge.features([JudgeRequest(claim, (text,)) for claim in claims])
    assert found.shape == (3, len(judge.feature_names))
    table = [dict(zip(NAMES, map(float, row), strict=True)) for row in found]
    assert table[0]["sentence"] == table[0]["words"] == 1
    assert table[1]["sentence"] < 0.5
    assert (table[1]["values_missing"], table[1]["names_missing"]) == (1, 2)
    assert (table[2]["contradicted"], table[0]["contradicted"]) == (1, 0)
    assert judge.features([]).shape == (0, len(NAMES))


@pytest.mark.parametrize(
    ("claim", "text", "there"),
    [
        ("It is red.", "They say it: It is red, always.", True),
        ("It is red.", "It is reddish.", False),
        ("he left", "It is not true that he left", False),
        ("It is red.", "It is red unless it rains.", False),
        ("It is red.", "It is red, according to a rumour that proved false.", False),
        ("It is red.", "It is red. Nothing is blue unless it rains.", True),
        ("", "text", False),
    ],
)
def test_verbatim(claim: str, text: str, there: bool) -> None:
    assert (find_verbatim(claim, TextView(text)) is not None) is there


@pytest.mark.parametrize(
    ("one", "other", "cannot"),
    [
        ("profit", "loss", True),
        ("successful", "unsuccessful", True),
        ("red", "blue", True),
        ("hundreds", "thousands", True),
        ("loss", "losses", False),
        ("red", "red", False),
        ("der", "under", False),
    ],
)
def test_opposed(one: str, other: str, cannot: bool) -> None:
    assert opposed(one, other) is opposed(other, one) is cannot


@pytest.mark.parametrize(
    ("claim", "text", "doubt"),
    [
        ("Oda thanked Karl for the piano.", "Lena thanked Karl for the piano. Oda slept.", True),
        ("Hugo left the mill to nieces.", "Hugo Dahl ran. Dahl left the mill to nieces.", False),
        ("Tess and Ole built the red boat.", "Ole and Tess built the red boat.", False),
        ("Ida blamed Rosen for it all.", "Rosen ran. Ida blamed the German for it all.", False),
        ("I am not sure, but bears sleep in winter.", "Bears sleep in winter.", False),
        ("It was not shown until 1830 in Lund.", "It was shown in 1830 in Lund.", False),
    ],
)  # fmt: skip
def test_doubts(claim: str, text: str, doubt: bool) -> None:
    context = ContextView([TextView(text)])
    assert bool(find_evidence(ClaimView(claim), context).doubts) is doubt
