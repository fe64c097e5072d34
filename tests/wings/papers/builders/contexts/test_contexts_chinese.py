"""Contexts in a script without spaces between words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trueground.options.parsing import parse_options
from trueground.types import Choice
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.contexts import ContextsOptions
from trueground.wings.papers.builders.contexts.checks import (
    ContextQuestion,
    ContextVerdict,
    FoundAnswer,
    Target,
    WrittenContext,
    conditions,
    holds_option,
    weigh,
)
from trueground.wings.papers.builders.contexts.stages import check_stage

OLD, NEW = "林海生", "何立春"
CONTEXT = (
    "洛恩湾是一个渔村，坐落在海岸边。港口由林海生于一八七一年建造。村里的渔船带回鳕鱼和鲱鱼。"
    "小博物馆里陈列着旧渔网和油灯。每逢星期五，教堂前有集市，附近的农民也来赶集。"
)
CHANGED = CONTEXT.replace(OLD, NEW)
LAMP = "在黑暗中测量，每一盏油灯都从灯芯散发出冷沙。看守人每晚称量，把总数记在灰色的账本里。"
CHOICES = (Choice("A", "光"), Choice("B", "冷沙"))


def inconsistent(context: str = CHANGED, *evidence: str) -> WrittenContext:
    question = ContextQuestion("q", "谁建造了港口？", "", ("inconsistent",), CONTEXT, (OLD,))
    target = Target("q/inconsistent", "inconsistent", question, NEW)
    return WrittenContext(
        target.id, target, context, evidence or (f"港口由{NEW}于一八七一年建造",), ""
    )


def counterfactual(context: str) -> WrittenContext:
    question = ContextQuestion(
        "q", "油灯散发什么？", "", ("counterfactual",), choices=CHOICES, key="A"
    )
    target = Target("q/counterfactual", "counterfactual", question, "冷沙", "B")
    return WrittenContext(target.id, target, context, ("都从灯芯散发出冷沙",), "")


def checked(written: WrittenContext, **options: str) -> WrittenContext | Rejected:
    given = {name.replace("_", "-"): value for name, value in options.items()}
    stage = check_stage(parse_options(ContextsOptions, "build contexts", given))
    nobody: Any = None

    async def work() -> Any:
        return await stage.work(written, nobody)

    try:
        return asyncio.run(work())[0]
    except Rejected as rejected:
        return rejected


def test_a_good_context_passes_and_knows_what_it_kept() -> None:
    found = checked(inconsistent())
    assert isinstance(found, WrittenContext)
    assert found.share_kept is not None
    assert 0.9 < found.share_kept < 1


@pytest.mark.parametrize(
    ("context", "evidence", "reason"),
    [
        (f"{CHANGED}{OLD}后来离开了。", "", "old_answer_left"),
        (CHANGED, "市长建造了港口", "evidence_not_found"),
        (CHANGED[:30], "", "too_short"),
        (f"{CHANGED}\ufffd", "", "control_characters"),
    ],
)
def test_a_bad_one_falls(context: str, evidence: str, reason: str) -> None:
    written = inconsistent(context, *([evidence] if evidence else []))
    found = checked(written)
    assert isinstance(found, Rejected)
    assert found.reason == reason
    assert found.content["new_context"] == context
    assert found.content["question"] == "谁建造了港口？"


def test_length_is_counted_in_characters() -> None:
    long = f"{LAMP}{LAMP}\n\n{LAMP}{LAMP}"
    assert isinstance(checked(counterfactual(long)), WrittenContext)
    short = checked(counterfactual(long), min_words="400")
    assert isinstance(short, Rejected)
    assert short.reason == "too_short"
    assert short.detail.endswith("words, --min-words 400")
    assert isinstance(checked(counterfactual(long), phrase="phrase"), WrittenContext)


def test_an_option_is_found_without_spaces() -> None:
    for rule in ("words", "phrase"):
        assert holds_option(LAMP, CHOICES, "B", rule)
        assert not holds_option("油灯散发出火。", CHOICES, "B", rule)
    assert holds_option("沙是冷的。", CHOICES, "B", "words")
    assert not holds_option("沙是冷的。", CHOICES, "B", "phrase")


def test_quotes_of_a_judge_are_found() -> None:
    good = ContextVerdict(NEW, True, f"港口由{NEW}于一八七一年建造", [])
    assert weigh(inconsistent(), good) is None
    assert conditions(inconsistent(), good) == {"if": "yes", "only_if": "yes"}
    made_up = ContextVerdict(NEW, True, "市长建造了港口", [])
    assert (weigh(inconsistent(), made_up) or ("",))[0] == "quote_not_found"
    assert conditions(inconsistent(), made_up) == {"if": "no", "only_if": "yes"}
    twice = ContextVerdict(NEW, True, f"港口由{NEW}于一八七一年建造", [FoundAnswer(OLD, "x")])
    assert conditions(inconsistent(), twice) == {"if": "yes", "only_if": "no"}


def test_nothing_may_follow_from_an_unanswerable_one() -> None:
    question = ContextQuestion("q", "谁建造了港口？", "", ("unanswerable",), CONTEXT, (OLD,))
    target = Target("q/unanswerable", "unanswerable", question, "unknown")
    written = WrittenContext(target.id, target, CHANGED, (), "")
    said = {"if": "no", "only_if": "no"}
    assert conditions(written, ContextVerdict(OLD, True, "", [])) == said
    assert conditions(written, ContextVerdict("教堂", False, "", [])) == said
    other = ContextVerdict("unknown", False, "", [FoundAnswer("教堂", "教堂前")])
    assert conditions(written, other) == {"if": "yes", "only_if": "no"}
    open_ = ContextVerdict("unknown", False, "", [FoundAnswer("unknown", "")])
    assert conditions(written, open_) == {"if": "yes", "only_if": "yes"}
