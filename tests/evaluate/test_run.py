"""Runs against a real endpoint on loopback: every item ends in an answer or a reason."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import signal
import threading
from collections import Counter
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest
from tests.chaos import KEY, ChaosServer
from tests.evaluate.questions_file import answer, number, write_questions
from tests.texts import run_text

import trueground as tg
from trueground.errors import InputError, OutputError, RunInterrupted, UnreachableError, UsageError
from trueground.models.base import ChatRequest, Params, Reply
from trueground.models.prices import Price
from trueground.models.replay import FakeModel
from trueground.types import Status

TASK = "faitheval/unanswerable"
FINAL = ("items.jsonl", "summary.json", "report.html")
FAST = {"timeout": 1.5, "deadline": 20.0, "max_attempts": 3}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the folder in which no key may stand."""
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))


def ask(tmp_path: Path, server: ChaosServer, n: int = 20, **more: Any) -> tg.Result:
    data = tmp_path / f"q{n}.jsonl"
    if not data.exists():
        write_questions(data, n)
    options = tg.ModelOptions(
        base_url=server.base_url,
        **{"max_connections": 8, **FAST, **more.pop("model_options", {})},
    )
    out = more.pop("out", tmp_path / "run")
    return tg.run(TASK, "m", out=out, data=data, model_options=options, **more)


def manifest(run: Path) -> dict[str, Any]:
    return json.loads((run / "manifest.json").read_bytes())


def finals(run: Path) -> list[bytes]:
    return [(run / name).read_bytes() for name in FINAL]


def test_a_run_is_scored_and_told(tmp_path: Path) -> None:
    with ChaosServer(answer=answer) as server:
        result = ask(tmp_path, server, n=30)
    assert result.summary["phrase_match_strict"].mean == pytest.approx(20 / 30)
    averages = result.summary.raw["averages"]["meta.dataset"]["phrase_match_strict"]
    assert averages["values"] == 5
    assert averages["mean"] == pytest.approx(20 / 30)
    assert averages["ci"][0] < 20 / 30 < averages["ci"][1]
    told = manifest(tmp_path / "run")
    assert told["outcomes"] == {"answered": 30, "truncated": 0, "too_long": 0, "error": 0}
    assert (told["calls"], told["cache_hits"]) == (30, 0)
    assert told["tokens"]["out"] == 90
    assert told["answered_by"] == {"m": 30}
    assert told["status"] == "finished"
    assert [p["id"].partition("/")[0] for p in told["prompts"]] == ["faitheval"] * 2
    assert set(server.calls.values()) == {1}


def test_a_second_run_comes_from_the_cache_byte_for_byte(tmp_path: Path) -> None:
    with ChaosServer(answer=answer) as server:
        seven = Params(temperature=0.3, seed=7)
        ask(tmp_path, server, out=tmp_path / "a", params=seven)
        ask(tmp_path, server, out=tmp_path / "b", params=seven)
        assert sum(server.calls.values()) == 20
        ask(tmp_path, server, out=tmp_path / "c", params=Params(temperature=0.3, seed=8))
        assert sum(server.calls.values()) == 40
        ask(
            tmp_path,
            server,
            out=tmp_path / "d",
            params=Params(temperature=0.3, seed=7),
            cache=False,
        )
        assert sum(server.calls.values()) == 60
    assert finals(tmp_path / "a") == finals(tmp_path / "b") == finals(tmp_path / "d")
    assert manifest(tmp_path / "b")["cache_hits"] == 20
    assert manifest(tmp_path / "b")["calls"] == 0


def test_repeats_are_asked_apart_and_grouped(tmp_path: Path) -> None:
    with ChaosServer(answer=answer) as server:
        result = ask(tmp_path, server, n=6, repeats=3)
        assert set(server.calls.values()) == {3}
        ask(tmp_path, server, n=6, repeats=3, out=tmp_path / "again")
        assert set(server.calls.values()) == {3}
    assert result.items["id"].to_list()[:4] == ["q0#1", "q0#2", "q0#3", "q1#1"]
    assert result.summary.raw["clusters"] == 6
    raw = result.summary.raw
    shares = [raw["by"]["meta.repeat"][n]["phrase_match_strict"]["mean"] for n in ("1", "2", "3")]
    average = raw["averages"]["meta.repeat"]["phrase_match_strict"]
    assert (average["mean"], average["sd"]) == pytest.approx((sum(shares) / 3, stdev(shares)))


CHAOS = (
    "ok", "429", "429-wait", "500", "502", "hang", "drip", "reset", "cut", "cut-json", "html",
    "no-choices", "null", "other-model", "too-long", "400", "length", "refusal", "giant",
)  # fmt: skip


@pytest.mark.long
def test_chaos_every_item_ends_in_an_answer_or_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Half of the calls go well at the first attempt; the rest meet every kind of trouble."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level("DEBUG")
    dice = random.Random(5)
    fates = {i: dice.choice(CHAOS[1:]) if i % 3 else "ok" for i in range(60)}
    fates |= {3 * i + 1: CHAOS[i] for i in range(len(CHAOS))}

    def behave(text: str, call: int) -> str:
        return fates[number(text)] if number(text) % 2 or call == 1 else "ok"

    # A good call must never time out, however busy the machine is.
    with ChaosServer(behave, answer=answer, hang=20.0) as server:
        result = ask(tmp_path, server, n=60, model_options={"timeout": 10.0, "deadline": 90.0})
    told = manifest(tmp_path / "run")
    assert sum(told["outcomes"].values()) == 60 == len(result.items)
    lines = [json.loads(x) for x in (tmp_path / "run/responses.jsonl").read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == sorted(f"q{i}" for i in range(60))
    for line in lines:
        fate = fates[int(line["id"][1:])]
        whole = line["status"] is None
        assert whole or line["status"] == "truncated" or line["error"], line
        assert not (whole and line["error"]), line
        if not int(line["id"][1:]) % 2 and fate in ("429", "500", "502", "reset", "cut", "html"):
            assert whole, line  # these are tried again, and the second attempt goes well
        if fate in ("400", "too-long"):
            assert line["status"] == {"400": "error", "too-long": "too_long"}[fate]
    statuses = Counter(line["status"] or "answered" for line in lines)
    assert {k: v for k, v in told["outcomes"].items() if v} == dict(statuses)
    assert sum(told["errors"].values()) == statuses["error"] + statuses["too_long"]
    summary = result.summary["phrase_match_strict"]
    assert summary.scored == statuses["answered"]
    assert sum(summary.unscored.values()) == 60 - statuses["answered"]
    for i, fate in fates.items():
        if fate in ("400", "too-long", "ok", "no-choices", "null", "length"):
            calls = [n for text, n in server.calls.items() if number(text) == i]
            assert calls == [1], (i, fate)
    assert told["calls"] == sum(server.calls.values())
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
    assert KEY not in caplog.text


@pytest.mark.parametrize("fate", ["null", "thinks-on", "tool", "filtered", "html", "sse"])
def test_what_is_no_answer_is_never_scored(tmp_path: Path, fate: str) -> None:
    with ChaosServer(lambda text, _: fate if number(text) % 2 else "ok", answer=answer) as server:
        result = ask(tmp_path, server, n=8, also=("k_precision", "phrase_match"))
        assert manifest(tmp_path / "run")["calls"] == sum(server.calls.values())
    assert max(server.calls.values()) <= 2
    for metric in ("phrase_match_strict", "phrase_match", "k_precision"):
        assert result.summary[metric].unscored == {"error": 4}
    reasons = [item["evidence"]["k_precision"]["reason"] for item in result.evidence[1::2]]
    assert all(reasons)


def test_retry_failed_asks_only_what_failed(tmp_path: Path) -> None:
    broken = {"on": True}

    def behave(text: str, _call: int) -> str:
        return "400" if broken["on"] and number(text) % 5 == 0 else "ok"

    with ChaosServer(behave, answer=answer) as server:
        first = ask(tmp_path, server)
        assert first.summary["phrase_match_strict"].unscored == {"error": 4}
        ask(tmp_path, server)
        assert set(server.calls.values()) == {1}
        broken["on"] = False
        second = ask(tmp_path, server, retry_failed=True)
        assert Counter(server.calls.values()) == {1: 16, 2: 4}
        ask(tmp_path, server, out=tmp_path / "undisturbed")
    assert second.summary["phrase_match_strict"].scored == 20
    assert finals(tmp_path / "run") == finals(tmp_path / "undisturbed")


def test_an_endpoint_that_lets_nobody_in_stops_the_run_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChaosServer(lambda _text, _call: "401") as server:
        with pytest.raises(UnreachableError, match="401") as caught:
            ask(tmp_path, server)
        assert caught.value.exit_code == 4
        assert sum(server.calls.values()) <= 8
    assert KEY not in str(caught.value)
    assert manifest(tmp_path / "run")["status"] == "failed"
    assert not (tmp_path / "run/items.jsonl").exists()
    with ChaosServer(answer=answer) as server:  # fixed: the same command goes on
        assert ask(tmp_path, server).summary["phrase_match_strict"].scored == 20
    for path in (tmp_path / "run").iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_nobody_there(tmp_path: Path) -> None:
    options = tg.ModelOptions(base_url="http://127.0.0.1:9/v1", max_attempts=2, deadline=2)
    data = write_questions(tmp_path / "q.jsonl", 5)
    with pytest.raises(UnreachableError, match=r"m cannot be reached"):
        tg.run(TASK, "m", out=tmp_path / "run", data=data, model_options=options)


def test_a_time_limit_ends_the_session_and_the_next_one_goes_on(tmp_path: Path) -> None:
    with ChaosServer(answer=answer, delay=0.1) as server:
        with pytest.raises(RunInterrupted, match="same command"):
            ask(tmp_path, server, n=40, time_limit=0.25)
        assert manifest(tmp_path / "run")["status"] == "interrupted"
        done = manifest(tmp_path / "run")["outcomes"]["answered"]
        assert 8 <= done < 40
        result = ask(tmp_path, server, n=40)
    assert result.summary["phrase_match_strict"].scored == 40
    assert manifest(tmp_path / "run")["sessions"] == 2
    assert sum(server.calls.values()) <= 40 + 8


def test_another_run_in_the_folder_is_refused_and_named(tmp_path: Path) -> None:
    with ChaosServer(answer=answer) as server:
        ask(tmp_path, server, n=4)
        before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
        with pytest.raises(OutputError, match=r"params: .*temperature.*0\.7"):
            ask(tmp_path, server, n=4, params=Params(temperature=0.7))
        with pytest.raises(OutputError, match="limit: null there, 2 now"):
            ask(tmp_path, server, n=4, limit=2)
    assert before == {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    scored = tmp_path / "scored"
    tg.score([{"id": "a", "response": "x"}], out=scored, metrics="abstained")
    with pytest.raises(OutputError, match="trueground score there, trueground run now"):
        tg.run(TASK, "fake:unknown", out=scored, data=tmp_path / "q4.jsonl")


def test_two_runs_into_one_folder(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 4)

    async def slow(request: ChatRequest) -> Reply:
        with pytest.raises(OutputError, match="in use by another run"):
            await tg.arun(TASK, "fake:unknown", out=tmp_path / "run", data=data)
        return Reply(text="unknown")

    class Slow(FakeModel):
        async def generate(self, request: ChatRequest) -> Reply:
            return await slow(request)

    result = tg.run(TASK, Slow("unknown"), out=tmp_path / "run", data=data)
    assert result.summary["phrase_match_strict"].mean == 1.0


def test_inside_a_running_loop(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 4)

    async def notebook() -> tuple[tg.Result, tg.Result]:
        with ChaosServer(answer=answer) as server:
            options = tg.ModelOptions(base_url=server.base_url)
            awaited = await tg.arun(TASK, "m", out=tmp_path / "a", data=data, model_options=options)
            called = tg.run(TASK, "m", out=tmp_path / "b", data=data, model_options=options)
        return awaited, called

    first, second = asyncio.run(notebook())
    assert first.summary.raw == second.summary.raw
    assert finals(tmp_path / "a") == finals(tmp_path / "b")


def test_under_uvloop(tmp_path: Path) -> None:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")
    data = write_questions(tmp_path / "q.jsonl", 12)
    with (
        ChaosServer(answer=answer) as server,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        options = tg.ModelOptions(base_url=server.base_url)
        work = tg.arun(TASK, "m", out=tmp_path / "a", data=data, model_options=options)
        result = runner.run(work)
    assert result.summary["phrase_match_strict"].mean == pytest.approx(8 / 12)


def test_the_same_prompt_twice_is_paid_once(tmp_path: Path) -> None:
    row = {"question": "Who?", "context": "Nobody [1].", "answers": ["unknown"], "subset": "DROP"}
    data = tmp_path / "q.jsonl"
    data.write_text("".join(json.dumps({"qid": f"q{i}", **row}) + "\n" for i in range(10)))
    with ChaosServer(answer=answer, delay=0.05) as server:
        options = tg.ModelOptions(base_url=server.base_url)
        tg.run(TASK, "m", out=tmp_path / "run", data=data, model_options=options)
        assert sum(server.calls.values()) == 1
    assert manifest(tmp_path / "run")["cache_hits"] == 9


def test_thinking_is_kept_apart_from_the_answer(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 3)
    with ChaosServer(answer=lambda _text: "<think>not sure</think>Bob") as server:
        options = tg.ModelOptions(base_url=server.base_url)
        result = tg.run(TASK, "m", out=tmp_path / "run", data=data, model_options=options)
    assert result.summary["phrase_match"].mean == 0.0
    line = json.loads((tmp_path / "run/responses.jsonl").read_text().splitlines()[0])
    assert (line["response"], line["reasoning"]) == ("Bob", "not sure")


def test_names_that_cannot_be_meant(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 3)
    with pytest.raises(UsageError, match="faitheval/unanswerable"):
        tg.run("faitheval", "fake:x", data=data)
    with pytest.raises(UsageError, match="faitheval"):
        tg.run("faitheva1/unanswerable", "fake:x", data=data)
    with pytest.raises(TypeError, match="unexpected keyword argument 'temperature'"):
        tg.run(TASK, "fake:x", data=data, temperature=1)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="repeats"):
        tg.run(TASK, "fake:x", data=data, repeats=0)
    with pytest.raises(InputError, match="gone"):
        tg.run(TASK, "fake:x", data=tmp_path / "gone.jsonl", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_answer_is_kept_when_the_log_is_cut(tmp_path: Path) -> None:
    with ChaosServer(answer=answer) as server:
        ask(tmp_path, server, cache=False)
        whole = finals(tmp_path / "run")
        log = tmp_path / "run/responses.jsonl"
        log.write_bytes(log.read_bytes()[:-25])
        ask(tmp_path, server, cache=False)
        assert Counter(server.calls.values()) == {1: 19, 2: 1}
    assert finals(tmp_path / "run") == whole


def test_the_page_says_why_there_is_no_answer(tmp_path: Path) -> None:
    with ChaosServer(lambda text, _call: "400" if number(text) == 1 else "ok") as server:
        ask(tmp_path, server, n=3)
    page = (tmp_path / "run/report.html").read_text()
    assert "(no answer: HTTP 400: top_k is unknown here)" in page
    assert "m on faitheval/unanswerable" in page


def test_a_runs_own_records_keep_their_failures(tmp_path: Path) -> None:
    """Scored again, an answer that never came is still no answer, and not an empty one."""
    fates = {1: "400", 2: "too-long", 4: "length"}
    with ChaosServer(lambda text, _: fates.get(number(text), "ok"), answer=answer) as server:
        first = ask(tmp_path, server, n=6)
    again = tg.score(tmp_path / "run/records.jsonl.zst", metrics="phrase_match_strict,k_precision")
    for name in again.summary:
        assert again.summary[name].unscored == {"error": 1, "too_long": 1, "truncated": 1}
    mean = first.summary["phrase_match_strict"].mean
    assert again.summary["phrase_match_strict"].mean == mean
    own = tg.score([{"id": "a", "response": "x", "failure": "mine"}], metrics="abstained")
    assert own.summary["abstained"].scored == 1


def test_a_finished_run_stays_finished_when_its_log_is_refused(tmp_path: Path) -> None:
    with ChaosServer(answer=answer) as server:
        ask(tmp_path, server, n=4)
        with (tmp_path / "run/responses.jsonl").open("a") as log:
            log.write("garbage\n")
        with pytest.raises(InputError, match="line 5"):
            ask(tmp_path, server, n=4)
    assert manifest(tmp_path / "run")["status"] == "finished"
    assert manifest(tmp_path / "run")["calls"] == 4


def test_a_dataset_without_any_answer_is_told_in_the_average(tmp_path: Path) -> None:
    with ChaosServer(lambda text, _: "400" if number(text) % 5 == 2 else "ok") as server:
        result = ask(tmp_path, server, n=10)
    average = result.summary.raw["averages"]["meta.dataset"]["phrase_match_strict"]
    assert (average["values"], average["of"]) == (4, 5)
    assert "average of 4 of 5" in (tmp_path / "run/report.html").read_text()
    shown = run_text(result.summary.raw, None)
    assert "phrase_match: the average is over 4 of 5 values" in shown


def test_data_that_change_during_a_run_are_noticed(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 3)

    def meddle(_request: ChatRequest) -> str:
        data.write_text(data.read_text().replace("tower", "bridge"))
        return "unknown"

    with pytest.raises(InputError, match=r"'q\d'.*the data changed while the run went on"):
        tg.run(TASK, FakeModel(meddle), out=tmp_path / "run", data=data)
    assert not (tmp_path / "run/summary.json").exists()


@pytest.mark.parametrize("after", [1, 20])
def test_ctrl_c_in_a_notebook_stops_the_calls(tmp_path: Path, after: int) -> None:
    """There the event loop leaves the signal to the code that it interrupts."""
    data = write_questions(tmp_path / "q.jsonl", 400)
    here, count = threading.get_ident(), itertools.count(1)

    def behave(_text: str, _call: int) -> str:
        # By the number of the call: a time could pass before the run begins, where Ctrl-C is
        # nobody's to catch and would end the tests.
        if next(count) == after:
            signal.pthread_kill(here, signal.SIGINT)
        return "ok"

    async def cell(url: str) -> None:
        options = tg.ModelOptions(base_url=url, max_connections=4)
        with pytest.raises(RunInterrupted, match="same command"):
            tg.run(TASK, "m", out=tmp_path / "run", data=data, model_options=options)

    loop = asyncio.new_event_loop()
    with ChaosServer(behave, answer=answer, delay=0.1) as server:
        loop.run_until_complete(cell(server.base_url))
        made = sum(server.calls.values())
    loop.close()
    assert made < 100
    assert manifest(tmp_path / "run")["status"] == "interrupted"


def test_costs_add_up_over_retries(tmp_path: Path) -> None:
    fate = {"now": "no-choices"}
    prices = {"m": Price(1.0, 2.0)}
    with ChaosServer(lambda _text, _call: fate["now"], answer=answer) as server:
        ask(tmp_path, server, n=4, prices=prices)
        first = manifest(tmp_path / "run")
        fate["now"] = "ok"
        ask(tmp_path, server, n=4, prices=prices, retry_failed=True)
        told = manifest(tmp_path / "run")
        assert sum(server.calls.values()) == told["calls"] == 8
    assert told["tokens"]["out"] == 2 * first["tokens"]["out"] == 24
    assert told["cost"]["usd"] == pytest.approx(2 * first["cost"]["usd"])
    assert told["outcomes"]["answered"] == 4


def test_reasons_add_up_however_many_there_are(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 30)
    count = iter(range(100))
    model = FakeModel(lambda _: Reply(status=Status.ERROR, error=f"request {next(count)} lost"))
    tg.run(TASK, model, out=tmp_path / "run", data=data)
    told = manifest(tmp_path / "run")
    assert sum(told["errors"].values()) == told["outcomes"]["error"] == 30
    assert told["errors"]["(other reasons)"] == 10


def test_parameters_of_every_kind_resume(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 2)
    own = Params(stop=("\n", "END"), top_p=1, extra={"a": [1, {"b": None}]})
    for _ in range(2):
        tg.run(TASK, "fake:unknown", out=tmp_path / "run", data=data, params=own)
    assert manifest(tmp_path / "run")["sessions"] == 2


def test_one_prompt_that_is_refused_does_not_stop_the_others(tmp_path: Path) -> None:
    """Some endpoints answer 403 to what they moderate; it must not look like a wrong key."""
    with ChaosServer(lambda text, _: "403" if number(text) == 0 else "ok", answer=answer) as server:
        result = ask(tmp_path, server, n=30)
        one = {"max_connections": 1}
        alone = ask(tmp_path, server, n=30, out=tmp_path / "1", cache=False, model_options=one)
    assert result.summary["phrase_match_strict"].unscored == {"error": 1}
    assert alone.summary["phrase_match_strict"].unscored == {"error": 1}


def test_a_finished_run_stays_finished(tmp_path: Path) -> None:
    """One item is never to be had, and asked for again and again, also of an endpoint that left."""
    out = tmp_path / "run"
    with ChaosServer(lambda t, _: "403" if number(t) == 0 else "ok", answer=answer) as server:
        first = ask(tmp_path, server, n=6)
        second = ask(tmp_path, server, n=6)
        assert second.summary.raw == first.summary.raw
        assert sorted(server.calls.values()) == [1, 1, 1, 1, 1, 2]
        assert manifest(out)["calls"] == 7
    third = ask(tmp_path, server, n=6)
    assert third.summary.raw == first.summary.raw
    before = finals(out)
    with pytest.raises(UnreachableError):  # wanted once more, and not to be had
        ask(tmp_path, server, n=6, retry_failed=True)
    told = manifest(out)
    assert (told["status"], told["outcomes"]["answered"]) == ("finished", 5)
    assert finals(out) == before
    assert (told["calls"], told["sessions"]) == (7, 4)


def test_a_finished_run_stays_finished_when_the_next_session_is_broken_off(tmp_path: Path) -> None:
    fate = {"now": "403"}
    with ChaosServer(lambda t, _: fate["now"] if number(t) == 0 else "ok", hang=2) as server:
        ask(tmp_path, server, n=3)
        before = finals(tmp_path / "run")
        fate["now"] = "429-wait"
        stop = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        stop.start()
        with pytest.raises(RunInterrupted):
            ask(tmp_path, server, n=3)
    assert manifest(tmp_path / "run")["status"] == "finished"
    assert finals(tmp_path / "run") == before


def test_calls_under_way_at_the_time_limit_are_kept(tmp_path: Path) -> None:
    with ChaosServer(answer=answer, delay=0.2) as server:
        with pytest.raises(RunInterrupted, match="time limit"):
            ask(tmp_path, server, n=40, time_limit=0.3)
        made = sum(server.calls.values())
        assert manifest(tmp_path / "run")["outcomes"]["answered"] == made < 40
        ask(tmp_path, server, n=40)
        assert set(server.calls.values()) == {1}


def test_a_models_own_timeout_is_a_failure_and_no_time_limit(tmp_path: Path) -> None:
    def late(_request: ChatRequest) -> Reply:
        raise TimeoutError("mine")

    data = write_questions(tmp_path / "q.jsonl", 2)
    result = tg.run(TASK, FakeModel(late), out=tmp_path / "run", data=data)
    assert result.summary["phrase_match_strict"].unscored == {"error": 2}
    assert list(manifest(tmp_path / "run")["errors"]) == ["unforeseen TimeoutError: mine"]
