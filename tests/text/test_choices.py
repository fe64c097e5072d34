"""Which option a response names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueground.text.choices import chosen_label, right_labels
from trueground.text.normalize import get_normalizer
from trueground.types import Choice

RULE = get_normalizer("faitheval").rule
COLOURS = [Choice("A", "red"), Choice("B", "blue"), Choice("C", "light blue"), Choice("D", "green")]
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
        ("light blue, not blue", None),
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
    assert chosen_label(response, COLOURS, RULE) == label


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
    assert right_labels(references, COLOURS, RULE) == labels


def test_a_text_that_looks_like_a_label_is_a_text_first():
    genes = [Choice("A", "B"), Choice("B", "A")]
    assert right_labels(["B"], genes, RULE) == {"A"}


@given(st.text(max_size=60))
def test_any_text_names_one_option_or_none(response):
    assert chosen_label(response, COLOURS, RULE) in {None, "A", "B", "C", "D"}
