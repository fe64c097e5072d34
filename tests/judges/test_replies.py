"""Verdicts are read where they stand plainly, and nowhere else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, strategies as st

from trueground.judges.replies import read_verdict

PLAIN = [
    "True",
    "true.",
    "TRUE!",
    " True \n",
    "**True**",
    "`True`",
    '"True"',
    "“True”",
    "[True]",
    "Answer: True",
    "**Answer:** True",
    "Final answer: True.",
    "The answer is True.",
    "Verdict = True",
    "The statement is true.",
    "Yes",
    "yes.",
    "Answer: yes",
    "<answer>True</answer>",
    '{"answer": "True"}',
    r"$\boxed{True}$",
    r"\boxed{\text{True}}",
    "True. The context says so.",
    "True: it is in the second sentence.",
    "True - see the first line.",
    "True\n\nThe context says so.",
    "The context says so.\n\nTrue",
    "The context gives the year.\nTherefore, the statement is True.",
    "All of it is there. So the answer is: **True**",
    "Yes.\nIt is there.",
    "Yes,",
    "Yes, it does.",
    "True, because the context says so.",
    "**Yes**, the passage names the year.",
    "Answer: Yes, the passage names the year.",
    "Yes the passage names the year",
    "Yes, the passage names the year.\n\nIt stands in its second sentence.",
    "Based on the context, yes.",
]
# With what they say about the answer, which does not turn with the verdict.
LONGER = [
    ("Yes, the response is correct.", True),
    ("Yes the response is correct", True),
    ("Yes, it is supported by the context.", True),
    ("No, it contradicts.", False),
    ("No, that is not true.", False),
    ("No, the response is incorrect.", False),
    ("No, this isn't supported.", False),
    ("No, no information about it is given.", False),
    ("False, the statement is not entirely true.", False),
    ("No, the response is correct.", None),
    ("Yes, the response is incorrect.", None),
    ("Yes, the statement is false.", None),
    ("Yes, but the year is wrong.", None),
    ("Yes, partly.", None),
    ("Yes and no.", None),
    ("Yes, no.", None),
    ("No doubt, the response is fine.", None),
    ("No one knows.", None),
    ("It is correct: Yes", True),
    ("**It is correct: Yes.**", True),
    ("The answer is correct. Yes.", True),
    ("The claim is fully supported: Yes", True),
    ("It is supported by the context: Yes", True),
    ("The response gives the year.\nSo the answer is correct: Yes", True),
    ("It is not correct. No.", False),
    ("The response is incorrect. No.", False),
    ("True\nIt is red. Yes.", True),
    ("It is correct: No", None),
    ("It is not correct: No", None),
    ("It is not correct: Yes", None),
    ("It isn't correct: Yes", None),
    ("It is incorrect: Yes", None),
    ("It is incorrect: No", None),
    ("It is correct. No.", None),
    ("It is not correct. Yes.", None),
    ("No. It is correct: Yes", None),
    ("It is correct: Yes\nNo", None),
    ("It is correct: Yes, but not fully", None),
    ("It is correct: yes or no?", None),
    ("It is red: Yes", None),
    ("It is correct.", None),
]
NONE = [
    "",
    " \n",
    "True or False",
    "True/False",
    "True, False",
    "True\nFalse",
    "False. True.",
    "Answer: True or False",
    "The statement is not true.",
    "I cannot say whether the answer is true.",
    "It is not the case that the statement is true.",
    "not true",
    "Untrue",
    "Truely",
    "maybe",
    "I cannot help with that.",
    "true, but only in part",
    "The claim seems true",
    "No, that is true.",
    "Falsehood",
    "The text says 'Answer: True', which is an order.\nFalse",
    "yes\nno",
    "1",
    "T",
    "True" * 2,
    "no problem",
    "There is no such thing",
    "none",
]


@pytest.mark.parametrize(("reply", "verdict"), LONGER)
def test_a_verdict_that_is_explained_in_its_line(reply: str, verdict: bool | None) -> None:
    assert read_verdict(reply) is verdict


@pytest.mark.parametrize("reply", PLAIN)
def test_a_plain_verdict_and_its_opposite(reply: str) -> None:
    assert read_verdict(reply) is True
    turned = reply
    for word, other in (
        ("True", "False"),
        ("true", "false"),
        ("TRUE", "FALSE"),
        ("Yes", "No"),
        ("yes", "no"),
    ):
        turned = turned.replace(word, other)
    assert read_verdict(turned) is False


@pytest.mark.parametrize("reply", NONE)
def test_no_verdict(reply: str) -> None:
    assert read_verdict(reply) is None


@given(st.text(max_size=200))
def test_a_reply_with_both_words_is_never_a_verdict(text: str) -> None:
    for reply in (f"True\n{text} false", f"False. {text}\nThe answer is true."):
        assert read_verdict(reply) is None


def test_long_replies_take_no_time() -> None:
    start = time.process_time()
    for reply in (
        " " * 200_000,
        "the " * 50_000,
        "the answer is " * 20_000,
        "*" * 200_000 + "True",
    ):
        read_verdict(reply)
    assert time.process_time() - start < 2
