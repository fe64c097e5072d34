"""Citations of passages by number."""

from __future__ import annotations

import time

import pytest
from tests.marks import mostly_long

from trueground.text.citations import LONGEST_RANGE, CitedText


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("[1]", (1,)),
        ("[1][2]", (1, 2)),
        ("[2], [1]", (2, 1)),
        ("[1, 2]", (1, 2)),
        ("[1,2]", (1, 2)),
        ("[1; 2]", (1, 2)),
        ("[ 1 ,\n2 ]", (1, 2)),
        ("[1-3]", (1, 2, 3)),
        ("[1–3, 7]", (1, 2, 3, 7)),
        ("[4 - 4]", (4,)),
        ("[2, 2][2]", (2, 2, 2)),
        ("[0]", (0,)),
        ("[999]", (999,)),
        (r"\[1\]", (1,)),
        (r"\[1\]\[2, 3\]", (1, 2, 3)),
        (f"[1-{LONGEST_RANGE}]", tuple(range(1, LONGEST_RANGE + 1))),
    ],
)
def test_before_and_after_the_stop(written: str, numbers: tuple[int, ...]) -> None:
    for text in (f"It rains {written}. Then snow.", f"It rains. {written} Then snow."):
        first, second = CitedText(text).numbered_sentences()
        assert (first.text, first.passages) == ("It rains.", numbers)
        assert (second.text, second.passages) == ("Then snow.", ())
        assert written in text[first.start : first.end]
        assert text[second.start : second.end] == "Then snow."


@pytest.mark.parametrize("written", ["([1])", "[[1]]", "([1], [1])", "{([1])}"])
def test_brackets_around_only_citations_are_removed(written: str) -> None:
    first, second = CitedText(f"It rains {written}. Then snow (at night [2]).").numbered_sentences()
    assert (first.text, set(first.passages)) == ("It rains.", {1})
    assert (second.text, second.passages) == ("Then snow (at night).", (2,))


@pytest.mark.parametrize(
    "written",
    [
        *("[3-1]", f"[1-{LONGEST_RANGE + 1}]", "[1914-2024]", "[1999]", "[1, 1999]"),
        *("[a]", "[1 2]", "[1,]", "[-1]", "[1-2-3]"),
    ],
)
def test_other_brackets_are_text(written: str) -> None:
    (sentence,) = CitedText(f"It rains {written}.").numbered_sentences()
    assert (sentence.text, sentence.passages) == (f"It rains {written}.", ())
    assert (sentence.start, sentence.end) == (0, len(f"It rains {written}."))


def test_numbers_too_long_for_a_number_are_text() -> None:
    (sentence,) = CitedText("It rains [" + "1" * 5_000 + "].").numbered_sentences()
    assert sentence.passages == ()


def test_a_number_before_any_word_is_the_first_sentence_s() -> None:
    first, second = CitedText("[3] It rains. It snows.").numbered_sentences()
    assert (first.text, first.start, first.passages) == ("It rains.", 0, (3,))
    assert second.passages == ()
    items = CitedText("There are two:\n1. [1] Rain\n- [2] Snow [3]\n[4]").numbered_sentences()
    assert [s.passages for s in items] == [(), (1,), (2, 3, 4)]
    (only,) = CitedText("[1] [2]").numbered_sentences()
    assert (only.text, only.start, only.end, only.passages) == ("", 0, 7, (1, 2))


@pytest.mark.parametrize(
    "text",
    mostly_long(2, [
        "[1, " * 25_000, "It rains [1]. " * 7_000, "[1]" * 33_000, "[1" + ",1" * 50_000,
        "\\" * 100_000, "It rains. [1]. " * 7_000,
    ]),
)  # fmt: skip
def test_long_answers(text: str) -> None:
    before = time.process_time()
    assert all(0 <= s.start < s.end <= len(text) for s in CitedText(text).numbered_sentences())
    assert time.process_time() - before < 3
