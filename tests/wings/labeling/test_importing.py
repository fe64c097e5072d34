"""Several answers to one task: agreed, by majority, tied."""

from __future__ import annotations

from typing import Any

import pytest

from trueground.wings.labeling.answers import Answer, merge
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.kinds import KINDS, AnnotationTask, Tie


def answers(kind: str, *values: dict[str, Any]) -> list[Answer]:
    lists = {"facts", "contexts", "knowledge", "gold_facts", "new_contexts", "new_gold_facts"}
    shown = {name: ["a", "b", "c"] if name in lists else "a" for name in KINDS[kind].shows}
    task = ShownTask.of(AnnotationTask(kind, "x", shown), KINDS[kind], "here")
    return [Answer(task, str(n), each, None, "", "here") for n, each in enumerate(values)]


def test_two_agree() -> None:
    label = merge(answers("contains", {"contains": "yes"}, {"contains": "yes"}))
    assert (label.values, label.how, label.annotators) == (
        {"contains": "yes"},
        {"contains": "agreed"},
        2,
    )
    assert label.disputed == ()


def test_one_alone() -> None:
    label = merge(answers("contains", {"contains": "no"}))
    assert (label.values, label.how, label.disputed) == (
        {"contains": "no"},
        {"contains": "single"},
        (),
    )


@pytest.mark.parametrize(
    ("tie", "values", "how"),
    [
        ("open", {}, "open"),
        ("drop", {}, "open"),
        ("first", {"contains": "yes"}, "tie"),
        ("lowest", {"contains": "no"}, "tie"),
    ],
)
def test_two_disagree(tie: Tie, values: dict[str, Any], how: str) -> None:
    label = merge(answers("contains", {"contains": "yes"}, {"contains": "no"}), tie)
    assert (label.values, label.how, label.disputed) == (values, {"contains": how}, ("contains",))


def test_a_third_decides() -> None:
    votes = [{"contains": vote} for vote in ("no", "yes", "yes")]
    label = merge(answers("contains", *votes), "lowest")
    assert (label.values, label.how) == ({"contains": "yes"}, {"contains": "majority"})
    assert label.disputed == ()


def test_most_votes_are_no_majority() -> None:
    """2 of 5 is the most of three values, but not more than half."""
    votes = [{"support": vote} for vote in ("fully", "fully", "not", "partially", "partially")]
    assert merge(answers("support", *votes)).values == {}
    assert merge(answers("support", *votes), "lowest").values == {"support": "partially"}


def test_each_element_of_a_set_is_voted_on() -> None:
    votes = [{"gold": vote} for vote in (("1", "2"), ("1", "3"), ("1", "2"))]
    label = merge(answers("gold-facts", *votes))
    assert (label.values, label.how) == ({"gold": ["1", "2"]}, {"gold": "majority"})
    assert label.disputed == ()


@pytest.mark.parametrize(
    ("tie", "values"), [("open", {}), ("first", {"gold": ["1", "2"]}), ("lowest", {"gold": ["1"]})]
)
def test_tied_elements(tie: Tie, values: dict[str, Any]) -> None:
    votes = answers("gold-facts", {"gold": ("1", "2")}, {"gold": ("1", "3")})
    label = merge(votes, tie)
    assert (label.values, label.disputed) == (values, ("gold",))


def test_nothing_chosen_is_a_value() -> None:
    label = merge(answers("gold-facts", {"gold": ()}, {"gold": ()}))
    assert label.values == {"gold": []}


def test_scales() -> None:
    votes = [
        {"authenticity": "yes", "relevance": ("1",), "naturalness": n, "significance": s}
        for n, s in ((5, 1), (5, 2), (4, 3))
    ]
    label = merge(answers("quality", *votes), "open")
    assert label.values["naturalness"] == pytest.approx(14 / 3)
    assert label.values["significance"] == 2
    assert (label.how["naturalness"], label.how["significance"]) == ("mean", "mean")
    assert label.disputed == ()
    label = merge(answers("quality", *votes[:2]), "drop")
    assert (label.values["naturalness"], label.values["significance"]) == (5, 1.5)
    assert (label.how["naturalness"], label.disputed) == ("agreed", ())


def test_fields_that_hang_on_another() -> None:
    kept = {"keep": "yes", "minimal": ("1",), "documents": "single", "form": "definite"}
    one = kept | {"span": "by Rowe", "answers": ("Rowe",)}
    two = kept | {"span": "Edda Rowe", "answers": ("rowe", "Edda Rowe"), "form": "free-form"}
    no = {"keep": "no"}
    label = merge(answers("candidate", one, two, no))
    assert label.values == {
        "keep": "yes",
        "minimal": ["1"],
        "documents": "single",
        "span": "by Rowe",
        "answers": ["Rowe", "Edda Rowe"],
    }
    assert label.how == {
        "keep": "majority",
        "minimal": "agreed",
        "documents": "agreed",
        "form": "open",
        "span": "first",
        "answers": "united",
    }
    assert label.disputed == ("form",)
    assert merge(answers("candidate", one, no)).how == {"keep": "open"}
    assert merge(answers("candidate", no, no, one)).values == {"keep": "no"}


def test_an_order_is_needed_for_the_lowest() -> None:
    one = {"keep": "yes", "minimal": ("1",), "documents": "single", "form": "definite", "span": "a"}
    label = merge(answers("candidate", one, one | {"form": "free-form"}), "lowest")
    assert label.how["form"] == "open"
