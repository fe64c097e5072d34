"""A component that returns the wrong type is an error that names it, what came and what was due."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import trueground as tg
from trueground.claims.base import Decomposed, Decomposer
from trueground.errors import ProtocolError, UsageError
from trueground.judges.base import Judge
from trueground.judges.comparing import Comparer
from trueground.judges.rating import Rater
from trueground.metrics.batch import Column
from trueground.metrics.context import BatchContext
from trueground.metrics.registry import METRICS
from trueground.models.component import SyncRequestRunner
from trueground.types import (
    Claim,
    Comparison,
    ComparisonRequest,
    Failure,
    JudgeRequest,
    Rating,
    RatingRequest,
    Status,
    Verdict,
)

ROWS = [
    {"id": f"r{i}", "response": f"The tower is {i} m tall.", "contexts": ["The tower is 3 m tall."]}
    for i in range(4)
]
REQUESTS = [JudgeRequest(f"The tower is {i} m tall.", ("It is 3 m tall.",)) for i in range(2)]
Answers = Callable[[Sequence[Any]], Any]


class Component:
    """A judge, decomposer, rater and comparer; a function makes its answers of the requests."""

    name, signature, threshold, values = "mine", "mine-1", 0.5, ("value",)

    def __init__(self, answers: Answers) -> None:
        self.judge = self.decompose = self.rate = self.compare = answers

    def close(self) -> None: ...


def each(answer: object) -> Answers:
    return lambda requests: [answer for _ in requests]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (each(True), r"answer 1 of 2: found bool \(True\); expected trueground.Verdict"),
        (each(0.5), r"answer 1 of 2: found float \(0.5\); expected trueground.Verdict"),
        (lambda _: None, "returned NoneType .* expected a list of 2 verdicts"),
        (lambda _: (Verdict() for _ in range(2)), "returned generator; expected a list"),
        (lambda requests: dict.fromkeys(requests), "returned dict"),
        (lambda _: "ok", r"returned str \('ok'\)"),
        (lambda _: [], "returned 0 verdicts for 2 requests"),
        (each(Verdict(supported="yes")), r"`supported` .* is str \('yes'\); expected bool or None"),
        (each(Verdict(supported=np.bool_(True))), "`supported` .* is numpy.bool"),
        (each(Verdict(supported=False, reasons="no")), r"`reasons` .* is str \('no'\)"),
        (each(Verdict()), "supported=None with the status scored"),
        (
            each(Verdict(supported=True, status=Status.ERROR)),
            "supported=True with the status error",
        ),
        (each(Verdict(supported=True, probability=3.0)), "the probability 3.0; expected 0 to 1"),
        (each(Verdict(supported=True, probability=float("nan"))), "the probability nan"),
    ],
)
def test_judge_wrong_answer_is_named(answers: Answers, words: str) -> None:
    with pytest.raises(ProtocolError, match=f"the judge 'mine'.* ?{words}"):
        Judge.adapt(Component(answers)).answer_once(REQUESTS)


def test_judge_of_score_wrong_answer_ends_the_run() -> None:
    with pytest.raises(ProtocolError, match=r"the judge 'mine', answer 1 of 4: found bool"):
        tg.score(ROWS, judge=Component(each(True)))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (lambda _: None, "returned NoneType .* expected a list of 2 lists of claims"),
        (lambda texts: list(texts), "answer 1 of 2: found str .* expected a list of"),
        (lambda texts: [[text] for text in texts], "found str .* expected trueground.Claim"),
        (each([Claim("It is tall.", 0, "x")]), r"`end` .* is str \('x'\); expected int"),
        (lambda _: [[]], "returned 1 lists of claims for 2 requests"),
    ],
)
def test_decomposer_wrong_answer_is_named(answers: Answers, words: str) -> None:
    with pytest.raises(ProtocolError, match=f"the decomposer 'mine'.* ?{words}"):
        Decomposer.adapt(Component(answers)).answer_once(["It is tall.", "It is old."])


def test_decomposer_claims_and_failures_pass() -> None:
    answers: list[Decomposed] = [[Claim("It is tall.", 0, 11)], Failure(Status.ERROR, "no")]
    decomposer = Decomposer.adapt(Component(lambda _: answers))
    assert decomposer.answer_once(["It is tall.", "It is old."]) == answers


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (each(4), r"found int \(4\); expected trueground.Rating"),
        (each(Rating("4")), r"`value` .* is str \('4'\); expected float or None"),
        (lambda _: None, "expected a list of 1 ratings"),
    ],
)
def test_rater_wrong_answer_is_named(answers: Answers, words: str) -> None:
    rater: Any = Component(answers)
    with pytest.raises(ProtocolError, match=f"the rater 'mine'.* ?{words}"):
        Rater.adapt(rater).answer_once([RatingRequest("fluency", "It is tall.")])


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (each({"value": 1.0}), "found dict .* expected trueground.Comparison"),
        (each(Comparison({"value": "high"})), "`values` .* expected"),
        (each(Comparison({"other": 1.0})), r"gave the values \['other'\]"),
        (lambda _: 0, r"returned int \(0\)"),
    ],
)
def test_comparer_wrong_answer_is_named(answers: Answers, words: str) -> None:
    with pytest.raises(ProtocolError, match=f"the comparer 'mine'.* ?{words}"):
        Comparer.adapt(Component(answers)).answer_once(
            [ComparisonRequest("It is tall.", ("It is.",))]
        )


class Model:
    name, signature, cacheable, concurrency = "mine", "mine-1", False, 1

    def __init__(self, reply: object) -> None:
        self.reply = reply

    async def generate(self, _request: tg.ChatRequest) -> Any:
        return self.reply

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("yes", r"the model 'mine': found str \('yes'\); expected trueground.Reply"),
        (None, "the model 'mine': found NoneType"),
        (tg.Reply(text=3), r"`text` of this trueground.Reply is int \(3\); expected str"),
    ],
)
def test_model_wrong_reply_is_named(reply: object, words: str) -> None:
    asker = SyncRequestRunner(Model(reply), cache=False)
    with pytest.raises(ProtocolError, match=words):
        asker.run_all([tg.ChatRequest((tg.Message("user", "Is it?"),))])
    asker.close()


@pytest.fixture
def register() -> Iterator[Callable[[Any], str]]:
    """Registers a metric that returns what a function makes of its batch, and forgets it."""

    def registered(compute: Any) -> str:
        tg.metric("mine", doc="A metric of a test.")(lambda context, _: compute(context))
        return "mine"

    yield registered
    del METRICS["mine"]


def ones(context: BatchContext) -> np.ndarray[Any, Any]:
    return np.ones(len(context.batch))


@pytest.mark.parametrize(
    ("compute", "words"),
    [
        (lambda context: [1.0] * len(context.batch), "returned list .* expected a Column of 4"),
        (ones, "returned numpy.ndarray"),
        (lambda _: None, "returned NoneType"),
        (lambda _: Column.of([1.0]), r"values have shape \(1,\); expected a Column of 4 items"),
        (lambda context: Column.of(["a"] * len(context.batch)), "got list .*could not convert"),
        (lambda context: Column(ones(context).astype(str), ones(context).astype(int)), "<U"),
        (lambda context: Column(ones(context), ["scored"] * 4), "status are list"),
        (lambda context: Column(ones(context), (200 * ones(context)).astype(int)), "status 200"),
        (lambda context: Column(ones(context), 0 * ones(context).astype(int), [None]), "1 notes"),
    ],
)
def test_metric_wrong_column_is_named(
    register: Callable[[Any], str], compute: Any, words: str
) -> None:
    name = register(compute)
    with pytest.raises(ProtocolError, match=f"the metric 'mine'.*{words}"):
        tg.score(ROWS, metrics=name)


def test_metric_nan_is_the_status_error_of_its_item(register: Callable[[Any], str]) -> None:
    """What fails on one item ends no run."""

    def compute(context: BatchContext) -> Column:
        values = ones(context)
        values[["0 m" in text for text in context.batch.responses]] = np.nan
        return Column.of(values)

    result = tg.score(ROWS, metrics=register(compute))
    entry = result.summary.raw["metrics"]["mine"]
    assert (entry["mean"], entry["unscored"]) == (1.0, {"error": 1})
    assert "Column.without" in result.evidence[0]["evidence"]["mine"]["reason"]


class Nameless:
    signature, threshold = "mine-1", 0.5

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        return [Verdict(supported=True) for _ in requests]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"judge": Nameless()}, "the judge .*Nameless has no 'name'; a judge has name, "),
        ({"judge": Component}, r"judge=Component is a class; expected an object: Component\(\)"),
        ({"judge": 3}, "the judge int has no 'name'"),
        ({"judge": [3]}, "the judge int has no 'name'"),
        ({"decomposer": 3}, "the decomposer int has no 'name'"),
        ({"rater": 3}, "the rater int has no 'name'"),
        ({"progress": "yes"}, r"progress=str \('yes'\); expected True, False, or a function"),
    ],
)
def test_score_object_that_is_no_component_is_refused(options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tg.score(ROWS, **options)


@pytest.mark.parametrize("member", ["name", "signature"])
def test_judge_member_of_another_type_is_refused(member: str) -> None:
    judge = Component(each(Verdict(supported=True)))
    setattr(judge, member, None)
    with pytest.raises(UsageError, match=f"'{member}' is NoneType .* expected a text"):
        tg.score(ROWS, judge=judge)


def test_judge_of_a_plugin_without_a_name_is_refused() -> None:
    from trueground.judges.registry import judges

    tg.judge("nameless")(Nameless)
    try:
        with pytest.raises(UsageError, match="has no 'name'"):
            tg.score(ROWS, judge="nameless")
    finally:
        del judges["nameless"]


def test_run_model_that_is_no_model_is_refused(tmp_path: Any) -> None:
    with pytest.raises(UsageError, match="the model int has no 'name'; a model has name, "):
        tg.run("faitheval/unanswerable", 3, out=tmp_path / "run")


def test_progress_true_draws_bars_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    tg.score(ROWS, metrics="k_precision", progress=True)
    drawn = capsys.readouterr()
    assert drawn.out == ""
    assert "checking rows" in drawn.err
    assert "4/4" in drawn.err


@pytest.mark.parametrize("quiet", [False, None])
def test_progress_off_prints_nothing(quiet: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tg.score(ROWS, metrics="k_precision", progress=quiet)
    assert capsys.readouterr().err == ""


def test_progress_function_is_called_with_phase_done_and_total() -> None:
    calls: list[tuple[str, int, int | None]] = []
    tg.score(ROWS, metrics="k_precision", progress=lambda *call: calls.append(call))
    assert ("score", 4, 4) in calls
