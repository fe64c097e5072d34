"""The words of a comparison, and answers with their changes marked."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from trueground.reports.blocks import Rich
from trueground.studies.comparison_pages import mark_changes
from trueground.studies.comparison_words import find_differences


def plain(text: Rich) -> str:
    parts = [text] if isinstance(text, str) else text
    return "".join(one if isinstance(one, str) else one.text for one in parts)


def styled(text: Rich) -> list[str]:
    return [] if isinstance(text, str) else [s.text.strip() for s in text if not isinstance(s, str)]


def test_words_that_only_one_answer_has_are_marked() -> None:
    old, new = mark_changes("It was built in 1931 by Anna.", "It was built around 1913 by Anna.")
    assert (styled(old), styled(new)) == (["in 1931"], ["around 1913"])
    assert [one.style for one in (*old, *new) if not isinstance(one, str)] == ["removed", "added"]


@pytest.mark.parametrize(
    ("old", "new"),
    [("", ""), ("a", ""), ("same words", "same words"), (" a\n b ", " a\n\n c"), ("x y", "p q r")],
)
def test_no_letter_is_lost(old: str, new: str) -> None:
    assert tuple(map(plain, mark_changes(old, new))) == (old, new)


def test_answers_that_share_hardly_a_word_are_not_marked() -> None:
    assert mark_changes("I don't know.", "It was built in 1931.") == (
        "I don't know.",
        "It was built in 1931.",
    )


def test_long_answers_take_no_time() -> None:
    draw = random.Random(0)
    old, new = (" ".join(draw.choices("abcde", k=20_000)) for _ in range(2))
    start = time.process_time()
    marked = mark_changes(f"The same start {old} and end", f"The same start {new} and end")
    short = " ".join(draw.choices("abcde", k=500)), " ".join(draw.choices("abcde", k=500))
    assert tuple(map(plain, mark_changes(*short))) == short
    assert plain(marked[0]) == f"The same start {old} and end"
    assert time.process_time() - start < 5


def pair(**more: Any) -> dict[str, Any]:
    needed = [{"observed": True, "items": 874, "groups": None, "difference": 0.01}]
    result = {"n": 50, "difference": 0.041, "ci": (0.012, 0.07), "test": "sign-flip"} | more
    metric = {
        "result": result,
        "p_holm": more.get("p_holm", 0.004),
        "higher_is_better": more.get("higher_is_better", True),
        "won": 9,
        "lost": 1,
        "sizes": {"planning": {"n": 50, "needed": needed}},
    }
    return {"a": "old", "b": "new", "metrics": {"support": metric}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "new is better on support: +0.041 [0.012, 0.070]"),
        (
            {"higher_is_better": False},
            "old is better on support: +0.041 [0.012, 0.070], lower is better",
        ),
        (
            {"difference": -0.041, "ci": (-0.07, -0.012)},
            "old is better on support: -0.041 [-0.070, -0.012]",
        ),
        (
            {"p_holm": 0.3},
            "new may be better on support: +0.041 [0.012, 0.070]; or it is chance (Holm's p 0.3)",
        ),
        (
            {"p_holm": None, "test": None},
            "new is better on support: +0.041 [0.012, 0.070]",
        ),
        (
            {"ci": (-0.01, 0.07), "p_holm": 0.2},
            "no difference can be shown on support (it would take about 870 items)",
        ),
        ({"ci": None}, "new is better on support: +0.041 for every item"),
        (
            {"ci": None, "p_holm": None},
            "no difference can be shown on support (it would take about 870 items)",
        ),
        (
            {"difference": 0.0001, "ci": (0.00004, 0.0002)},
            "new is better on support: +0.0001 [4e-05, 0.0002]",
        ),
        (
            {"difference": None, "ci": None, "n": 0},
            "nothing can be said on support: no item is scored in both",
        ),
    ],
)
def test_a_sentence_says_what_the_numbers_show(more: dict[str, Any], said: str) -> None:
    (finding,) = find_differences(pair(**more), 0.05)
    assert plain(finding.words) == said
