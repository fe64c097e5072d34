"""Checks without a model: which answers count as left over, and what is drawn."""

from __future__ import annotations

import pytest
from tests.wings.papers.builders.contexts.world import choice_record

from trueground.types import Choice
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.contexts.checks import (
    ContextQuestion,
    Sample,
    alike,
    can_be_joined,
    is_common,
    is_verdict,
    joined,
    left_over,
    says_nothing,
)
from trueground.wings.papers.builders.contexts.plan import document_order
from trueground.wings.papers.builders.contexts.stages import draw_option


@pytest.mark.parametrize("answer", ["yes", "No.", "2", "12", "two", "UK", "third"])
def test_common_answers(answer: str) -> None:
    assert is_common(answer)


@pytest.mark.parametrize("answer", ["1871", "123", "Ede Holm", "東京", "2.5 km"])
def test_answers_that_name_something(answer: str) -> None:
    assert not is_common(answer)


def test_a_common_answer_is_left_over_only_if_it_stands_there_as_often() -> None:
    original = "Two boats. In 2 years 2 mills burnt."
    assert left_over("In 2 years some mills burnt.", original, ["2"]) is None
    assert left_over("In 2 years 2 mills stood.", original, ["2"]) == "2"
    assert left_over("It is so.", original, ["yes"]) is None
    assert left_over("Holm's harbour", "Ede Holm built it", ["Ede Holm", "Holm"]) == "Holm"
    assert left_over("The Holmgren harbour", "Holm built it", ["Holm"]) is None


def test_alike_answers() -> None:
    assert alike("the ede holm", ["Ede Holm"]) == "Ede Holm"
    assert alike("Holm", ["Ede Holm"]) == "Ede Holm"
    assert alike("Holmgren", ["Holm"]) is None


@pytest.mark.parametrize("answer", ["unknown", "Unknown.", "N/A", "none", "", " ", "Not stated"])
def test_no_answers(answer: str) -> None:
    assert says_nothing(answer)
    assert not is_verdict("maybe")


def test_headings_inside_a_document_are_found() -> None:
    assert can_be_joined("A text.\n\nAnother paragraph about a Document: it was long.")
    assert not can_be_joined("A text.\n[Document 2]: more")
    assert joined(" a ", "b\n") == "Document:\na\n\nDocument:\nb"


def draw(name: str, seed: int, choices: list[tuple[str, str]]) -> str:
    options = tuple(Choice(label, text) for label, text in choices)
    source = ContextQuestion(name, "Q?", "", ("counterfactual",), choices=options, key="A")
    return draw_option(Sample(f"{name}/counterfactual", "counterfactual", source), seed).key


def test_a_wrong_option_is_drawn_by_seed_and_id() -> None:
    choices = [("A", "right"), ("B", "x"), ("C", "y"), ("D", "z")]
    drawn = [draw(f"n{number}", 0, choices) for number in range(60)]
    assert set(drawn) == {"B", "C", "D"}
    assert drawn == [draw(f"n{number}", 0, choices[::-1]) for number in range(60)]
    assert drawn != [draw(f"n{number}", 1, choices) for number in range(60)]
    assert choice_record("Aa")["answerKey"] == "A"
    with pytest.raises(Rejected):
        draw("n", 0, [("A", "Right"), ("B", "right")])


def test_the_order_of_documents_is_seeded() -> None:
    orders = [document_order(f"n{number}", 0) for number in range(60)]
    assert 15 < orders.count(("new", "original")) < 45
    assert orders == [document_order(f"n{number}", 0) for number in range(60)]
    assert orders != [document_order(f"n{number}", 1) for number in range(60)]
