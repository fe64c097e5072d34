"""Scores are read where they stand plainly, and nowhere else."""

from __future__ import annotations

import time
from math import log

import pytest

from trueground.judges.replies import expected_score, read_score
from trueground.models.base import TokenLogprob

PLAIN = [
    "4",
    " 4\n",
    "4.",
    "**4**",
    "(4)",
    '"4"',
    "[4]",
    "Fluency: 4",
    "- Fluency: 4",
    "Fluency (1-5): 4",
    "- Fluency (1–5): **4**",
    "**Fluency (1-5):** 4",
    "**Fluency**: 4",
    "Score = 4",
    "The score is 4.",
    "4/5",
    "4 / 5",
    "4 out of 5",
    "Rating: 4/5.",
    "4 points",
    '{"score": 4}',
    "The response has 2 slips and 1 odd word.\n\nFluency: 4",
    "Fluency: 4\nThe response has 2 slips.",
    "4\n\n4/5",
]
NONE = [
    "",
    " \n",
    "4.5",
    "4,5",
    "4.0",
    "7",
    "0",
    "6",
    "-4",
    "44",
    "4 or 5",
    "4-5",
    "4/10",
    "4 out of 10",
    "1-5",
    "Fluency (1-5):",
    "four",
    "Fluency: 4\nCoherence: 5",
    "1. Read the response.\n2. Check the words.",
    "I would give it something between 3 and 4.",
    "4th",
    "4 5",
    "4!5",
    "４",
    "I cannot rate this.",
    "45/5",
    "4/55",
    "04",
]


@pytest.mark.parametrize("reply", PLAIN)
def test_a_plain_score(reply: str) -> None:
    score = read_score(reply)
    assert score is not None
    assert score.value == 4
    assert reply[score.position] == "4"


@pytest.mark.parametrize("reply", NONE)
def test_no_score(reply: str) -> None:
    assert read_score(reply) is None


def test_long_replies_take_no_time() -> None:
    start = time.process_time()
    for reply in (
        "(" * 200_000 + "4",
        "a " * 100_000 + ": 4",
        "4" + " " * 200_000,
        "a " * 99 + "4",
    ):
        read_score(reply)
    assert time.process_time() - start < 2


def token(word: str, **mass: float) -> TokenLogprob:
    """A token with the probabilities of its alternatives; `_4` is " 4"."""
    top = {name.replace("_", " ").replace("n", ""): log(p) for name, p in mass.items()}
    return TokenLogprob(word, top.get(word, log(0.5)), top)


def expected(reply: str, *tokens: TokenLogprob) -> float | None:
    score = read_score(reply)
    assert score is not None
    return expected_score(reply, score, list(tokens))


def test_the_mean_under_the_tokens_of_the_scale() -> None:
    four = token("4", n4=0.6, n5=0.2, n3=0.1, Good=0.1)
    assert expected("4", four) == pytest.approx((4 * 0.6 + 5 * 0.2 + 3 * 0.1) / 0.9)
    assert expected("4", TokenLogprob("4", -0.7)) == 4.0
    # With and without a blank before it, a digit is the same score; 6 and 45 are none.
    spaced = token(" 4", _4=0.5, n4=0.1, n5=0.2, n6=0.1, n45=0.1)
    assert expected("Fluency: 4", token("Fluency"), token(":"), spaced) == pytest.approx(3.4 / 0.8)


def test_the_token_is_the_one_of_the_score() -> None:
    five, whole = token("5", n5=0.5, n4=0.5), token("5", n5=1.0)
    assert expected("5/5", five, token("/"), whole) == pytest.approx(4.5)
    thought = [token("<think>"), token("4", n4=0.5, n1=0.5), token("</think>")]
    assert expected("4", *thought, token("4", n4=1.0), token("\n")) == 4.0


def test_without_a_token_of_its_own_there_is_no_mean() -> None:
    assert expected("4/5", token("4/5")) is None
    assert expected("4", token("Four")) is None
    assert expected("4") is None


def test_a_long_reply_is_read_in_linear_time() -> None:
    """Twice the reply may not take four times as long; a hundred thousand spaces took 42 s."""
    for piece in (" ", " \t", "\n ", "4 ", "a: "):
        read_score(piece * 1_000)
        start = time.process_time()
        read_score(piece * 100_000)
        assert time.process_time() - start < 2
