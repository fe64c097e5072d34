"""Which option a response names."""

import re
import time

import pytest
from hypothesis import given, strategies as st
from tests.marks import mostly_long

from trueground.metrics.choices import answer_part, chosen_label, mentioned_labels, right_labels
from trueground.text.normalize import Normalizer
from trueground.types import Choice

RULE = Normalizer.named("faitheval").rule
COLORS = [Choice("A", "red"), Choice("B", "blue"), Choice("C", "light blue"), Choice("D", "green")]
NUMBERED = [Choice("1", "decrease"), Choice("2", "increase"), Choice("3", "remain the same")]


METRES = [Choice("1", "2 metres"), Choice("2", "4 metres"), Choice("4", "10 metres")]


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("The answer is 4 metres", "2"),
        ("Answer: 4 metres", "2"),
        ("The answer is 4.", "4"),
        ("The answer is 2", "2"),
        ("(4) 10 metres", "4"),
        ("2", "2"),
    ],
)
def test_numbers_as_labels_and_in_texts(response: str, label: str) -> None:
    assert chosen_label(response, METRES, RULE) == label


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("B", "B"),
        ("b", "B"),
        (" B.\n", "B"),
        ("(B)", "B"),
        ("(b)", "B"),
        ("[b]", "B"),
        ("**B**", "B"),
        ("B)", "B"),
        ("B) blue", "B"),
        ("B. blue", "B"),
        ("B: because the sky is like that", "B"),
        ("The answer is B", "B"),
        ("The answer is **B**.", "B"),
        ("the answer is (b)", "B"),
        ("The correct answer is: B. It follows from the text.", "B"),
        ("Answer: D", "D"),
        ("The correct option is D because of the leaves.", "D"),
        ("Option C", "C"),
        ("I choose D.", "D"),
        ("The answer is option B", "B"),
        ("A", "A"),
        ("The answer is A.", "A"),
        ("The answer is A", "A"),
        ("Answer: A\nBecause of the context.", "A"),
        ("The answer is A because the text says so.", "A"),
        ("Thinking about it.\nB. It is in the text.", "B"),
        ("It's B.", "B"),
        ("I think it is B", "B"),
        (r"So \boxed{B}", "B"),
        (r"$\boxed{\text{d}}$", "D"),
        ("It contains vitamin B.", None),
        ("blue", "B"),
        ("It is BLUE!", "B"),
        ("It is light blue.", "C"),
        ("The light-blue one", "C"),
        ("A dog is green.", "D"),
        ("A dog is an animal.", None),
        ("The answer is a dog.", None),
        ("The answer is A dog", None),
        ("bluebird", None),
        ("reddish", None),
        ("red or blue", None),
        ("light blue, not blue", "C"),
        ("(A) or (B)", None),
        ("B. red", None),
        ("The answer is A, red", "A"),
        ("Vitamin B is healthy.", None),
        ("He lives in Washington D.C. now", None),
        ("The answer is B12", None),
        ("e.g. nothing", None),
        ("E", None),
        ("", None),
        ("unknown", None),
    ],
)
def test_letters(response, label):
    assert chosen_label(response, COLORS, RULE) == label


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("2", "2"),
        ("2) increase", "2"),
        ("(3)", "3"),
        ("It will remain the same.", "3"),
        ("The answer is 1", "1"),
        ("It rises by 2.5 per cent", None),
        ("It takes 2 days", None),
    ],
)
def test_numbers(response, label):
    assert chosen_label(response, NUMBERED, RULE) == label


def test_equal_texts_and_missing_labels():
    assert chosen_label("x", [], RULE) is None
    assert chosen_label("red", [Choice("", "red"), Choice("", "blue")], RULE) == ""
    assert chosen_label("anything", [Choice("", ""), Choice("B", "the")], RULE) is None


@pytest.mark.parametrize(
    ("references", "labels"),
    [
        (["B"], {"B"}),
        (["b"], {"B"}),
        (["(B)"], {"B"}),
        (["blue"], {"B"}),
        (["Light blue."], {"C"}),
        (["B. blue"], {"B"}),
        (["blue", "green"], {"B", "D"}),
        (["yellow"], set()),
        ([], set()),
        ([""], set()),
    ],
)
def test_right_labels(references, labels):
    assert right_labels(references, COLORS, RULE) == labels


def test_a_text_that_looks_like_a_label_is_a_text_first():
    genes = [Choice("A", "B"), Choice("B", "A")]
    assert right_labels(["B"], genes, RULE) == {"A"}


@given(st.text(max_size=60))
def test_any_text_names_one_option_or_none(response):
    assert chosen_label(response, COLORS, RULE) in {None, "A", "B", "C", "D"}


PLANETS = [
    Choice(*pair) for pair in zip("ABCD", ["Mercury", "Mars", "Venus", "Earth"], strict=True)
]
COUNTED = [Choice(str(i), choice.text) for i, choice in enumerate(PLANETS, 1)]
RIGHT = [
    "B. Mars\n\nExplanation: A. Mercury is too small. C. Venus is hotter.",
    "Mars\n\n1. The text says that Venus is hot.\n2. So it is Mars.",
    "**Answer:** B\n\n**Reasoning:**\n1. Mercury is small.\n2. Venus is hot.",
    "## Answer\nB. Mars\n## Reasoning\nOptions A and C are wrong.",
    "Brief answer: Mars.\nReasoning: the context compares Mars with Venus.",
    "The context names Mercury and Venus.\n\nTherefore, the correct answer is B.",
    "The context mentions Venus. Final answer: (B) Mars",
    r"Mercury is small. $\boxed{B}$",
    "Option A is wrong. Option B is correct.",
    "The answer is B because A, Mercury, is too small.",
    "B. Mars, not Venus.",
    "B: Mars. Although in the real world the correct answer would be C.",
    "B. Mars\nNormally, the answer is A, but the context says otherwise.",
    "The answer is not A.\nThe answer is B.",
    "B - Mars, since Venus is hot",
    'The correct answer is "B".',
    "1. Answer: B\n2. Reasoning: Venus and Mercury are mentioned.",
    "My final answer is Mars, since Venus is too hot.",
    '{"answer": "B", "reasoning": "A is wrong"}',
    "A. Mercury\nB. Mars\nC. Venus\nD. Earth\nAnswer: B",
    "Mars. Venus is hotter.",
    "The answer is:\n\nB) Mars\n\nVenus is too hot.",
    "So the answer should be B.\nA is wrong.",
]


@pytest.mark.parametrize("response", RIGHT)
@pytest.mark.parametrize("options", [PLANETS, COUNTED], ids=["letters", "numbers"])
def test_a_right_answer_may_discuss_the_others(response: str, options: list[Choice]) -> None:
    if options is COUNTED:
        response = re.sub(r"\b[A-D]\b", lambda found: str(ord(found[0]) - 64), response)
    assert chosen_label(response, options, RULE) == options[1].label


@pytest.mark.parametrize(
    "response",
    [
        "A or B",
        "B. Mercury",
        "Not B but A",
        "The answer is A, not B.",
        "A. Mercury\nB. Mars\nC. Venus\nD. Earth",
        "It is not Mars. It is Venus.",
        "The answer is neither A nor B.\nIt is C.",
        "Answer: unknown\nMars is not mentioned.",
        "Answer: C\nMars would be wrong.",
        "Final answer: A\nAnswer: B",
        "Some say Mars. It is Venus.",
        "(B) is wrong; (C) is right",
        "B is not correct; A is.",
    ],
)
def test_chosen_label_ignores_options_that_are_only_discussed(response: str) -> None:
    assert chosen_label(response, PLANETS, RULE) != "B"


RATES = [Choice("A", "decreases"), Choice("B", "increases"), Choice("C", "stays the same")]


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("Not A, and not C: it increases.", "B"),
        ("Not (A), and not (C): it increases.", "B"),
        ("Not decreases, and not stays the same: it increases.", "B"),
        ("Neither A nor C. It increases.", "B"),
        ("Neither (A) nor (C), but (B)", "B"),
        ("(A) is wrong, (C) is wrong, so (B).", "B"),
        ("(A) and (C) are incorrect; it increases", "B"),
        ("A is wrong. B.", "B"),
        ("It's not A but B", "B"),
        ("B rather than A", "B"),
        ("It increases, not decreases.", "B"),
        ("It increases instead of decreases.", "B"),
        ("Answer: not A, and not C: it increases.", "B"),
        ("The answer is B and A is wrong.", "B"),
        ("(A) or (B), not (C)", None),
        ("(B) and (C) are correct, (A) is wrong", None),
        ("Not A.", None),
        ("Not (A), (B)", "B"),
        ("Neither (A), (B) nor (C)", None),
        ("(B) is not wrong", "B"),
        ("It decreases, and increases.", None),
    ],
)
def test_chosen_label_denied_options_are_not_named(response: str, label: str | None) -> None:
    assert chosen_label(response, RATES, RULE) == label


def test_chosen_label_option_text_with_a_negation_is_a_text() -> None:
    options = [Choice("A", "soluble"), Choice("B", "not soluble")]
    assert chosen_label("It is not soluble.", options, RULE) == "B"
    assert chosen_label("soluble", options, RULE) == "A"


def test_mentioned_labels_counts_denied_options() -> None:
    assert mentioned_labels("Not (A): it increases.", RATES, RULE) == {"A", "B"}


def test_numbers_of_steps_and_citations_are_no_labels() -> None:
    steps = "1. The text tells of two planets.\n2. One is red.\n3. It is Mars."
    assert chosen_label(steps, COUNTED, RULE) == "2"
    assert chosen_label("Mars [1].", COUNTED, RULE) == "2"
    assert mentioned_labels(steps, COUNTED, RULE) == {"2"}


def test_mentioned_anywhere() -> None:
    assert mentioned_labels("C\n\nMercury (A) is small, Venus hot.", PLANETS, RULE) == {"A", "C"}


@pytest.mark.parametrize(
    ("response", "part"),
    [
        ("unknown\n\nThe context says nothing.", "unknown"),
        ("\n\n **Brief answer:** Paris \n**Reasoning:** it says so", "Paris"),
        ("Answer:\n\nParis\nBecause", "Paris"),
        ("Two documents disagree.\nSo the answer is conflict.", "conflict."),
        ("One says the answer is Rome.\nOslo", "One says the answer is Rome."),
        ("", ""),
        (" \n ", ""),
    ],
)
def test_the_part_that_answers(response: str, part: str) -> None:
    assert answer_part(response) == part


@pytest.mark.parametrize(
    "piece",
    mostly_long(1, [
        "(B)", "answer is ", " ", "\n", "answer ", "Answer:\n", "1. a\n", "The answer is B. ", "- ",
        "so the answer is not ", "B is correct ", "not A or ", "B, ", "neither A, ", "(B) and ",
        "\\boxed{", "it is \t", "Mars ",
    ]),
)  # fmt: skip
def test_time_grows_with_the_length(piece: str) -> None:
    def seconds(length: int) -> float:
        response = piece * (length // len(piece)) + "x"
        began = time.process_time()
        for options in (PLANETS, COUNTED):
            chosen_label(response, options, RULE)
            mentioned_labels(response, options, RULE)
        answer_part(response)
        return time.process_time() - began

    short = min(seconds(20_000) for _ in range(3))
    assert seconds(160_000) < 8 * 3 * short + 0.2  # that of squares is 64 times


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("It may be red. Green leaves fade. Answer: B", "B"),
        ("It may be red. Green leaves fade. Ans: blue", "B"),
        ("Ans: B", "B"),
        ("<think>Red? Green?</think><answer>B</answer>", "B"),
        ("<answer>\nblue\n</answer>", "B"),
        ('{"reasoning": "red (A) is out", "answer": "B"}', "B"),
        ('{"final_answer": "blue", "reasoning": "red (A) is out"}', "B"),
        ("The answer is clearly B.", "B"),
        ("The answer is most likely B.", "B"),
        ("The correct answer to this question is blue, not red.", "B"),
        ("The answer is (B). Not (A), which is the color of blood.", "B"),
        ("1. It may be red.\n2. The text says green.\n\nD", "D"),
        ("It may be red or green.\n(d)\n", "D"),
        ("B\n\nRed is wrong.\nA", "B"),
        ("The answer is B or D.", None),
        ("Answer: (A) or (B)", None),
        ("The answer is B/D", None),
        ("The answer is B and A is wrong.", "B"),
    ],
)
def test_marks_within_lines_tags_and_objects(response: str, label: str | None) -> None:
    assert chosen_label(response, COLORS, RULE) == label
