"""A function of one claim is a judge, by name and as an object, and can still be called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import trueground as tg
from trueground.errors import ProtocolError, UsageError
from trueground.judges.base import Judge
from trueground.judges.from_functions import FunctionJudge
from trueground.judges.registry import get_judge, judges, kinds
from trueground.types import JudgeRequest, ReasonKind, Status, Verdict

ROWS = [
    {"response": "It is tall.", "contexts": ["Look. It is tall."]},
    {"response": "It is red.", "contexts": ["It is tall."]},
]


@pytest.fixture(autouse=True)
def _forget_judges() -> Iterator[None]:
    before = set(judges)
    yield
    for name in set(judges) - before:
        del judges[name]


def constant_judge(value: Any) -> FunctionJudge[..., Any]:
    @tg.judge(name="mine", version=1)
    def my_function(claim: str, texts: list[str]) -> Any:
        return value

    return my_function


@pytest.mark.parametrize("by_name", [True, False], ids=["by name", "as object"])
def test_judge_decorator_bool_function_scores_records(by_name: bool) -> None:
    @tg.judge
    def verbatim(claim: str, texts: list[str]) -> bool:
        return any(claim in text for text in texts)

    result = tg.score(ROWS, metrics="support", judge="verbatim" if by_name else verbatim)

    assert [item["scores"]["support"] for item in result.evidence] == [1.0, 0.0]
    assert result.summary["support"].mean == 0.5


def test_judge_decorator_function_stays_callable() -> None:
    @tg.judge
    def verbatim(claim: str, texts: list[str]) -> bool:
        """Is it there word for word?"""
        return any(claim in text for text in texts)

    assert verbatim("tall", ["It is tall."]) is True
    assert verbatim.__name__ == "verbatim"
    assert verbatim.__doc__ == "Is it there word for word?"
    assert isinstance(verbatim, Judge)


def test_judge_float_function_threshold_decides() -> None:
    @tg.judge(threshold=0.7)
    def unsure(claim: str, texts: list[str]) -> float:
        return 0.7 if "red" in claim else 0.71

    verdicts = unsure.answer_once([JudgeRequest(row["response"], ("x",)) for row in ROWS])

    assert [verdict.supported for verdict in verdicts] == [True, False]
    assert [verdict.probability for verdict in verdicts] == [0.71, 0.7]
    assert verdicts[1].kind is ReasonKind.BELOW_THRESHOLD
    assert get_judge("unsure(threshold=0.1)").threshold == 0.1


def test_judge_function_gets_question_if_it_names_it() -> None:
    questions: list[str] = []

    @tg.judge(version=1)
    def curious(claim: str, texts: list[str], question: str) -> bool:
        questions.append(question)
        return True

    curious.judge([JudgeRequest("Warsaw.", ("In Warsaw.",), asked="Where?")])

    assert questions == ["Where?"]


@pytest.mark.parametrize("texts", [(), ("",), (" \n", "\t")], ids=["none", "empty", "blank"])
def test_judge_function_without_text_is_not_called(texts: tuple[str, ...]) -> None:
    calls: list[str] = []

    @tg.judge(version=1)
    def eager(claim: str, texts: list[str]) -> bool:
        calls.append(claim)
        return True

    (verdict,) = eager.answer_once([JudgeRequest("It is tall.", texts)])

    assert calls == []
    assert (verdict.supported, verdict.probability) == (False, 0.0)
    assert verdict.reasons == ("no context",)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("yes", r"str \('yes'\)"),
        (None, r"NoneType \(None\)"),
        (1.5, r"float \(1.5\)"),
        (-1, r"int \(-1\)"),
        (float("nan"), r"float \(nan\)"),
        (Verdict(supported=True), "trueground.Verdict"),
    ],
    ids=["text", "none", "above one", "negative", "nan", "verdict"],
)
def test_judge_function_wrong_return_is_named(value: Any, words: str) -> None:
    with pytest.raises(
        ProtocolError,
        match=rf"the judge 'mine': the function my_function\(\) returned {words}; expected True, "
        "False, or a probability from 0 to 1",
    ):
        tg.score(ROWS, metrics="support", judge=constant_judge(value))


@pytest.mark.parametrize(
    ("value", "probability"),
    [(True, 1.0), (0, 0.0), (np.float32(0.25), 0.25), (np.bool_(True), 1.0)],
    ids=["bool", "int", "numpy float", "numpy bool"],
)
def test_judge_function_number_is_probability(value: Any, probability: float) -> None:
    (verdict,) = constant_judge(value).answer_once([JudgeRequest("It is.", ("It is.",))])

    assert verdict.probability == probability


def test_judge_async_function_judges_all_claims() -> None:
    @tg.judge
    async def slow(claim: str, texts: list[str]) -> float:
        await asyncio.sleep(0.01)
        return 1.0 if claim in texts[0] else 0.25

    async def notebook() -> float | None:
        return (await tg.ascore(ROWS, metrics="support", judge=slow)).summary["support"].mean

    assert tg.score(ROWS, metrics="support", judge="slow").summary["support"].mean == 0.625
    assert asyncio.run(notebook()) == 0.625
    assert asyncio.run(slow("tall", ["It is tall."])) == 1.0


def test_judge_function_failing_on_one_claim_is_error_of_that_claim() -> None:
    calls: list[str] = []

    @tg.judge(version=1)
    def picky(claim: str, texts: list[str]) -> bool:
        calls.append(claim)
        if "red" in claim:
            raise ValueError("no colors")
        return True

    verdicts = picky.answer_once([JudgeRequest(row["response"], ("x",)) for row in ROWS])

    assert [verdict.status for verdict in verdicts] == [Status.SCORED, Status.ERROR]
    assert verdicts[1].reasons == ("the judge 'picky' failed: ValueError: no colors",)
    assert len(calls) == 2


def test_judge_function_is_listed_with_its_docstring() -> None:
    @tg.judge
    def verbatim(claim: str, texts: list[str]) -> bool:
        """Is it there word for word?

        More text.
        """
        return True

    (entry,) = [kind for kind in kinds() if kind["name"] == "verbatim"]

    assert entry["doc"] == "Is it there word for word?"


def test_judge_function_signature_has_version_and_threshold() -> None:
    @tg.judge(version="2")
    def mine(claim: str, texts: list[str]) -> bool:
        return True

    @tg.judge
    def other(claim: str, texts: list[str]) -> bool:
        return True

    assert mine.signature == "mine-2|threshold:0.5"
    assert other.signature.startswith("other-")
    assert len(other.basis) == len("other-") + 12


def _always(claim: str, texts: list[str]) -> bool:
    return True


def _no_texts(claim: str) -> bool:
    return True


def _unknown(claim: str, texts: list[str], evidence: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_no_texts, r"the function _no_texts\(\) has no parameter 'texts' without a default"),
        (_unknown, "unknown parameter of the judge _unknown 'evidence'"),
        (tg.testing.FakeJudge, '@tg.judge takes a function; .* @tg.judge\\("name"'),
    ],
    ids=["no texts", "unknown parameter", "class without a name"],
)
def test_judge_unusable_function_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tg.judge(function)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_judge_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(UsageError, match="expected a probability, 0 or more and less than 1"):
        tg.judge(threshold=threshold)(_always)


def test_judge_taken_name_is_refused() -> None:
    def lexical(claim: str, texts: list[str]) -> bool:
        return True

    with pytest.raises(UsageError, match="a judge named 'lexical' exists already"):
        tg.judge(lexical)


def test_judge_defined_again_replaces_itself() -> None:
    cell = "@tg.judge(version={0})\ndef redefined(claim, texts):\n    return {0} == 2\n"
    for value in (1, 2):
        exec(cell.format(value), {"tg": tg, "__name__": "__main__"})

    assert tg.score(ROWS, metrics="support", judge="redefined").summary["support"].mean == 1.0


def test_judge_named_class_is_registered_as_before() -> None:
    @tg.judge("never")
    class Never(tg.testing.FakeJudge):
        def __init__(self) -> None:
            super().__init__(default=0.0)

    assert isinstance(Never(), tg.testing.FakeJudge)
    assert tg.score(ROWS, metrics="support", judge="never").summary["support"].mean == 0.0


def test_score_plain_function_as_judge_is_refused() -> None:
    def mine(claim: str, texts: list[str]) -> bool:
        return True

    with pytest.raises(UsageError, match="judge=mine is a plain function; decorate it with @tg"):
        tg.score(ROWS, judge=mine)  # type: ignore[arg-type]


def test_score_judge_object_without_name_is_refused() -> None:
    class Nameless:
        threshold, signature = 0.5, "1"

        def judge(self, requests: object) -> list[Verdict]:
            return []

    with pytest.raises(UsageError, match="the judge Nameless has no 'name'"):
        tg.score(ROWS, judge=Nameless())  # type: ignore[arg-type]
