"""Sentence spans: characters, not bytes; lines, bullets and table rows end a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueground.text.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


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
    for start, end in sentences(text):
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        last = end
        kept += text[start:end]
    letters = [c for c in text if c.isalpha()]
    assert [c for c in kept if c.isalpha()] == letters
