"""The conflicting version: changed everywhere, nothing else changed, and the answer follows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.grounding.stages import (
    FACTS,
    MATERIAL,
    ORIGINAL,
    OTHER,
    PAIR,
    TEXT,
    done,
    reason,
)

from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.grounding.conflict import conflict_stage
from trueground.wings.papers.builders.grounding.facts import FactJudge
from trueground.wings.papers.builders.grounding.items import AtomicFact, Context, OriginalInstance

STAGE = conflict_stage(MATERIAL, FactJudge("lexical"))


def revision(old: str = "1820", new: str = "1911", **changes: Any) -> dict[str, Any]:
    """A sound reply, and what is wrong with it."""

    def changed(text: str) -> str:
        return text.replace(old, new)

    made = {
        "changes": [{"old": old, "new": new, "type": "date"}],
        "question": changed(PAIR.question),
        "answer": changed(PAIR.answer),
        "answers": ["1911"],
        "contexts": [changed(TEXT), OTHER],
        "facts": [changed(FACTS[0].text), FACTS[2].text],
    }
    return made | changes


def judge(
    contradictions: Any = (), answerable: bool = True, answer: str = "1911", others: Any = ()
) -> Any:
    def say(text: str) -> Any:
        if '"contradictions"' in text:
            return {"contradictions": list(contradictions)}
        return {"answerable": answerable, "answer": answer, "others": list(others)}

    return say


def falls(made: dict[str, Any], says: Any = None, item: OriginalInstance = ORIGINAL) -> str:
    return reason(STAGE, item, writer=lambda _: made, judge=says or judge())


def test_a_sound_revision_is_kept_with_titles_and_order() -> None:
    made = done(STAGE, ORIGINAL, writer=lambda _: revision(), judge=judge()).conflict
    assert made.answers == ("1911",)
    assert [one.title for one in made.contexts] == ["Brill Lock", "Osk Canal"]
    assert made.contexts[0].text == TEXT.replace("1820", "1911")
    assert made.gold == ("Brill Lock was opened in 1911.", FACTS[2].text)


CASES = {
    "nothing changed": (revision(new="1820", answers=["1911"]), "unchanged"),
    "a phrase that never stood there": (
        revision(changes=[{"old": "1790", "new": "1911", "type": "date"}]),
        "not_in_original",
    ),
    "old knowledge in the second sentence": (
        revision(contexts=[TEXT.replace("1820", "1911", 1), OTHER]),
        "old_left",
    ),
    "old knowledge in a gold fact": (
        revision(facts=[FACTS[0].text, FACTS[2].text]),
        "gold_unchanged",
    ),
    "old knowledge in the answer": (revision(answer="It was opened in 1820."), "old_left"),
    "new knowledge only in part of the places": (
        revision(
            facts=["Brill Lock was opened long ago.", FACTS[2].text],
        ),
        "new_missing",
    ),
    "another sentence in other words": (
        revision(contexts=[TEXT.replace("1820", "1911").replace("Barges", "Boats"), OTHER]),
        "other_changed",
    ),
    "sentences added": (
        revision(
            contexts=[
                TEXT.replace("1820", "1911")
                + " In the year 1911 a great crowd came from every village around to see the water"
                " rise, and a brass band played on the bridge until the night fell.",
                OTHER,
            ]
        ),
        "other_changed",
    ),
    "a few words added to an untouched context": (
        revision(contexts=[TEXT.replace("1820", "1911"), f"{OTHER} Yes."]),
        "other_changed",
    ),
    "too many words added to touched sentences": (
        revision(
            contexts=[
                TEXT.replace("1820", "1911").replace("too", "too, as is quite often told"),
                OTHER,
            ]
        ),
        "other_changed",
    ),
    "too many words lost in touched sentences": (
        revision(
            contexts=[TEXT.replace("1820", "1911").replace(" and is 30 metres long", ""), OTHER]
        ),
        "other_changed",
    ),
    "a fact that was not touched in other words": (
        revision(facts=["Brill Lock was opened in 1911.", "Osk Canal goes to the sea."]),
        "other_changed",
    ),
    "the old answer among the new": (revision(answers=["1911", "the 1820"]), "old_left"),
    "an answer that stands nowhere": (revision(answers=["1950"]), "answer_not_in_context"),
    "too few contexts": (revision(contexts=[TEXT]), "wrong_fields"),
    "too many facts": (revision(facts=["a b", "c d", "e f"]), "wrong_fields"),
    "an unknown type": (
        revision(changes=[{"old": "1820", "new": "1911", "type": "year"}]),
        "wrong_fields",
    ),
    "no change named": (revision(changes=[]), "wrong_fields"),
    "a blank context": (revision(contexts=[" ", OTHER]), "wrong_fields"),
    "an answer that cannot be written": (revision(answers=["|"], answer="|"), "wrong_fields"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_caught_without_a_model(case: str) -> None:
    made, expected = CASES[case]

    def never(_: str) -> Any:
        raise AssertionError("the judge was asked")

    assert falls(made, never) == expected


def test_a_phrase_that_stands_in_a_title_cannot_be_changed() -> None:
    made = revision(
        old="Brill Lock", new="Marl Lock", answers=["1820"], question="When was Marl Lock opened?"
    )
    made["contexts"][1] = OTHER.replace("Brill Lock", "Marl Lock")
    made["facts"][1] = FACTS[2].text.replace("Brill Lock", "Marl Lock")
    assert falls(made) == "old_left"


def test_a_gold_fact_that_says_more_than_the_new_context_is_caught() -> None:
    made = revision(facts=["Brill Lock was opened in 1911 by Queen Ilva of Marl.", FACTS[2].text])
    assert falls(made) in ("other_changed", "fact_not_in_context")


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (judge([{"quote": "Barges pay no toll", "why": "no"}]), "contradiction"),
        (judge([{"quote": "Barges pay double", "why": "no"}]), "wrong_fields"),
        (judge([{"quote": "", "why": "no"}]), "wrong_fields"),
        (judge(answerable=False), "does_not_follow"),
        (judge(answer="1820"), "does_not_follow"),
        (judge(answer=""), "does_not_follow"),
        (judge(answer="1700"), "does_not_follow"),
        (judge(others=["1700"]), "other_answer"),
    ],
)
def test_what_the_judge_finds_drops_the_pair(says: Any, expected: str) -> None:
    assert falls(revision(), says) == expected


def test_another_form_of_the_new_answer_is_no_other_answer() -> None:
    says = judge(answer="in the year 1911", others=["In 1911"])
    assert done(STAGE, ORIGINAL, writer=lambda _: revision(), judge=says).conflict is not None


def test_a_negation_may_hold_the_old_words() -> None:
    pair = msgspec.structs.replace(
        PAIR, question="Do barges pay a toll on Sundays?", answer="No.", answers=("No",)
    )
    fact = msgspec.structs.replace(FACTS[0], text="Barges pay no toll on Sundays.")
    item = OriginalInstance("p1", pair, (fact,), (0,))
    made = {
        "changes": [{"old": "pay no toll", "new": "pay no toll but a fee", "type": "negation"}],
        "question": pair.question,
        "answer": "Yes, a fee.",
        "answers": ["Yes"],
        "contexts": [TEXT.replace("pay no toll", "pay no toll but a fee"), OTHER],
        "facts": ["Barges pay no toll but a fee on Sundays."],
    }
    assert done(STAGE, item, writer=lambda _: made, judge=judge(answer="Yes")).conflict is not None


def test_a_choice_between_two_may_leave_both_names_in_the_text() -> None:
    text = "Ilva is 30 years old. Marl is 40 years old."
    context = msgspec.structs.replace(PAIR.contexts[0], text=text)
    pair = msgspec.structs.replace(
        PAIR,
        question="Who is older?",
        answer="Marl is older.",
        answers=("Marl",),
        contexts=(context,),
    )
    facts = tuple(
        msgspec.structs.replace(FACTS[0], text=said)
        for said in ("Ilva is 30 years old.", "Marl is 40 years old.")
    )
    item = OriginalInstance("p1", pair, facts, (0, 1))
    made = {
        "changes": [
            {"old": "30", "new": "40", "type": "number"},
            {"old": "40", "new": "30", "type": "number"},
        ],
        "question": pair.question,
        "answer": "Ilva is older.",
        "answers": ["Ilva"],
        "contexts": ["Ilva is 40 years old. Marl is 30 years old."],
        "facts": ["Ilva is 40 years old.", "Marl is 30 years old."],
    }
    kept = done(STAGE, item, writer=lambda _: made, judge=judge(answer="Ilva"))
    assert kept.conflict.answers == ("Ilva",)
    half = made | {"contexts": ["Ilva is 40 years old. Marl is 40 years old."]}
    assert falls(half, item=item) == "old_left"


CHINESE = "灯塔建于1820年。灯塔高三十米。"


def chinese(new: str) -> tuple[OriginalInstance, dict[str, Any]]:
    """A pair without spaces between words, and a revision of its contexts."""
    pair = msgspec.structs.replace(
        PAIR,
        question="灯塔有多高？",
        answer="灯塔高三十米。",
        answers=("三十米",),
        contexts=(Context("d", "灯塔", CHINESE),),
        documents="single",
    )
    item = OriginalInstance("p1", pair, (AtomicFact("灯塔高三十米。", 0, 1),), (0,), (0,))
    return item, {
        "changes": [{"old": "三十米", "new": "五十二米", "type": "number"}],
        "question": pair.question,
        "answer": "灯塔高五十二米。",
        "answers": ["五十二米"],
        "contexts": [new],
        "facts": ["灯塔高五十二米。"],
    }


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("灯塔建于1820年。灯塔高五十二米。", None),
        ("灯塔建于1820年。灯塔高五十二米，不是三十米。", "old_left"),
        ("灯塔建于1911年。灯塔高五十二米。", "other_changed"),
        ("灯塔建于1820年。灯塔高五十二米，从海上很远的地方就能看见。", "other_changed"),
    ],
)
def test_a_script_without_spaces(new: str, expected: str | None) -> None:
    item, made = chinese(new)
    found = judge(answer="五十二米")
    if expected is not None:
        assert falls(made, found, item) == expected
        return
    kept = done(STAGE, item, writer=lambda _: made, judge=found)
    assert kept.conflict.contexts[0].text == new


def test_what_was_refused_can_be_looked_at() -> None:
    with pytest.raises(Rejected) as rejected:
        done(STAGE, ORIGINAL, writer=lambda _: revision(answer="In 1820."), judge=judge())
    content = msgspec.to_builtins(rejected.value.content)
    assert content["answer"] == "In 1820."
    assert content["contexts"][0]["text"] == TEXT.replace("1820", "1911")


def test_a_quotation_may_have_other_marks() -> None:
    said = [{"quote": "“The keeper’s house\n was finished…”", "why": "It cannot be."}]
    with pytest.raises(Rejected) as rejected:
        done(STAGE, ORIGINAL, writer=lambda _: revision(), judge=judge(said))
    assert rejected.value.reason == "contradiction"


def test_a_copied_title_line_is_no_part_of_a_context() -> None:
    new = TEXT.replace("1820", "1911")
    made = revision(contexts=[f"Title: Brill Lock\n\n{new}", f"Osk Canal\n{OTHER}"])
    kept = done(STAGE, ORIGINAL, writer=lambda _: made, judge=judge()).conflict
    assert [one.text for one in kept.contexts] == [new, OTHER]
