"""What fails on one item is that item's status `error`; all others come out as if nothing was.

Failures of every kind are put into every metric, judge and decomposer, in one item of many.
"""

from __future__ import annotations

import asyncio
import json
import pkgutil
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentencex import get_sentence_boundaries
from tests.chaos import ChaosServer
from tests.evaluate.questions_file import number, write_questions
from tests.judges.rule_endpoint import rule_endpoint
from tests.judges.test_judge_contract import BUILDERS

import trueground as tg
from trueground.claims.base import Decomposer
from trueground.claims.registry import decomposers, get_decomposer
from trueground.claims.rules import RuleDecomposer
from trueground.errors import BadRow, BadRowsError, MissingExtraError, UnreachableError, WorkerError
from trueground.evaluate.components import Components
from trueground.evaluate.plan import Plan
from trueground.evaluate.scorer import Scorer
from trueground.execution.processes import WorkerPool
from trueground.judges import comparing, rating
from trueground.judges.base import Judge
from trueground.judges.comparing import comparers
from trueground.judges.registry import get_judge
from trueground.metrics.base import Spec
from trueground.metrics.registry import METRICS
from trueground.records.problems import to_record
from trueground.testing import FakeJudge
from trueground.types import (
    Comparison,
    ComparisonRequest,
    Failure,
    JudgeRequest,
    Rating,
    RatingRequest,
    Record,
    Status,
    Usage,
)

METRICS.load()

MARK = "Zyxomma"  # stands in the item that fails
N = 13


def native_panic() -> BaseException:
    """A panic as native code raises it, which is no Exception."""
    try:
        get_sentence_boundaries("en", "A\u00a0.")
    except BaseException as error:
        return error
    return type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})("index")


def too_deep() -> BaseException:
    def deeper(level: int) -> int:
        return deeper(level + 1)

    try:
        deeper(0)
    except RecursionError as error:
        return error
    raise AssertionError


def too_large() -> BaseException:
    try:
        np.zeros(1 << 60)
    except MemoryError as error:
        return error
    raise AssertionError


FAILURES: list[Callable[[], BaseException]] = [
    lambda: ValueError("odd\nand \0 odd"),
    lambda: OverflowError("math range error"),
    lambda: ZeroDivisionError(),
    lambda: KeyError("x"),
    lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "odd"),
    lambda: AssertionError("x" * 10_000),
    lambda: ExceptionGroup("several", [ValueError("one")]),
    native_panic,
    too_deep,
    too_large,
]
# What ends a run, whatever comes of it.
ENDS: list[Callable[[], BaseException]] = [
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
    MemoryError,
    lambda: UnreachableError("nobody is there"),
    lambda: BaseExceptionGroup("several", [KeyboardInterrupt()]),
]


def record(i: int, marked: bool = False) -> Record:
    """A record with all fields; each has words of its own."""
    name = f"Tower{i}{MARK if marked else ''}"
    row = {
        "id": f"r{i}",
        "question": f"How tall is {name}?",
        "response": f"{name} is {300 + i} metres tall [1] [Q{i}, height: {300 + i}]. It is green.",
        "contexts": [{"text": f"{name} is {300 + i} metres tall. It is red.", "gold": True}],
        "references": [f"{300 + i} metres", "It is tall"],
        "gold_facts": [f"{name} is {300 + i} metres tall.", "It is red."],
        "choices": [{"label": "A", "text": f"{300 + i} metres"}, {"label": "B", "text": "none"}],
        "answerable": bool(i % 2),
        "knowledge": [{"qid": f"Q{i}", "name": name, "height": str(300 + i), "color": "red"}],
        "gold_knowledge": [[f"Q{i}", "height", str(300 + i)]],
        "absent_knowledge": [[f"Q{i}", "color", "red"]],
        "meta": {"sampled": True},
    }
    return to_record(row, None, i)


class Rater:
    name, signature, prompts, spent = "fake", "fake-1", (), Usage()

    def rate(self, requests: Sequence[RatingRequest]) -> list[Rating]:
        return [Rating(float(1 + len(request.response) % 5)) for request in requests]

    def close(self) -> None: ...


class Comparer:
    signature = "fake-1"

    def __init__(self, name: str, values: tuple[str, ...]) -> None:
        self.name, self.values = name, values

    def compare(self, requests: Sequence[ComparisonRequest]) -> list[Comparison]:
        return [Comparison(dict.fromkeys(self.values, 1 / len(r.response))) for r in requests]

    def close(self) -> None: ...


COMPARED = {
    "bertscore": ("precision", "recall", "f1"),
    "bem": ("bem",),
    "faith-critic": ("hallucination",),
    "q2": ("f1", "nli"),
    "llm-correctness": ("llm_correctness",),
    "llm-faithfulness": ("llm_faithfulness",),
    "llm-abstention": ("llm_abstention",),
    "error-category": ("category",),
}


class Failing:
    """A part that fails as soon as the marked item is among what it is asked."""

    def __init__(self, inner: Any, error: Callable[[], BaseException]) -> None:
        self._inner, self._error = inner, error
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _check(self, asked: Sequence[Any]) -> None:
        self.calls += 1
        if MARK in str(asked):
            raise self._error()

    def judge(self, asked: Sequence[Any]) -> Any:
        self._check(asked)
        return self._inner.judge(asked)

    def decompose(self, asked: Sequence[Any]) -> Any:
        self._check(asked)
        return self._inner.decompose(asked)

    def rate(self, asked: Sequence[Any]) -> Any:
        self._check(asked)
        return self._inner.rate(asked)

    def compare(self, asked: Sequence[Any]) -> Any:
        self._check(asked)
        return self._inner.compare(asked)


def scored(
    specs: Sequence[Spec],
    at: int,
    judge: Any = None,
    decomposer: Any = None,
    wrap: Callable[[Any], Any] = lambda part: part,
) -> list[bytes]:
    """The lines of items.jsonl of N records, of which the one `at` is marked."""
    made = {}
    for spec in specs:
        if spec.comparer:
            written = spec.comparer
            name = written.partition(":")[0].partition("(")[0]
            made[written] = comparing.Comparer.adapt(wrap(Comparer(name, COMPARED[name])))
    judges = (Judge.adapt(judge or FakeJudge()),)
    splitter = Decomposer.adapt(decomposer or RuleDecomposer())
    parts = Components(judges, splitter, rating.Rater.adapt(wrap(Rater())), comparers=made)
    found = Scorer(Plan(tuple(specs), parts))([record(i, i == at) for i in range(N)])
    assert np.isnan(found.values).tolist() == (found.status > 0).tolist()
    return found.items.splitlines()


def check_alone(lines: list[bytes], whole: list[bytes], at: int, keys: Sequence[str]) -> None:
    """Only the item `at` differs, and in it only these metrics: status `error`, with a reason."""
    assert [i for i in range(N) if lines[i] != whole[i]] == [at]
    line, before = json.loads(lines[at]), json.loads(whole[at])
    for key, status in line["status"].items():
        if key in keys:
            assert (status, line["scores"][key]) == ("error", None)
        else:
            assert status == before["status"][key]
            assert line["scores"][key] == before["scores"][key]
    assert "failed: " in json.dumps({key: line["evidence"][key] for key in keys[:1]})
    assert len(lines[at]) < 5_000


BESIDE = ["f1", "support", "abstained"]


def failing_metric(spec: Spec, error: Callable[[], BaseException]) -> Spec:
    inner = spec.metric.compute

    def compute(evidence: Any, options: Any) -> Any:
        if any(MARK in response for response in evidence.batch.responses):
            raise error()
        return inner(evidence, options)

    return replace(spec, metric=replace(spec.metric, compute=compute))


def check_metric(name: str, seed: int) -> None:
    random_ = random.Random(f"{name}{seed}")
    at, error = random_.randrange(N), random_.choice(FAILURES)
    text = "rated(rubric=fluency.txt)" if name == "rated" else name
    (spec,) = METRICS.parse_all(text)
    others = [one for one in METRICS.parse_all(BESIDE) if one.metric is not spec.metric]
    judge = FakeJudge()
    whole = scored([spec, *others], at)
    lines = scored([failing_metric(spec, error), *others], at, judge)
    check_alone(lines, whole, at, [spec.key])
    assert len(set(judge.requests)) == len(judge.requests)  # nothing is asked twice


# METEOR needs WordNet.
NAMES = sorted(set(METRICS) - {"meteor"})


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fluency.txt").write_text("Rate {response} from 1 to 5.")


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_fails_alone(name: str) -> None:
    check_metric(name, 0)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_every_metric_fails_alone_in_every_way(name: str) -> None:
    for seed in range(1, 9):
        check_metric(name, seed)


@pytest.mark.parametrize("name", NAMES)
def test_raters_and_comparers_fail_alone(name: str) -> None:
    metric = METRICS[name]
    if not metric.is_asked:
        return
    random_ = random.Random(name)
    error = random_.choice(FAILURES)
    specs = METRICS.parse_all("rated(rubric=fluency.txt)" if name == "rated" else name)
    asked = [b":null" not in line for line in scored(specs, -1)]
    at = random_.choice([i for i in range(N) if asked[i]])
    whole = scored(specs, at)
    lines = scored(specs, at, wrap=lambda part: Failing(part, error))
    check_alone(lines, whole, at, [specs[0].key])


def test_every_comparer_is_known_here() -> None:
    assert set(COMPARED) == set(comparers)


@pytest.mark.parametrize("name", sorted(BUILDERS))
def test_every_judge_fails_alone(name: str, tmp_path: Path) -> None:
    specs = METRICS.parse_all(["grounding_precision", "grounding_recall", "f1"])
    with ExitStack() as stack:
        judge = get_judge(BUILDERS[name](stack, tmp_path), cache=False)
        stack.callback(getattr(judge, "close", lambda: None))
        at = random.Random(name).randrange(N)
        whole = scored(specs, at, judge)
        for error in FAILURES[1::3]:
            lines = scored(specs, at, Failing(judge, error))
            check_alone(lines, whole, at, ["grounding_precision", "grounding_recall"])


def facts(prompt: str) -> str:
    return f"- {prompt.rpartition('Sentence: ')[2].partition(chr(10))[0]}"


@pytest.mark.parametrize("name", ["rules", "llm"])
def test_every_decomposer_fails_alone(name: str) -> None:
    if name == "llm":
        pytest.importorskip("bm25s", reason="the retrieval extra is not installed")
    specs = METRICS.parse_all(["grounding_precision", "grounding_recall", "f1"])
    with ChaosServer(answer=facts) as server, ExitStack() as stack:
        text = name if name == "rules" else f"llm:m(base_url={server.base_url})"
        decomposer = get_decomposer(text, cache=False)
        stack.callback(getattr(decomposer, "close", lambda: None))
        whole = scored(specs, 4, decomposer=decomposer)
        for error in FAILURES[::3]:
            failing = Failing(decomposer, error)
            lines = scored(specs, 4, decomposer=failing)
            check_alone(lines, whole, 4, ["grounding_precision"])
            assert failing.calls < 12  # halved, not one by one


def test_every_decomposer_is_tried() -> None:
    assert set(decomposers) == {"rules", "llm"}


@pytest.mark.parametrize("error", ENDS)
@pytest.mark.parametrize("place", ["judge", "decomposer", "metric"])
def test_what_ends_a_run_ends_it(error: Callable[[], BaseException], place: str) -> None:
    specs = METRICS.parse_all(["grounding_precision"])
    parts: dict[str, Any] = {}
    if place == "metric":
        specs = [failing_metric(specs[0], error)]
    else:
        part = FakeJudge() if place == "judge" else RuleDecomposer()
        parts[place] = Failing(part, error)
    with pytest.raises(type(error())):
        scored(specs, 3, **parts)


@pytest.mark.parametrize(
    ("module", "name", "metrics", "lost"),
    [
        (
            "trueground.text.refusal:REFUSAL_RULES",
            "find",
            ["abstained", "f1", "k_precision(abstain=zero)"],
            ["abstained", "k_precision(abstain=zero)"],
        ),
        ("trueground.metrics.context", "tokenize", ["f1", "support"], ["f1"]),
        (
            "trueground.text:CitedText",
            "triple_sentences",
            ["citation_precision", "f1"],
            None,
        ),
        (
            "trueground.text:CitedText",
            "numbered_sentences",
            ["passage_citation_recall", "f1"],
            None,
        ),
    ],
)
def test_shared_evidence_fails_alone(
    module: str,
    name: str,
    metrics: list[str],
    lost: list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = pkgutil.resolve_name(module)
    inner = getattr(room, name)
    specs = METRICS.parse_all(metrics)
    whole = scored(specs, 5)

    def failing(texts: Any, *more: Any) -> Any:
        if MARK in str(texts):
            raise native_panic()
        return inner(texts, *more)

    monkeypatch.setattr(room, name, failing)
    check_alone(scored(specs, 5), whole, 5, lost or [specs[0].key])


def test_a_reply_that_cannot_be_read_is_not_paid_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The judge fails after its calls, in a batch of which every other reply is good."""
    from trueground.judges import llm

    inner = llm.read_verdict

    def read(reply: str) -> bool | None:
        if "False" in reply:
            raise native_panic()
        return inner(reply)

    monkeypatch.setattr(llm, "read_verdict", read)
    requests = [JudgeRequest(f"Tower {i}.", (f"Tower {i - (i == 7)}.",)) for i in range(20)]
    with rule_endpoint() as server:
        judge: Any = get_judge(f"llm:m(base_url={server.base_url})", cache=False)
        verdicts = Judge.adapt(judge).answer_once(requests)
        judge.close()
        assert server.calls.total() == judge.spent.calls == 20
    assert [v.status for v in verdicts] == [
        Status.ERROR if i == 7 else Status.SCORED for i in range(20)
    ]
    assert "the judge 'llm' failed: PanicException" in verdicts[7].reasons[0]


def test_a_process_tells_what_it_cannot_hand_over() -> None:
    with WorkerPool(1, int) as pool:
        with pytest.raises(WorkerError, match=r"failed: PanicException: .*char boundary"):
            pool.submit(get_sentence_boundaries, "en", "A\u00a0.").result()
        assert pool.submit(int, "3").result() == 3


@pytest.mark.parametrize(
    "error",
    [
        BadRowsError([BadRow("a", 1, None, None, "x", "y")], 1),
        MissingExtraError("it", "hf"),
        UnreachableError("gone"),
    ],
)
def test_errors_come_out_of_a_process_as_they_are(error: Exception) -> None:
    import pickle

    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


@pytest.fixture
def replies() -> Iterator[ChaosServer]:
    odd = {3: "The answer is A\u00a0.", 5: "a\0b", 7: "1, " * 753}
    with ChaosServer(answer=lambda prompt: odd.get(number(prompt), "unknown")) as server:
        yield server


def test_odd_replies_are_scored_and_read_back(replies: ChaosServer, tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 10)
    options = tg.ModelOptions(base_url=replies.base_url)
    run = tmp_path / "run"
    metrics = "k_precision,support,phrase_match_strict"
    result = tg.run("faitheval/unanswerable", "m", out=run, data=data, model_options=options)
    assert [m.scored for m in result.summary.values()] == [10] * len(result.summary)
    again = tg.score(run / "records.jsonl.zst", metrics=metrics, out=tmp_path / "again")
    assert set(again.items["support:status"]) == {"scored", "abstained"}
    assert [line["scores"]["phrase_match_strict"] for line in again.evidence] == [
        line["scores"]["phrase_match_strict"] for line in result.evidence
    ]
    log = (run / "responses.jsonl").read_text()
    assert "a\\\\x00b" in log
    assert "\\u0000" not in log


def test_a_reply_that_cannot_be_scored_is_an_error(
    replies: ChaosServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tg.Record, "MAX_RESPONSE_CHARS", 1_000)
    data = write_questions(tmp_path / "q.jsonl", 10)
    options = tg.ModelOptions(base_url=replies.base_url)
    result = tg.run(
        "faitheval/unanswerable", "m", out=tmp_path / "run", data=data, model_options=options
    )
    assert {m.scored for m in result.summary.values()} == {9}
    (line,) = [line for line in result.evidence if line["id"] == "q7"]
    assert set(line["status"].values()) == {"error"}
    assert "2,259 characters" in str(line["evidence"])


def test_a_failed_text_has_a_reason_everywhere() -> None:
    found = Decomposer.adapt(Failing(RuleDecomposer(), FAILURES[1])).answer_once(
        ["It is red.", MARK, "It is red."]
    )
    assert found[0] == found[2] != []
    assert isinstance(found[1], Failure)
    assert found[1].reason == "the decomposer 'rules' failed: OverflowError: math range error"
