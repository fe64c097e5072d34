"""kill -9 in every stage of a build: nothing is paid for twice, the same bytes at the end."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.marks import mostly_long
from tests.wings.papers.builders.building import contents, home, source
from tests.wings.papers.builders.little import answering
from tests.wings.papers.builders.scripted_server import ScriptedServer, all_text, scripted
from tests.wings.papers.builders.test_build import done, start

from trueground.models.base import ChatRequest, Reply
from trueground.testing import FakeModel
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.build import BuildSettings
from trueground.wings.papers.builders.store import BuildStore

__all__ = ["home"]
N, CONNECTIONS = 40, 4


def command(folder: Path, server: ScriptedServer, out: str, *more: str) -> list[str]:
    words = [sys.executable, "-m", "tests.wings.papers.builders.little", "build", "little"]
    words += [str(source(folder, N)), "--model", "w", "--judge-model", "j", "--out", out]
    words += ["--base-url", server.url, "--max-connections", str(CONNECTIONS), "--quiet", *more]
    return words


def kill_at(folder: Path, words: list[str], server: ScriptedServer, calls: int) -> None:
    """Kill it as soon as the endpoint has seen so many calls."""
    process = start(folder, words)
    give_up = time.monotonic() + 60
    while process.poll() is None and len(server.calls) < calls:
        assert time.monotonic() < give_up
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def repeated(server: ScriptedServer) -> int:
    """Calls that were made before."""
    asked = Counter((body["model"], all_text(body)) for body in server.calls)
    return sum(n - 1 for n in asked.values())


@pytest.mark.parametrize(
    ("cache", "kills"),
    mostly_long(1, [(["--no-cache"], 2), ([], 2), (["--no-cache"], 8)]),
)
def test_killed_while_asking(home: Path, cache: list[str], kills: int) -> None:
    dice = random.Random(7)
    with scripted(answering(bad=lambda text: "NUMBER 7" in text), delay=0.004) as server:
        words = command(home, server, "killed", *cache)
        moments = sorted(dice.sample(range(1, 4 * N), kills))
        for calls in moments:
            kill_at(home, words, server, calls)
        assert done(home, words)[0] == 0
        assert repeated(server) <= kills * CONNECTIONS
        assert len(server.calls) - repeated(server) == 4 * N
        assert done(home, command(home, server, "whole", "--no-cache"))[0] == 0
    assert contents(home / "killed") == contents(home / "whole")


def outcomes(folder: Path) -> dict[str, bytes]:
    with BuildStore(folder, read_only=True) as store:
        return store.outcomes("check")


@pytest.mark.long
@pytest.mark.parametrize("waits", mostly_long(1, [([0.01],), ([0.0, 0.01],)]))
def test_killed_at_the_end(home: Path, waits: list[float]) -> None:
    """All is asked; the process dies at several moments while it writes."""
    with scripted(answering()) as server:
        words = command(home, server, "killed")
        assert done(home, command(home, server, "whole", "--no-cache"))[0] == 0
        for wait in waits:
            process = start(home, words)
            give_up = time.monotonic() + 60
            while process.poll() is None and len(outcomes(home / "killed/work")) != 2 * N:
                assert time.monotonic() < give_up
                time.sleep(0.0005)
            time.sleep(wait)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        assert done(home, words)[0] == 0
        assert len(server.calls) == 2 * 4 * N
    assert contents(home / "killed") == contents(home / "whole")
    assert not list((home / "killed").rglob(".*"))


class Death(BaseException):
    """What no code of the package catches."""


def test_ended_at_any_call_nothing_is_paid_for_twice(home: Path) -> None:
    """As killed in process: at every call in turn, without the response cache."""
    answer, paid = answering(), Counter[str]()
    left = 0

    class Dying(FakeModel):
        async def generate(self, request: ChatRequest) -> Reply:
            nonlocal left
            left -= 1
            if left < 0:
                raise Death
            paid[f"{self.name}: {request.messages}"] += 1
            return await super().generate(request)

    def reply(request: ChatRequest) -> str:
        return json.dumps(answer({"messages": [{"content": request.messages[0].content}]}))

    file, settings = source(home, 3), BuildSettings(cache=False)
    for step in (1, 2, 3, 50):
        models = {
            role: Dying(reply, name=role, concurrency=1, cacheable=True)
            for role in ("writer", "judge")
        }
        left = step
        with nullcontext() if step == 50 else pytest.raises(Death):
            build("little", file, home / "out", models=models, settings=settings)
    assert set(paid.values()) == {1}
    assert paid.total() == 12
