"""What judging costs is told run by run, session by session; what is of no use is not asked."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import ChaosServer

import trueground as tg
from trueground.benchmarks.base import Sources, get_benchmark
from trueground.errors import RunInterrupted
from trueground.evaluate.components import Components
from trueground.evaluate.run_settings import RunSettings
from trueground.evaluate.task_run import TaskRun
from trueground.models.replay import named_fake
from trueground.runs.directory import MANIFEST
from trueground.testing import FakeDecomposer, FakeJudge
from trueground.types import Claim, Failure, JudgeRequest, Record, Status, Usage, Verdict


class Asking(FakeJudge):
    """Costs one call for each request; may stop midway, may fail to keep what it paid for."""

    def __init__(self, stop_after: int | None = None, problem: str | None = None) -> None:
        super().__init__(default=1.0)
        self.spent = Usage()
        self.problem = problem
        self._stop_after = stop_after

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        self.spent += Usage(len(requests), 10 * len(requests), len(requests), 0)
        if self._stop_after is not None and self.spent.calls >= self._stop_after:
            raise RunInterrupted("stopped")
        return super().judge(requests)


def asked(tmp_path: Path, judge: Asking, name: str) -> dict[str, Any]:
    """The manifest of a run whose claims this judge checks."""
    data = tmp_path / "data.jsonl"
    rows = [{"qid": str(i), "question": f"Who {i}?", "context": f"It is {i}."} for i in range(70)]
    lines = (json.dumps(row | {"answers": ["unknown"], "subset": "s"}) for row in rows)
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = get_benchmark("faitheval").prepare("unanswerable", {}, Sources(data))
    task = dataclasses.replace(task, metrics=("support",), headline="support")
    out = tmp_path / name
    model = named_fake("The tower is tall.")
    with contextlib.suppress(RunInterrupted):
        settings = RunSettings(components=Components.make(judge), cache=False)
        TaskRun(task, model, settings).run(out)
    found: dict[str, Any] = json.loads((out / MANIFEST).read_text())
    return found


def test_runs_that_share_a_judge_tell_each_its_own(tmp_path: Path) -> None:
    judge = Asking()
    first, second = (asked(tmp_path, judge, name)["judging"] for name in ("a", "b"))
    assert first == second
    assert first["calls"] + second["calls"] == judge.spent.calls > 0
    assert first["tokens"] == {"in": 10 * first["calls"], "out": first["calls"]}


def test_a_resumed_run_adds_what_earlier_sessions_paid(tmp_path: Path) -> None:
    broken = Asking(stop_after=1)
    before = asked(tmp_path, broken, "a")
    assert (before["status"], before["judging"]["calls"]) == ("interrupted", broken.spent.calls)
    judge = Asking()
    after = asked(tmp_path, judge, "a")
    assert after["status"] == "finished"
    assert after["judging"]["calls"] == broken.spent.calls + judge.spent.calls


def test_what_could_not_be_kept_is_told(tmp_path: Path) -> None:
    problem = "the cache is full"
    assert asked(tmp_path, Asking(problem=problem), "a")["cache_problem"] == problem
    rows = [{"response": "x", "contexts": ["x"]}]
    judge = Asking(problem=problem)
    assert tg.score(rows, metrics="support", judge=judge, out=tmp_path / "s").note == problem
    assert json.loads((tmp_path / "s" / MANIFEST).read_text())["cache_problem"] == problem


REFUSAL = {"id": "r", "response": "I don't know.", "contexts": ["c"], "gold_facts": ["g"]}
ANSWER = {"id": "a", "response": "p|q", "contexts": ["c"], "gold_facts": ["g"]}


class Counting(FakeDecomposer):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def decompose(self, texts: Sequence[str]) -> list[list[Claim]]:
        self.seen += texts
        return super().decompose(texts)


def test_nobody_is_paid_for_verdicts_on_refusals_that_no_metric_counts() -> None:
    judge, decomposer = Asking(), Counting()
    result = tg.score(
        [REFUSAL, ANSWER], metrics="grounding_f1,support", judge=judge, decomposer=decomposer
    )
    assert {request.claim for request in judge.requests} == {"p", "q", "g"}
    assert all(request.texts != ("I don't know.",) for request in judge.requests)
    assert decomposer.seen == ["p|q"]
    item = result.evidence[0]
    assert item["status"] == {"grounding_f1": "abstained", "support": "abstained"}
    assert item["evidence"] == {}
    free = tg.score([REFUSAL, ANSWER], metrics="grounding_f1,support", judge=FakeJudge())
    assert free.evidence[0]["status"] == item["status"]


def test_a_metric_that_counts_refusals_has_them_judged() -> None:
    judge = Asking()
    metrics = "support,grounding_precision(abstain=as_is)"
    result = tg.score([REFUSAL], metrics=metrics, judge=judge, decomposer=FakeDecomposer())
    assert [request.claim for request in judge.requests] == ["I don't know."]
    assert result.summary["grounding_precision(abstain=as_is)"].mean == 1.0


def test_answers_that_never_came_are_no_agreement() -> None:
    lost = tg.types.Answered(
        id="x",
        response="",
        contexts=[tg.types.Passage("c")],
        gold_facts=["g"],
        failure=Failure(Status.ERROR, "the call failed"),
    )
    found: list[Record] = [lost, Record(id="y", response="y", gold_facts=["g"])]
    judges = [FakeJudge({"g": 1.0}), FakeJudge({"g": 0.0})]
    result = tg.score(found, metrics="grounding_recall", judge=judges)
    (entry,) = result.summary.raw["judge_agreement"]
    assert (entry["n"], entry["agreement"]) == (1, 0.0)


def test_facts_that_are_the_same_but_for_spaces_count_once() -> None:
    judge = FakeJudge()
    facts = ["Paris is big.", "Paris is  big", "paris is big", "Rome is big."]
    tg.score([{"response": "x", "gold_facts": facts}], metrics="grounding_recall", judge=judge)
    assert [request.claim for request in judge.requests] == ["Paris is big.", "Rome is big."]


def test_parts_close_all_even_where_one_fails() -> None:
    closed = []

    class Closes:
        def __init__(self, name: str) -> None:
            self.name = name

        def close(self) -> None:
            closed.append(self.name)
            if self.name == "b":
                raise ValueError(self.name)

    parts = Components.make()
    object.__setattr__(parts, "own", (Closes("a"), Closes("b"), Closes("c")))
    with pytest.raises(ValueError, match="b"):
        parts.close()
    assert sorted(closed) == ["a", "b", "c"]


def test_calls_that_failed_are_told(tmp_path: Path) -> None:
    with ChaosServer(lambda _text, _call: "500") as server:
        judge = f"llm:m(base_url={server.base_url},max_attempts=1)"
        result = tg.score(
            [ANSWER],
            metrics="support",
            judge=judge,
            decomposer=FakeDecomposer(),
            cache=False,
            out=tmp_path / "r",
        )
    assert result.note is not None
    assert "2 of 2 calls of judges" in result.note
    manifest = json.loads((tmp_path / "r" / MANIFEST).read_text())
    assert (manifest["calls"], manifest["failed_calls"]) == (2, 2)
