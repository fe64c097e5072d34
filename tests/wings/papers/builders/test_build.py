"""Whole builds that something disturbs: failed calls, nobody there, Ctrl-C, a full disk."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.commands import trueground
from tests.wings.papers.builders.building import (
    FAST,
    built,
    contents,
    home,
    manifest,
    reasons,
    source,
)
from tests.wings.papers.builders.little import answering
from tests.wings.papers.builders.scripted_server import ScriptedServer, all_text, scripted

import trueground as tg
from trueground.errors import RunInterrupted, UnreachableError, UsageError
from trueground.wings.papers.builders.build import BuildSettings
from trueground.wings.papers.builders.settings import EndpointDefaults

__all__ = ["home"]


def command(folder: Path, server: ScriptedServer, *more: str) -> list[str]:
    words = [sys.executable, "-m", "tests.wings.papers.builders.little", "build", "little"]
    words += [str(source(folder)), "--model", "w", "--judge-model", "j", "--out", "out"]
    return [*words, "--base-url", server.url, "--max-connections", "4", *more]


def start(folder: Path, words: list[str], **more: Any) -> subprocess.Popen[str]:
    root = Path(__file__).parents[4]
    path = f"{root}{os.pathsep}{root / 'src'}"
    env = {**os.environ, "TRUEGROUND_HOME": str(folder / "home"), "PYTHONPATH": path}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, cwd=folder, env=env, **pipes, **more)


def done(folder: Path, words: list[str], **more: Any) -> tuple[int, str, str]:
    """How the command ends; in a process of its own where more is said of it."""
    if more:
        process = start(folder, words, **more)
        out, err = process.communicate(timeout=60)
        code = process.returncode
    else:
        env = {**os.environ, "TRUEGROUND_HOME": str(folder / "home")}
        code, out, err = trueground(*words[3:], cwd=folder, env=env)
    assert "Traceback" not in err
    return code, out, err


def test_the_command(home: Path) -> None:
    with scripted(answering(bad=lambda text: "NUMBER 1" in text)) as server:
        code, out, err = done(home, command(home, server))
        assert (code, err) == (0, "")
        assert "build little: 8 items" in out
        assert "2  bad: the judge finds it bad" in out
        assert f"next   trueground score {Path('out/dataset')}/answers.jsonl" in out
        code, out, err = done(home, command(home, server, "--format", "json", "--limit", "1"))
        assert (json.loads(out)["n"], json.loads(out)["left_out"]) == (2, 5)
        code, out, err = done(home, command(home, server, "--dry-run"))
        assert (code, err) == (0, "")
        assert "5 source items; already stored: 15 outcomes" in out
        words = command(home, server, "--dry-run", "--param", 'top_k={"a": 1}', "--deadline", "9")
        rows = [" ".join(line.split()) for line in done(home, words)[1].splitlines()]
        assert any(row.startswith("write writer w 10 ") for row in rows)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--param", "api_key=1"], "looks like a secret"),
        (["--param", "x"], "NAME=JSON"),
        (["--prompt", "little_write"], "NAME=FILE"),
        (["--prompt", "nobody=x.txt"], "has no prompt 'nobody'; it has little_write"),
        (["--prompt", "little_write=absent.txt"], "can't be read"),
        (["--deadline", "inf"], "finite"),
        (["--second-model", ""], "empty value"),
    ],
)
def test_options_that_cannot_be_meant(home: Path, more: list[str], words: str) -> None:
    with scripted(answering()) as server:
        code, _, err = done(home, command(home, server, *more))
    assert code == 2
    assert words in err
    assert not server.calls
    assert not (home / "out").exists()


def test_failed_calls_are_told_and_tried_again(home: Path) -> None:
    healthy = answering()
    broken = True

    def answer(body: dict[str, Any]) -> Any:
        if broken and "number 2" in all_text(body).lower():
            return 400, {"error": {"message": "the machine is sad"}}
        return healthy(body)

    with scripted(answer) as server:
        whole = contents(built(home, server, out="other", n=3, cache=False, max_failed=1).path)
        notes: list[str] = []
        made = built(home, server, n=3, cache=False, note=notes.append, max_failed=0.4)
        assert reasons(made)["write"] == {"call_failed": 1}
        assert len(notes) == 1
        assert "1 item dropped because calls failed" in notes[0]
        assert "the machine is sad" in notes[0]
        assert "rerun the same command to try it again" in notes[0]
        assert manifest(made.path)["models"]["writer"]["failed"] >= 1
        assert contents(made.path) == whole
        broken, since = False, len(server.calls)
        made = built(home, server, n=3, cache=False, note=notes.append)
        assert len(notes) == 1
        assert made.items == 6
        assert all("NUMBER 2" in all_text(b).upper() for b in server.calls[since:])
        assert len(server.calls) - since == 4


def test_an_endpoint_that_goes_away(home: Path) -> None:
    """Exit 4; what was made before is kept, and the next session goes on."""
    healthy = answering()
    broken = True

    def answer(body: dict[str, Any]) -> Any:
        if broken and body["model"] == "j":
            return 401, {"error": {"message": "Incorrect API key"}}
        return healthy(body)

    with scripted(answer) as server:
        code, _, err = done(home, command(home, server, "--no-cache"))
        assert code == 4
        assert "rerun the same command to resume" in err
        told = manifest(home / "out")
        assert (told["status"], told["finished"]) == ("failed", None)
        assert "cannot be reached" in told["error"]
        assert told["models"]["writer"]["calls"] == 10
        broken, since = False, len(server.calls)
        assert done(home, command(home, server, "--no-cache"))[0] == 0
        assert {body["model"] for body in server.calls[since:]} == {"j"}
        assert manifest(home / "out")["models"]["writer"]["calls"] == 10


def test_nobody_there(home: Path) -> None:
    settings = BuildSettings(endpoint=EndpointDefaults(base_url="http://127.0.0.1:9/v1", **FAST))
    models = {"writer": "w", "judge": "j"}
    with pytest.raises(UnreachableError):
        tg.build("little", source(home), home / "out", models=models, settings=settings)
    assert manifest(home / "out")["status"] == "failed"


@pytest.mark.parametrize("model", ["w", "j"])
def test_interrupted(home: Path, model: str) -> None:
    with scripted(answering(), delay=0.05) as server:
        process = start(home, command(home, server))
        give_up = time.monotonic() + 30
        while not any(body["model"] == model for body in server.calls):
            assert time.monotonic() < give_up
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert (process.returncode, "Traceback" in err) == (130, False)
        assert "Rerun the same command to resume" in err
        assert manifest(home / "out")["status"] == "interrupted"
        assert done(home, command(home, server))[0] == 0
        assert len(server.calls) <= 20 + 4
        whole = home / "out"
        built(home, server, out="whole", cache=False)
    assert contents(whole) == contents(home / "whole")


def test_within_an_event_loop(home: Path) -> None:
    async def main(server: ScriptedServer) -> int:
        return built(home, server).items

    with scripted(answering()) as server:
        assert asyncio.run(main(server)) == 10


def test_interrupted_within_an_event_loop(home: Path) -> None:
    def interrupt(server: ScriptedServer) -> None:
        while not server.calls:
            time.sleep(0.005)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    async def main(server: ScriptedServer) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=interrupt, args=(server,), daemon=True).start()
        built(home, server)

    with scripted(answering(), delay=0.2) as server:
        with pytest.raises(RunInterrupted):
            asyncio.run(main(server))
        assert len(server.calls) <= 8
        assert built(home, server).items == 10


def test_a_full_disk(home: Path) -> None:
    """Exit 5 at whatever file it happens; with room again the build ends as any other."""

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500, 1_500))

    with scripted(answering()) as server:
        words = command(home, server, "--no-cache")
        code, _, err = done(home, words, preexec_fn=little_room)
        assert code == 5
        assert "Make room" in err
        calls = len(server.calls)
        assert done(home, words)[0] == 0
        assert len(server.calls) - 20 <= min(calls, 8)  # those whose reply could not be kept
        built(home, server, out="whole", cache=False)
    assert contents(home / "out") == contents(home / "whole")


def test_two_at_once(home: Path) -> None:
    answer, second_has_seen_it = answering(), threading.Event()

    def waiting(body: dict[str, Any]) -> Any:
        second_has_seen_it.wait(60)
        return answer(body)

    with scripted(waiting) as server:
        first = start(home, command(home, server))
        while not server.calls:
            assert first.poll() is None
            time.sleep(0.005)
        code, _, err = done(home, command(home, server))
        second_has_seen_it.set()
        assert code == 2
        assert "in use by another build" in err
        first.communicate(timeout=60)
        assert first.returncode == 0


def test_one_model_in_two_roles_is_closed_once(home: Path) -> None:
    class Closing(tg.testing.FakeModel):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    fake = Closing(lambda _: '{"upper": "X", "good": true, "why": ""}')
    models = {"writer": fake, "judge": fake, "second": fake}
    made = tg.build("little", source(home), home / "out", models=models)
    assert (made.items, fake.closed) == (1, 1)


def test_an_unknown_builder() -> None:
    with pytest.raises(UsageError, match="unknown builder 'litle'"):
        tg.build("litle", "x", "y", models={})
