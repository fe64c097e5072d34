"""Sentence spans: characters, not bytes; lines, bullets and table rows end a sentence."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from trueground.text.sentences import split_sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t ", []),
        ("One.", ["One."]),
        ("He met Dr. Smith in 3.5 days. Then he left!", None),
        ("The U.S. Senate met J. K. Rowling. She spoke.", None),
        ("first line\nsecond line", ["first line", "second line"]),
        ("first line\r\nsecond line\rthird", ["first line", "second line", "third"]),
        ("• apples\n- pears\n* plums", ["apples", "pears", "plums"]),
        ("1. Wash it.\n2) Dry it.", ["Wash it.", "Dry it."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["a | b |", "1 | 2 |"]),
        ("日本は国です。東京は首都です。", ["日本は国です。", "東京は首都です。"]),
        ("Héllo café 🎉 here. Né à Paris 👩‍👩‍👧 too.", None),
    ],
)
def test_known_texts(text: str, expected: list[str] | None) -> None:
    found = cut(text)
    if expected is None:
        assert len(found) == 2
        assert " ".join(found) == text
    else:
        assert found == expected


def test_wrapped_running_text_stays_one_sentence() -> None:
    text = "This sentence is so long that the editor has wrapped\nit in the middle. Next one."
    assert cut(text) == [
        "This sentence is so long that the editor has wrapped\nit in the middle.",
        "Next one.",
    ]


@given(st.text() | st.text(alphabet="aB.!? \n\r-•|1é日🎉。\u2028\x0b", max_size=80))
def test_spans_are_ordered_stripped_and_hold_every_word(text: str) -> None:
    last = 0
    kept = ""
    for start, end in split_sentences(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        last = end
        kept += text[start:end]
    letters = [c for c in text if c.isalpha()]
    assert [c for c in kept if c.isalpha()] == letters


WHITE = [c for c in map(chr, range(0x3001)) if c.isspace()]


@pytest.mark.parametrize("space", WHITE, ids=lambda c: f"{ord(c):04x}")
def test_an_initial_before_any_white_space_is_read(space: str) -> None:
    """The library panics where that is not ASCII; the spans are those with a plain space."""
    for text in ("The answer is A_. It is B. C _.", "A_.", "X_. Y_.B _. Then he left."):
        spans = split_sentences(text.replace("_", space))
        if space not in "\n\r\v\f\x1c\x1d\x1e\x1f\x85\u2028\u2029":
            assert spans == split_sentences(text.replace("_", " ")) != []


def test_no_text_makes_the_library_panic() -> None:
    random_ = random.Random(17)
    parts = ["A", "Bo", "z", "Mr", ".", "!", "。", '"', "”", "(", "字", "1.", "[1]", "\0", *WHITE]
    for _ in range(20_000):
        text = "".join(random_.choices(parts, k=random_.randint(2, 12)))
        assert all(0 <= start < end <= len(text) for start, end in split_sentences(text))
