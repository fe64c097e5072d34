"""What the quality report counts, against what can be counted by hand."""

from __future__ import annotations

import json
import random
import time

import pytest
from hypothesis import given, strategies as st

from trueground.wings.papers.builders.base import BuiltDataset
from trueground.wings.papers.builders.quality import (
    BINS,
    NEAR,
    BuiltItem,
    compute_quality,
    group_near,
    group_same,
    summarize,
)


def of(*pieces: BuiltItem, factors: tuple[str, ...] = ()) -> dict:
    found = compute_quality(BuiltDataset({}, pieces, "", factors))
    assert json.loads(json.dumps(found)) == found  # summary.json takes it as it is
    return found


HARBOUR = BuiltItem(
    "1",
    "Who built the harbour of Ostrel?",
    contexts=("The harbour of Ostrel was built by Mira Falk.", "Ostrel lies by the sea."),
    answers=("Mira Falk", "Falk"),
    factors={"task": "a", "popularity": "high"},
    numbers={"gold_facts": 2},
)
CLOCK = BuiltItem(
    "2",
    "When was the clock of Venn mended?",
    contexts=("Venn has a tower.",),
    answers=("1804",),
    factors={"task": "b", "popularity": "high"},
    numbers={"gold_facts": 5},
)
CHOICE = BuiltItem("3", "Which of these is a river?", answers=("the Lom",), factors={"task": "b"})


def test_sizes_and_lengths() -> None:
    found = of(HARBOUR, CLOCK, CHOICE)
    assert found["sizes"] == {
        "items": 3,
        "questions_distinct": 3,
        "contexts": 3,
        "contexts_distinct": 3,
        "answers": 4,
        "words": (6 + 7 + 6) + (9 + 5 + 4),
    }
    question, contexts = found["lengths"]["question"], found["lengths"]["contexts"]
    assert {key: question[key] for key in ("n", "min", "median", "max")} == {
        "n": 3,
        "min": 6.0,
        "median": 6.0,
        "max": 7.0,
    }
    assert question["mean"] == 19 / 3
    assert (contexts["n"], contexts["min"], contexts["max"]) == (2, 4.0, 14.0)
    assert found["lengths"]["contexts_per_item"]["mean"] == 1.0
    assert found["lengths"]["answer"]["n"] == 4
    assert found["numbers"]["gold_facts"]["median"] == 3.5


def test_factors_and_their_table() -> None:
    found = of(HARBOUR, CLOCK, CHOICE, factors=("task", "popularity"))
    assert found["factors"] == {"task": {"a": 1, "b": 2}, "popularity": {"": 1, "high": 2}}
    assert found["crossed"] == [
        {
            "rows": "task",
            "columns": "popularity",
            "counts": {"a": {"": 0, "high": 1}, "b": {"": 1, "high": 1}},
        }
    ]
    one = of(HARBOUR, factors=("task", "popularity"))
    assert one["crossed"] == []  # a table of one value tells nothing


def test_what_question_and_answer_share_with_the_contexts() -> None:
    found = of(HARBOUR, CLOCK, CHOICE)["overlap"]
    # built, harbour, ostrel stand there; of clock, venn, mended one does.
    assert found["question"]["n"] == 2
    assert found["question"]["max"] == 1.0
    assert found["question"]["min"] == pytest.approx(1 / 3)
    assert sum(found["question"]["histogram"]["counts"]) == 2
    assert found["answer"] == {"items": 2, "found": 1}


def test_an_answer_is_found_as_whole_words_only() -> None:
    inside = BuiltItem("1", "q", contexts=("They rowed to Lomar.",), answers=("Lom",))
    spelled = BuiltItem("2", "q", contexts=("The river “LOM” is wide.",), answers=("the Lom.",))
    assert of(inside, spelled)["overlap"]["answer"] == {"items": 2, "found": 1}


def test_the_same_in_other_letters() -> None:
    loud = BuiltItem("9", "WHO built  harbour of Ostrel", contexts=HARBOUR.contexts)
    elsewhere = BuiltItem("4", CLOCK.question, contexts=("Nothing is known.",))
    found = of(HARBOUR, CLOCK, loud, elsewhere, BuiltItem("5", ""), BuiltItem("6", ""))[
        "duplicates"
    ]
    assert found["question"] == {"groups": 2, "items": 2, "examples": [["1", "9"], ["2", "4"]]}
    assert found["contexts"] == {"groups": 1, "items": 1, "examples": [["1", "9"]]}
    assert found["both"] == {"groups": 1, "items": 1, "examples": [["1", "9"]]}


def test_near_questions_share_rare_words_not_a_pattern() -> None:
    names = ("Mira Falk", "Oren Tash", "Lia Brandt", "Per Quill", "Una Dorn")
    texts = [f"in which year did engineer {name} open harbour" for name in names]
    assert group_near(texts, names)["groups"] == 0
    twin = "in which year engineer Mira Falk open harbour"
    found = group_near([*texts, twin], [*names, "twin"])
    assert found == {
        "threshold": NEAR,
        "groups": 1,
        "items": 1,
        "examples": [["Mira Falk", "twin"]],
    }


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6).map(" ".join), max_size=12))
def test_order_does_not_matter_for_doubles(texts: list[str]) -> None:
    ids = [str(number) for number in range(len(texts))]
    there, back = group_near(texts, ids), group_near(texts[::-1], ids[::-1])
    assert (there["groups"], there["items"]) == (back["groups"], back["items"])
    assert group_same(texts, ids)["items"] == len(texts) - len(set(texts))


def test_work_for_doubles_grows_with_the_questions() -> None:
    """Four thousand questions of six words in any order, and one pattern for all of them."""
    rng = random.Random(0)
    vocabulary = [f"w{number}" for number in range(12)]
    texts = [" ".join([*rng.sample(vocabulary, 6), str(number)]) for number in range(4_000)]
    texts += [" ".join(rng.choices(vocabulary, k=8)) for _ in range(4_000)]
    begun = time.process_time()
    group_near(texts, [str(number) for number in range(8_000)])
    assert time.process_time() - begun < 4


def test_judges() -> None:
    said = [True, True, False, True, None]
    pieces = [
        BuiltItem(str(n), f"q{n}", factors={"task": "ab"[n % 2]}, answerable=judge)
        for n, judge in enumerate(said)
    ]
    found = of(*pieces, BuiltItem("x", "q"), factors=("task",))
    assert found["answerable"] == {
        "asked": 4,
        "yes": 3,
        "by": {"task": {"a": {"asked": 2, "yes": 1}, "b": {"asked": 2, "yes": 2}}},
    }
    assert of(HARBOUR)["answerable"] is None
    assert found["human"] is None
    assert compute_quality(BuiltDataset({}, [], "", human={"kinds": []}))["human"] == {"kinds": []}


def test_words_of_scripts_without_spaces() -> None:
    chinese = BuiltItem("1", "谁建了港口", contexts=("港口由米拉建造。",), answers=("米拉",))
    found = of(chinese)
    assert found["lengths"]["question"]["mean"] == 5
    assert found["lengths"]["contexts"]["mean"] == 7
    assert found["lengths"]["answer"]["mean"] == 2
    assert found["sizes"]["words"] == 12


def test_nothing_is_left() -> None:
    found = of()
    assert found["items"] == 0
    assert found["lengths"]["question"] is None
    assert found["overlap"] == {"question": None, "answer": {"items": 0, "found": 0}}


@given(st.lists(st.integers(-50, 5_000), min_size=1))
def test_every_number_is_in_one_bin(values: list[int]) -> None:
    found = summarize(values)
    edges, counts = found["histogram"]["edges"], found["histogram"]["counts"]
    assert len(edges) == len(counts) + 1 <= BINS + 1
    assert edges[0] == min(values)
    assert edges[-1] > max(values)
    for low, high, count in zip(edges, edges[1:], counts, strict=False):
        assert count == sum(low <= value < high for value in values)
    assert sum(counts) == len(values)


def test_bins_of_shares_and_of_nothing() -> None:
    found = summarize([0.0, 0.5, 1.0, 1.0], 0.0, 1.0)
    assert found["histogram"]["counts"] == [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2]
    assert summarize([]) is None
