"""What of a response Q² asks for."""

from __future__ import annotations

import pytest

from trueground.judges.comparing.q2 import candidates, is_personal


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("One Direction are from London, England.", ["One Direction", "London", "England"]),
        (
            "The Pine scandal began in the United States in 1972.",
            ["Pine", "United States", "1972", "The Pine scandal"],
        ),
        (
            "He was born on 4 May 1931 near the Bank of England.",
            ["4 May 1931", "Bank of England", "born"],
        ),
        ("Oslo has a population of 709,037.", ["Oslo", "709,037", "a population"]),
        ("Oslo is old. Oslo is large.", ["Oslo", "old", "large"]),
        ("", []),
        ("You and I.", []),
    ],
)
def test_candidates(response: str, expected: list[str]) -> None:
    assert candidates(response) == expected


@pytest.mark.parametrize(
    ("question", "personal"),
    [
        ("What is your name?", True),
        ("Who are you?", True),
        ("When did I arrive?", True),
        ("Where is Oslo?", False),
    ],
)
def test_personal_questions(question: str, personal: bool) -> None:
    assert is_personal(question) is personal
