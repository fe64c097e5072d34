"""The parts of the lexical judge: stems, word groups, value agreement, windows."""

from __future__ import annotations

import pytest

from trueground.judges.lexical.agreement import agrees
from trueground.judges.lexical.alignment import align
from trueground.judges.lexical.coverage import ClaimView, cover
from trueground.judges.lexical.looking import look
from trueground.judges.lexical.opposed import opposed
from trueground.judges.lexical.pool import WordPool
from trueground.judges.lexical.presence import core, verbatim
from trueground.judges.lexical.reading import TextView
from trueground.judges.lexical.stems import stem
from trueground.judges.lexical.tokens import read
from trueground.judges.lexical.words import lexicon
from trueground.text.values import find_values


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
    assert len({lexicon[word].key for word in group.split()}) == 1


def test_opposites_share_a_key_and_differ_in_sign() -> None:
    up, down = lexicon["increased"], lexicon["dropped"]
    assert up.key == down.key
    assert up.sign == -down.sign != 0


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
    ],
)
def test_agreement(claimed: str, found: str, agree: bool) -> None:
    assert agrees(find_values(claimed)[0], find_values(found)[0]) is agree


def test_the_smallest_window_that_says_all_is_taken() -> None:
    text = TextView("Rain fell. Anna sang. The hall was full. Bob danced. Snow fell.")
    found = cover(ClaimView("Anna sang in a full hall"), text)
    assert (found.first, found.end) == (1, 3)
    assert found.share() == 1.0
    found = cover(ClaimView("Snow fell"), text)
    assert (found.first, found.end) == (4, 5)


@pytest.mark.parametrize(
    ("claim", "text", "there"),
    [
        ("It is red.", "They say it: It is red, always.", True),
        ("It is red.", "It is reddish.", False),
        ("he left", "It is not true that he left", False),
        ("", "text", False),
    ],
)
def test_verbatim(claim: str, text: str, there: bool) -> None:
    assert (verbatim(core(claim), TextView(text)) is not None) is there


def pairs(claim: str, sentence: str) -> list[tuple[str, str]]:
    """The words that are paired, as they are spelled in each."""
    tokens = [read(text, 0, len(text), find_values(text)) for text in (claim, sentence)]
    laid = align(*tokens)
    return [(laid.mine[i].spelling, laid.theirs[j].spelling) for i, j in laid.pairs]


def test_words_in_their_order_are_paired_and_names_come_last() -> None:
    found = pairs("Wilson gave the Penguins a lead.", "The Penguins gave Wilson a lead.")
    assert found == [("gave", "gave"), ("a", "a"), ("lead", "lead")]
    assert pairs("It has 5 rooms.", "It has five rooms.")[-2:] == [
        ("5", "five"),
        ("rooms", "rooms"),
    ]
    assert pairs("", "It rains.") == []


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
    assert bool(look(ClaimView(claim), WordPool([TextView(text)])).doubts) is doubt
