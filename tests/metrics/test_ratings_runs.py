"""Ratings of sampled items, of several runs, and of answers that were given graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from tests.chaos import ChaosServer
from tests.metrics.answering import rated_column
from tests.metrics.test_ratings import MISSING, SCORED, Raters, statuses

import trueground as tg
from trueground.errors import UsageError
from trueground.metrics.batch import Column
from trueground.metrics.registry import METRICS
from trueground.types import Passage, Record, Status

GRAPH = {"qid": "Q7", "name": "Ina", "trade": ["smith", "bell founder"]}
RECORDS = [
    Record(
        id="a",
        response="Ina was a smith [Q7, trade: smith]. She sang [NA].",
        question="Who was Ina?",
        knowledge=[GRAPH],
        meta={"sampled": True},
    ),
    Record(id="b", response="None.", question="Who?", knowledge=[], meta={"sampled": False}),
    Record(
        id="c",
        response="Both.",
        question="Who?",
        knowledge=[GRAPH],
        contexts=[Passage("A text."), Passage(" ")],
        meta={"sampled": 1},
    ),
    Record(id="d", response="Neither.", question="Who?"),
]
NOT = Status.NOT_APPLICABLE


def column(spec: str, rate: Raters) -> Column:
    return rated_column(METRICS.parse(spec), RECORDS, rate)


def test_consistency_shows_graphs_each_in_one_line() -> None:
    rate = Raters()
    assert statuses(column("consistency", rate)) == [SCORED, NOT, SCORED, MISSING]
    line = "{qid: Q7, name: Ina, trade: smith, trade: bell founder}"
    assert [request.knowledge for request in rate.asked] == [(line,), ("A text.", line)]
    assert rate.asked[0].response == "Ina was a smith. She sang."


def test_only_sampled_items() -> None:
    for name in ("coherence", "fluency", "relevance", "consistency"):
        rate = Raters()
        assert statuses(column(f"{name}(items=sampled)", rate)) == [SCORED, NOT, NOT, NOT]
        assert len(rate.asked) == 1


def test_runs_are_asked_for_and_bounded() -> None:
    rate = Raters()
    column("relevance(runs=3)", rate)
    assert {(request.scoring, request.samples) for request in rate.asked} == {("integer", 3)}
    for runs in ("0", "101", "-1", "many", "1.5", "²", "0000000019999", "9" * 5_000):
        spec = METRICS.parse(f"relevance(runs={runs})")
        with pytest.raises(UsageError, match="expected a whole number from 1 to 100"):
            spec.metric.requires.check(spec.options)
    spec = METRICS.parse("relevance(scoring=weighted,runs=3)")
    with pytest.raises(UsageError, match="runs=3 works only with scoring=integer"):
        spec.metric.requires.check(spec.options)


def rated(tmp_path: Path, replies: Iterator[str], name: str) -> dict[str, object]:
    """The item of one answer that was rated three times."""
    with ChaosServer(answer=lambda _: next(replies)) as server:
        rater = f"llm:{name}(base_url={server.base_url},max_connections=1)"
        rows = [{"question": "Who?", "response": "Ina."}]
        result = tg.score(rows, metrics="relevance(runs=3)", rater=rater)
        again = tg.score(rows, metrics="relevance(runs=3)", rater=rater)
        assert again.evidence == result.evidence
        assert sum(server.calls.values()) == 3
        assert {body["temperature"] for body in server.bodies} == {0}
    (item,) = result.evidence
    key = "relevance(runs=3)"
    return {
        "score": item["scores"][key],
        "status": item["status"][key],
        **item["evidence"].get(key, {}),
    }


def test_the_mean_of_three_runs_and_their_replies(tmp_path: Path) -> None:
    found = rated(tmp_path, cycle(["4", "5", "3/5"]), "three")
    assert (found["score"], found["status"]) == (4.0, "scored")
    assert sorted(found["replies"]) == ["3/5", "4", "5"]  # type: ignore[call-overload]
    assert "reason" not in found


def test_runs_that_cannot_be_read(tmp_path: Path) -> None:
    most = rated(tmp_path, cycle(["4", "well", "3"]), "most")
    assert (most["score"], most["status"]) == (3.5, "scored")
    assert most["reason"] == "2 of 3 samples hold a score (1 unparseable)"
    assert sorted(most["replies"]) == ["3", "4", "well"]  # type: ignore[call-overload]
    few = rated(tmp_path, cycle(["good", "well", "3"]), "few")
    assert (few["score"], few["status"]) == (None, "unparseable")
    assert len(few["replies"]) == 3  # type: ignore[arg-type]
