"""Runs through batches: the same bytes as live ones, and no call submitted twice, whatever dies."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.batch_server import PLACES, BatchServer
from tests.chaos import KEY, ChaosServer
from tests.commands import PROGRAM, trueground
from tests.evaluate.questions_file import answer, number, write_questions
from tests.marks import mostly_long

import trueground as tg
from trueground.errors import InputError, OutputError, RunInterrupted, UnreachableError, UsageError
from trueground.models.base import Params
from trueground.models.batch_runner import custom_id

TASK = "faitheval/unanswerable"
FINAL = ("items.jsonl", "summary.json", "report.html")
FAST = {"timeout": 2.0, "deadline": 8.0, "max_attempts": 3}


# An upload that the kill cuts off leaves a temporary file open in the test's own server.
killed = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))


def ask(tmp_path: Path, server: BatchServer, n: int = 20, **more: Any) -> tg.Result:
    data = tmp_path / f"q{n}.jsonl"
    if not data.exists():
        write_questions(data, n)
    options = tg.ModelOptions(base_url=server.base_url, **{**FAST, **more.pop("model_options", {})})
    out = more.pop("out", tmp_path / "run")
    more = {"batch": True, "poll_seconds": 0.02, **more}
    return tg.run(TASK, "m", out=out, data=data, model_options=options, **more)


def manifest(run: Path) -> dict[str, Any]:
    return json.loads((run / "manifest.json").read_bytes())


def parts(run: Path) -> list[dict[str, Any]]:
    return json.loads((run / "batches.json").read_bytes())["parts"]


def finals(run: Path) -> list[bytes]:
    return [(run / name).read_bytes() for name in FINAL]


def log(run: Path) -> dict[str, dict[str, Any]]:
    lines = (run / "responses.jsonl").read_text().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines)
    return {json.loads(line)["id"]: json.loads(line) for line in lines}


MIXED = {1: "400", 4: "too-long", 5: "length", 9: "no-choices"}


def mixed(text: str, _time: int) -> str:
    return MIXED.get(number(text), "ok")


def test_the_same_bytes_as_a_live_run(tmp_path: Path) -> None:
    with BatchServer(mixed, answer=answer) as server:
        ask(tmp_path, server)
        assert not server.live
        assert set(server.asked.values()) == {1}
        assert len(server.batches) == 1
        ask(tmp_path, server, out=tmp_path / "live", batch=False, cache=False)
        assert set(server.live.values()) == {1}
    assert finals(tmp_path / "run") == finals(tmp_path / "live")
    batched, live = manifest(tmp_path / "run"), manifest(tmp_path / "live")
    for told in ("outcomes", "errors", "calls", "cache_hits", "tokens", "answered_by"):
        assert batched[told] == live[told]
    assert batched["outcomes"] == {"answered": 16, "truncated": 1, "too_long": 1, "error": 2}
    assert batched["calls"] == 20
    ours, theirs = log(tmp_path / "run"), log(tmp_path / "live")
    assert all(line.pop("latency_s") == 90.0 for line in ours.values())
    for line in theirs.values():
        line.pop("latency_s")
    assert ours == theirs
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        *FINAL,
        "manifest.json",
        "records.jsonl.zst",
        "responses.jsonl",
        "batches.json",
    }


def test_what_the_files_hold(tmp_path: Path) -> None:
    with BatchServer(answer=answer) as server:
        ask(tmp_path, server, n=3, params=Params(temperature=0.5, max_tokens=7, seed=3))
        [lines] = server.lines
        [part] = parts(tmp_path / "run")
        [batch] = server.batches
    assert [line["custom_id"] for line in lines] == ["q0", "q1", "q2"]
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    body = lines[0]["body"]
    assert (body["model"], body["temperature"], body["max_tokens"], body["seed"]) == (
        "m",
        0.5,
        7,
        3,
    )
    token = json.loads((tmp_path / "run/batches.json").read_bytes())["token"]
    assert batch.metadata == {"trueground": token, "part": "1"}
    assert part["requests"] == 3
    assert (part["batch_id"], part["input_file_id"]) == ("batch_1", "file-1")
    assert (part["status"], part["collected"]) == ("completed", True)


def test_plain_completions(tmp_path: Path) -> None:
    with BatchServer(answer=answer) as server:
        result = ask(tmp_path, server, n=4, model_options={"api": "completions"})
        assert {line["url"] for line in server.lines[0]} == {"/v1/completions"}
    assert result.summary["phrase_match_strict"].scored == 4


def test_the_cache_spares_calls_and_takes_replies(tmp_path: Path) -> None:
    with BatchServer(answer=answer) as server:
        ask(tmp_path, server, out=tmp_path / "a", limit=8, batch=False)
        ask(tmp_path, server, out=tmp_path / "b")
        assert len(server.lines[0]) == 12
        ask(tmp_path, server, out=tmp_path / "c", batch=False)
        ask(tmp_path, server, out=tmp_path / "d")
        assert sum(server.live.values()) == 8
        assert len(server.batches) == 1
    told = manifest(tmp_path / "b")
    assert (told["calls"], told["cache_hits"]) == (12, 8)
    assert finals(tmp_path / "b") == finals(tmp_path / "c") == finals(tmp_path / "d")
    assert not (tmp_path / "d/batches.json").exists()


def test_the_same_prompt_twice_is_paid_once(tmp_path: Path) -> None:
    row = {"question": "Who?", "context": "Nobody [1].", "answers": ["unknown"], "subset": "DROP"}
    (tmp_path / "q10.jsonl").write_text(
        "".join(json.dumps({"qid": f"q{i}", **row}) + "\n" for i in range(10))
    )
    with BatchServer(answer=answer) as server:
        ask(tmp_path, server, n=10)
        assert list(server.asked.values()) == [1]
    assert manifest(tmp_path / "run")["cache_hits"] == 9
    with BatchServer(lambda _text, _time: "too-long", answer=answer) as server:
        ask(tmp_path, server, n=10, out=tmp_path / "long", params=Params(seed=1))
        assert [len(lines) for lines in server.lines] == [1, 9]  # not one a day
    assert manifest(tmp_path / "long")["outcomes"]["too_long"] == 10


def test_ids_of_every_kind(tmp_path: Path) -> None:
    ids = ["a b", "ü", "x" * 65, "plain/id#1", "", "x" * 64]
    names = [custom_id(i) for i in ids]
    assert len(set(names)) == len(ids)
    assert all(name.isascii() and 0 < len(name) <= 64 for name in names)
    assert names[3] == ids[3]
    assert names[5] == ids[5]
    row = {"question": "Who?", "answers": ["unknown"], "subset": "DROP"}
    (tmp_path / "q3.jsonl").write_text(
        "".join(
            json.dumps({"qid": i, "context": f"[{n}]", **row}) + "\n" for n, i in enumerate(ids[:3])
        )
    )
    with BatchServer(answer=answer) as server:
        ask(tmp_path, server, n=3)
        ask(tmp_path, server, n=3, repeats=2, out=tmp_path / "twice", params=Params(seed=1))
    assert list(log(tmp_path / "run")) != []
    assert set(log(tmp_path / "run")) == set(ids[:3])
    assert set(log(tmp_path / "twice")) == {f"{i}#{draw}" for i in ids[:3] for draw in (1, 2)}


@pytest.mark.parametrize("place", PLACES)
def test_one_failure_anywhere_does_no_harm(tmp_path: Path, place: str) -> None:
    with BatchServer(answer=answer, breaks=[place], lose_reply=place == "list") as server:
        ask(tmp_path, server, n=5)
        assert set(server.asked.values()) == {1}
        assert len(server.batches) == 1
        assert server.requests[place] >= 2
    assert len(log(tmp_path / "run")) == 5


def test_a_batch_whose_reply_is_lost_is_found(tmp_path: Path) -> None:
    with BatchServer(answer=answer, lose_reply=True) as server:
        ask(tmp_path, server, n=5)
        assert len(server.batches) == server.requests["create"] == 1
    assert len(log(tmp_path / "run")) == 5


def test_a_silent_endpoint_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trueground.models.batch_runner.MAX_POLL_SECONDS", 0.03)
    once = {"max_attempts": 1}
    with BatchServer(answer=answer, breaks=["get"]) as server:
        ask(tmp_path, server, n=5, model_options=once)
        assert manifest(tmp_path / "run")["outcomes"]["answered"] == 5
    with BatchServer(answer=answer) as server:
        server.refuses = {"get": 500}
        with pytest.raises(UnreachableError, match=r"HTTP 500.*1 batch continues at the endpoint"):
            ask(tmp_path, server, n=6, out=tmp_path / "run2", model_options=once)
        assert server.requests["get"] == 20
        with pytest.raises(UnreachableError, match="HTTP 500"):  # it was never there: at once
            ask(tmp_path, server, n=6, out=tmp_path / "run2", model_options=once)
        assert server.requests["get"] == 21


def test_an_uploaded_part_is_not_uploaded_again(tmp_path: Path) -> None:
    with BatchServer(answer=answer) as server:
        server.refuses = {"create": 403}
        with pytest.raises(UnreachableError, match="HTTP 403"):
            ask(tmp_path, server, n=5)
        [part] = parts(tmp_path / "run")
        assert (part["batch_id"], part["status"]) == (None, "uploaded")
        server.refuses = {}
        ask(tmp_path, server, n=5)
        assert server.requests["upload"] == len(server.batches) == 1
        assert server.batches[0].file == part["input_file_id"]
    assert manifest(tmp_path / "run")["outcomes"]["answered"] == 5


def test_what_expired_or_is_left_out_goes_again(tmp_path: Path) -> None:
    def fate(text: str, time: int) -> str:
        return {1: "expired", 2: "missing", 3: "400"}.get(number(text), "ok") if time == 1 else "ok"

    with BatchServer(fate, answer=answer) as server:
        ask(tmp_path, server, n=8)
        assert [sorted(line["custom_id"] for line in lines) for lines in server.lines][1:] == [
            ["q1", "q2"]
        ]
        assert manifest(tmp_path / "run")["outcomes"]["error"] == 1
        ask(tmp_path, server, n=8)
        assert len(server.batches) == 2
        ask(tmp_path, server, n=8, retry_failed=True)
        assert [line["custom_id"] for line in server.lines[2]] == ["q3"]
    assert manifest(tmp_path / "run")["outcomes"]["answered"] == 8
    assert [part["status"] for part in parts(tmp_path / "run")] == [
        "expired", "completed", "completed",
    ]  # fmt: skip


def test_a_batch_that_brings_nothing_ends_the_session(tmp_path: Path) -> None:
    with BatchServer(answer=answer, course=lambda number: "failed") as server:
        with pytest.raises(UnreachableError, match=r"batch_1 is failed: bad file \(line 2\)"):
            ask(tmp_path, server, n=5)
        assert len(server.batches) == 1
        assert manifest(tmp_path / "run")["status"] == "failed"
        server.course = lambda _number: "completed"
        ask(tmp_path, server, n=5)
        assert set(server.asked.values()) == {1}
    with (
        BatchServer(lambda _text, _time: "missing", answer=answer) as server,
        pytest.raises(UnreachableError, match="batch_1 is completed and has no results"),
    ):
        ask(tmp_path, server, n=5, out=tmp_path / "b", params=Params(seed=1))


def test_refused_calls_end_the_session_and_go_again(tmp_path: Path) -> None:
    def fate(text: str, time: int) -> str:
        return "refused" if number(text) > 2 and time == 1 else "ok"

    with BatchServer(fate, answer=answer) as server:
        with pytest.raises(UnreachableError, match="exceeded your current quota"):
            ask(tmp_path, server, n=5)
        outcomes = manifest(tmp_path / "run")["outcomes"]
        assert (outcomes["answered"], outcomes["error"]) == (3, 2)
        ask(tmp_path, server, n=5)
        assert [line["custom_id"] for line in server.lines[1]] == ["q3", "q4"]
    assert manifest(tmp_path / "run")["outcomes"]["answered"] == 5


def test_several_replies_to_one_call_are_none(tmp_path: Path) -> None:
    with BatchServer(lambda t, _: "twice" if number(t) == 1 else "ok", answer=answer) as server:
        ask(tmp_path, server, n=4)
    lines = log(tmp_path / "run")
    assert {name for name, line in lines.items() if line["status"] == "error"} == {"q1"}
    assert "several replies" in lines["q1"]["error"]


def test_another_batch_than_the_one_asked_for_is_not_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trueground.models.batch_runner._POLL_GROWTH", 1.0)
    with BatchServer(answer=answer) as server:
        ask(tmp_path, server, n=4)
        server.shapes["get"] = server._shown(server.batches[0])  # whatever is asked for
        server.shapes["get"]["status"] = "completed"
        with pytest.raises(UnreachableError, match="returned batch batch_1; expected batch_2"):
            ask(tmp_path, server, n=4, out=tmp_path / "b", params=Params(seed=1))
    assert not log(tmp_path / "b")


def test_one_call_that_is_forbidden_fails_alone(tmp_path: Path) -> None:
    with BatchServer(lambda t, _: "403" if number(t) == 1 else "ok", answer=answer) as server:
        for _ in range(2):
            ask(tmp_path, server, n=5)
            told = manifest(tmp_path / "run")
            assert told["status"] == "finished"
            assert (told["outcomes"]["answered"], told["outcomes"]["error"]) == (4, 1)
    with (
        BatchServer(lambda _text, _time: "403", answer=answer) as server,
        pytest.raises(UnreachableError, match="not for you"),
    ):
        ask(tmp_path, server, n=5, out=tmp_path / "b", params=Params(seed=1))


def test_a_cancelled_batch_is_not_submitted_behind_the_users_back(tmp_path: Path) -> None:
    courses = {1: "cancelled"}
    with BatchServer(answer=answer, course=lambda n: courses.get(n, "completed")) as server:
        with pytest.raises(RunInterrupted, match=r"batch_1 is cancelled\. Replies so far"):
            ask(tmp_path, server, n=8)
        assert len(server.batches) == 1
        assert len(log(tmp_path / "run")) == 4
        ask(tmp_path, server, n=8)
        assert len(server.lines[1]) == 4
    assert len(log(tmp_path / "run")) == 8


def test_the_other_name_of_the_token_limit(tmp_path: Path) -> None:
    with BatchServer(lambda _text, _time: "other-limit", answer=answer) as server:
        ask(tmp_path, server, n=4, params=Params(max_tokens=9))
        assert [line["body"].get("max_completion_tokens") for line in server.lines[1]] == [9] * 4
        ask(tmp_path, server, n=4, out=tmp_path / "live", params=Params(max_tokens=9), batch=False)
    assert len(server.batches) == 2
    assert manifest(tmp_path / "run")["outcomes"]["answered"] == 4
    assert finals(tmp_path / "run") == finals(tmp_path / "live")


def test_a_time_limit_leaves_the_batch_at_work(tmp_path: Path) -> None:
    course = ["stuck"]
    seen: list[tuple[str, int, int | None]] = []
    with BatchServer(answer=answer, course=lambda _number: course[0]) as server:
        with pytest.raises(RunInterrupted, match="1 batch continues at the endpoint"):
            ask(tmp_path, server, n=5, time_limit=0.5, progress=lambda *told: seen.append(told))
        assert manifest(tmp_path / "run")["status"] == "interrupted"
        assert ("ask", 0, 5) in seen
        server.batches[0].course = "completed"
        ask(tmp_path, server, n=5)
        assert len(server.batches) == 1
    assert manifest(tmp_path / "run")["outcomes"]["answered"] == 5


def test_a_live_session_beside_open_batches_is_refused(tmp_path: Path) -> None:
    with BatchServer(answer=answer, course=lambda _number: "stuck") as server:
        with pytest.raises(RunInterrupted):
            ask(tmp_path, server, time_limit=0.5)
        with pytest.raises(OutputError, match=r"20 calls of this run in batches.*--batch"):
            ask(tmp_path, server, batch=False)


def test_nobody_there_and_nobody_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_questions(tmp_path / "q.jsonl", 3)
    gone = tg.ModelOptions(base_url="http://127.0.0.1:9/v1", max_attempts=2, deadline=2)
    with pytest.raises(UnreachableError, match="cannot connect"):
        tg.run(TASK, "m", out=tmp_path / "a", data=data, model_options=gone, batch=True)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChaosServer() as server:  # live calls only
        live = tg.ModelOptions(base_url=server.base_url)
        with pytest.raises(UnreachableError, match="the endpoint has no batches"):
            tg.run(TASK, "m", out=tmp_path / "b", data=data, model_options=live, batch=True)
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_a_model_without_batches_is_refused_before_the_folder_is_made(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 3)
    with pytest.raises(UsageError, match=r"fake:x doesn't support batches.*--base-url"):
        tg.run(TASK, "fake:x", out=tmp_path / "run", data=data, batch=True)
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="--poll 0: expected a number"):
        tg.run(TASK, "fake:x", data=data, poll_seconds=0)


def test_an_unreadable_state_is_told(tmp_path: Path) -> None:
    with BatchServer(answer=answer) as server:
        ask(tmp_path, server, n=3)
        (tmp_path / "run/batches.json").write_text("{")
        (tmp_path / "run/responses.jsonl").write_text("")
        with pytest.raises(InputError, match=r"batches\.json cannot be read.*delete it"):
            ask(tmp_path, server, n=3, cache=False)


def test_many_calls_go_in_many_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueground.models.batch_runner.MAX_REQUESTS", 3)
    with BatchServer(mixed, answer=answer) as server:
        ask(tmp_path, server)
        assert [len(lines) for lines in server.lines] == [3] * 6 + [2]
        assert set(server.asked.values()) == {1}
        ask(tmp_path, server, out=tmp_path / "live", batch=False, cache=False)
    assert finals(tmp_path / "run") == finals(tmp_path / "live")


def env(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TRUEGROUND_HOME": str(tmp_path / "home")}


def command(data: Path, server: BatchServer, out: Path, *more: str) -> list[str]:
    words = ["run", TASK, "--data", str(data), "--model", "m"]
    words += ["--base-url", server.base_url, "--out", str(out), "--quiet", *more]
    return words


def kill_when(process: subprocess.Popen[bytes], server: BatchServer, requests: int) -> None:
    """Kill it when the endpoint has seen so many requests, or it has ended by itself."""
    give_up = time.monotonic() + 60
    while process.poll() is None and sum(server.requests.values()) < requests:
        assert time.monotonic() < give_up
        time.sleep(0.001)


@killed
def test_killed_before_the_batch_is_noted(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 4)
    with BatchServer(answer=answer, delay=0.4) as server:
        words = command(data, server, tmp_path / "run", "--batch", "--poll", "0.05")
        process = subprocess.Popen([*PROGRAM, *words], env=env(tmp_path))
        give_up = time.monotonic() + 30
        while not server.batches:  # the reply comes 0.2 s later
            assert time.monotonic() < give_up
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert parts(tmp_path / "run")[0]["batch_id"] is None
        assert trueground(*words, env=env(tmp_path)).returncode == 0
        assert server.requests["list"] == server.requests["create"] == len(server.batches) == 1
    assert len(log(tmp_path / "run")) == 4


@killed
@pytest.mark.parametrize(
    ("seed", "kills"), mostly_long(1, [(1, (3,)), (1, range(1, 7)), (2, range(1, 7))])
)
def test_killed_anywhere(tmp_path: Path, seed: int, kills: Sequence[int]) -> None:
    """One part: the process dies between, before and in the middle of requests."""
    dice = random.Random(seed)
    data = write_questions(tmp_path / "q.jsonl", 40)
    batch = ("--batch", "--poll", "0.05")
    with BatchServer(mixed, answer=answer, delay=0.06) as server:
        words = command(data, server, tmp_path / "run", *batch, "--no-cache")
        for kill in kills:
            process = subprocess.Popen([*PROGRAM, *words], env=env(tmp_path))
            kill_when(process, server, kill)
            time.sleep(dice.uniform(0.0, 0.07))
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert trueground(*words, env=env(tmp_path)).returncode == 0
        assert len(server.asked) == 40
        assert set(server.asked.values()) == {1}
        assert len(server.batches) == 1
        live = command(data, server, tmp_path / "live")
        assert trueground(*live, env=env(tmp_path)).returncode == 0
        assert sum(server.live.values()) == 40
    assert finals(tmp_path / "run") == finals(tmp_path / "live")
    assert len(log(tmp_path / "run")) == 40


@pytest.mark.long
@killed
@pytest.mark.parametrize("kills", mostly_long(1, [2, 10]))
def test_killed_among_many_parts(tmp_path: Path, kills: int) -> None:
    """Parts of three: files uploaded, batches made or not, results half taken."""
    dice = random.Random(3)
    data = write_questions(tmp_path / "q20.jsonl", 20)
    with BatchServer(mixed, answer=answer, delay=0.02) as server:
        code = (
            "from trueground.evaluate import batches\n"
            "batches.MAX_REQUESTS = 3\n"
            "from trueground.cli import main\n"
            "main()"
        )
        options = ("--batch", "--poll", "0.02", "--no-cache")
        words = command(data, server, tmp_path / "run", *options)
        words = [sys.executable, "-c", code, *words]
        for _ in range(kills):
            process = subprocess.Popen(words, env=env(tmp_path))
            kill_when(process, server, sum(server.requests.values()) + dice.randint(1, 12))
            time.sleep(dice.uniform(0.0, 0.02))
            process.send_signal(signal.SIGKILL)
            process.wait()
        subprocess.run(words, env=env(tmp_path), check=True)
        assert len(server.asked) == 20
        assert set(server.asked.values()) == {1}
        ask(tmp_path, server, out=tmp_path / "live", batch=False, cache=False)
    assert finals(tmp_path / "run") == finals(tmp_path / "live")
    assert len(log(tmp_path / "run")) == 20


def test_ctrl_c_leaves_the_batch_at_work(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "q.jsonl", 5)
    with BatchServer(answer=answer, course=lambda _number: "stuck") as server:
        words = command(data, server, tmp_path / "run", "--batch", "--poll", "0.05")
        process = subprocess.Popen([*PROGRAM, *words], env=env(tmp_path), stderr=subprocess.PIPE)
        kill_when(process, server, 5)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 130, said
        assert b"Run the same command" in said
        assert manifest(tmp_path / "run")["status"] == "interrupted"
        server.batches[0].course = "completed"
        assert trueground(*words, env=env(tmp_path)).returncode == 0
        assert len(server.batches) == 1
    assert len(log(tmp_path / "run")) == 5
