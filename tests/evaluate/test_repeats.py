"""Repeated answers of a noisy model, end to end: summary, repeats.jsonl, page and terminal."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from tests.evaluate.questions_file import number, write_questions
from tests.texts import run_text

import trueground as tg
from trueground.errors import UsageError
from trueground.models.base import ChatRequest, Params, Reply
from trueground.models.replay import FakeModel
from trueground.runs.directory import REPEATS
from trueground.types import Status

TASK = "faitheval/unanswerable"
METRIC = "phrase_match_strict"


def chance(question: int, draw: int) -> float:
    """A number from 0 to 1 that depends on the question and the repeat only."""
    digest = hashlib.sha256(f"{question}/{draw}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32


def noisy(request: ChatRequest) -> str | Reply:
    """Right more often for later questions; the second answer to question 3 never comes."""
    i = number(request.messages[-1].content)
    if (i, request.draw) == (3, 1):
        return Reply(error="gone", status=Status.ERROR)
    return "unknown" if chance(i, request.draw) < i / 12 else f"Bob built it in {request.draw}."


def steady(request: ChatRequest) -> str:
    i = number(request.messages[-1].content)
    return "unknown" if i % 3 else "Bob built it."


def ask(tmp_path: Path, reply: Any = noisy, n: int = 12, **more: Any) -> tg.Result:
    data = write_questions(tmp_path / "q.jsonl", n)
    model = FakeModel(reply, name=more.pop("name", "noisy"), cacheable=more.pop("keep", False))
    more = {"repeats": 5, "out": tmp_path / "run", **more}
    return tg.run(TASK, model, data=data, **more)


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / REPEATS).read_bytes().splitlines()]


def test_the_summary_tells_noise_apart(tmp_path: Path) -> None:
    result = ask(tmp_path)
    told = result.summary.raw["repeats"]
    assert (told["most"], told["questions"], told["answers"], told["incomplete"]) == (5, 12, 60, 1)
    by_question: dict[str, list[float]] = {}
    for item in result.evidence:
        value = item["scores"][METRIC]
        by_question.setdefault(item["id"].partition("#")[0], []).extend(
            [value] * (value is not None)
        )
    found = told["metrics"][METRIC]
    means = [mean(values) for values in by_question.values()]
    assert found["mean"] == pytest.approx(mean(means))
    assert found["sd"]["mean"] == pytest.approx(mean(map(stdev, by_question.values())))
    flipped = sum(len(set(values)) > 1 for values in by_question.values())
    assert (found["flips"]["flipped"], found["flips"]["questions"]) == (flipped, 12)
    assert (found["questions"], found["several"], found["part"]) == (12, 12, 1)
    assert found["verdicts"] == "binary"
    assert 0 < found["share"] < 1
    assert found["ci_one"][0] < found["ci"][0] < found["mean"] < found["ci"][1] < found["ci_one"][1]


def test_each_question_has_a_line(tmp_path: Path) -> None:
    result = ask(tmp_path)
    found = lines(tmp_path / "run")
    assert [line["id"] for line in found] == [f"q{i}" for i in range(12)]
    assert [line["answered"] for line in found] == [5, 5, 5, 4, *[5] * 8]
    items = {item["id"]: item["scores"][METRIC] for item in result.evidence}
    values = [items[f"q7#{k}"] for k in range(1, 6)]
    assert found[7]["scores"][METRIC] == {
        "mean": pytest.approx(mean(values)),
        "sd": pytest.approx(stdev(values)),
        "scored": 5,
        "flipped": True,
    }


def test_with_whole_answers_the_means_and_intervals_are_those_of_the_table(tmp_path: Path) -> None:
    raw = ask(tmp_path, lambda r: noisy(r) if r.draw != 1 else "unknown").summary.raw
    for name, entry in raw["repeats"]["metrics"].items():
        assert entry["mean"] == pytest.approx(raw["metrics"][name]["mean"])
        assert entry["ci"] == pytest.approx(raw["metrics"][name]["ci"])


def test_the_cache_keeps_repeats_apart_and_gives_the_same_bytes(tmp_path: Path) -> None:
    """At temperature 0 too: no repeat is another one's reply, and a second run shows the same."""
    cold = Params(temperature=0.0)
    ask(tmp_path, keep=True, params=cold)
    model = FakeModel(noisy, name="noisy", cacheable=True)
    tg.run(TASK, model, data=tmp_path / "q.jsonl", repeats=5, out=tmp_path / "b", params=cold)
    assert [call.draw for call in model.calls] == [1]  # the one that failed
    for name in ("summary.json", "items.jsonl", REPEATS, "report.html"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert json.loads((tmp_path / "b" / "summary.json").read_bytes())["repeats"]["metrics"][METRIC][
        "share"
    ]


def shown(run: Path) -> tuple[str, str]:
    """What the terminal and the page say, each on one line."""
    summary, manifest = (
        json.loads((run / name).read_bytes()) for name in ("summary.json", "manifest.json")
    )
    texts = run_text(summary, run, manifest), (run / "report.html").read_text()
    return " ".join(texts[0].split()), " ".join(texts[1].split())


def test_a_deterministic_model_is_said_to_be_one(tmp_path: Path) -> None:
    ask(tmp_path, steady, params=Params(temperature=0.0))
    for text in shown(tmp_path / "run"):
        assert "With these settings the model is deterministic at temperature 0" in text
        assert "all answers to the same question have the same value" in text


def test_noise_and_lost_answers_are_told(tmp_path: Path) -> None:
    ask(tmp_path, params=Params(temperature=0.0))
    for text in shown(tmp_path / "run"):
        assert "5 answers to each of 12 questions" in text
        assert re.search(r"Temperature 0 doesn.{1,6}t make this model deterministic\.", text)
        assert "1 question lacks one or more complete answers" in text
        assert "you need four times as many answers: 20 to each question." in text
    assert "Least steady questions" in shown(tmp_path / "run")[1]


def test_a_single_answer_has_no_noise_to_tell(tmp_path: Path) -> None:
    result = ask(tmp_path, repeats=1)
    assert "repeats" not in result.summary.raw
    assert not (tmp_path / "run" / REPEATS).exists()


def record(id_: str, again: object, response: str, **more: object) -> dict[str, object]:
    meta = {} if again is None else {"meta": {"repeat": again}}
    return {"id": id_, "contexts": ["red blue"], "response": response, **meta, **more}


def test_records_of_a_run_score_the_same(tmp_path: Path) -> None:
    """The records that a run keeps, scored as a file: ids and `meta.repeat` tell the questions."""
    run = ask(tmp_path, lambda r: noisy(r) if r.draw != 1 else "unknown")
    file = tmp_path / "run" / "records.jsonl.zst"
    found = tg.score(file, metrics=[METRIC], out=tmp_path / "scored", workers=2)
    of_run = run.summary.raw["repeats"]["metrics"][METRIC]
    assert found.summary.raw["repeats"]["metrics"][METRIC] == of_run
    assert [line["id"] for line in lines(tmp_path / "scored")] == [f"q{i}" for i in range(12)]
    told = run_text(found.summary.raw, None)
    assert "5 answers to each of 12 questions" in told


@pytest.mark.parametrize("given", ["group", "question", "meta.asked"])
def test_a_field_may_tell_the_question(given: str) -> None:
    rows = [
        record(f"a{i}", None, text, group=f"g{i % 3}", question=f"Q{i % 3}?")
        | {"meta": {"asked": i % 3}}
        for i, text in enumerate(["red", "red", "green", "green", "red", "red blue"])
    ]
    raw = tg.score(rows, metrics=["k_precision"], repeats_of=given).summary.raw
    found = raw["repeats"]["metrics"]["k_precision"]
    assert (raw["repeats"]["questions"], raw["clusters"]) == (3, 3)
    assert found["flips"]["flipped"] == 2
    assert found["mean"] == pytest.approx((0.5 + 1 + 0.5) / 3)


def test_answers_to_one_question_are_drawn_together_without_a_group() -> None:
    rows = [
        record(f"q{i}#{k}", k, "red" if (i + k) % 2 else "green") for i in (1, 2) for k in (1, 2)
    ]
    raw = tg.score(rows, metrics=["k_precision"]).summary.raw
    assert raw["clusters"] == 2
    assert raw["repeats"]["questions"] == 2


def test_repeats_without_a_second_answer_are_none() -> None:
    rows = [record(f"q{i}", 1, "red") for i in range(3)]
    assert "repeats" not in tg.score(rows, metrics=["k_precision"]).summary.raw


def test_a_field_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--repeats-of meta.x: no record has this field"):
        tg.score([record("a", 1, "red")], metrics=["k_precision"], repeats_of="meta.x")
