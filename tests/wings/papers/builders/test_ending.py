"""How a build ends: with nothing left, with failed calls, with models beside the roles."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.building import built, contents, home, manifest
from tests.wings.papers.builders.little import BUILDER, Line, answering, prepare
from tests.wings.papers.builders.scripted_server import all_text, scripted
from tests.wings.papers.builders.test_build import command, done

from trueground.errors import CoverageError, InputError, RunInterrupted, UsageError
from trueground.models.perplexity import UnscoredText
from trueground.models.prices import Price
from trueground.testing import FakeModel
from trueground.types import Usage
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.base import BatchStage, CallEstimate, OtherModel
from trueground.wings.papers.builders.build import BuildRequest, BuildSettings, estimate_build
from trueground.wings.papers.builders.model_names import strip_model_folder
from trueground.wings.papers.builders.registry import BUILDERS

__all__ = ["home"]


def test_nothing_is_left(home: Path) -> None:
    """All is written; the command says why, recommends nothing, and exits with 3."""
    with scripted(answering(bad=lambda _: True)) as server:
        words = command(home, server)
        code, out, err = done(home, words)
        assert code == 3
        assert "build little: 0 items" in out
        assert "next" not in out
        assert "no item is left: the stage check dropped 10 of 10 as bad (the judge finds" in err
        assert "such as 'line5-1' (It says LINE NUMBER 0.)" in err
        assert "Change the source or the options" in err
        assert manifest(home / "out")["status"] == "finished"
        assert (home / "out/dataset/answers.jsonl").read_bytes() == b""
        for file in ("card.md", "report.html"):
            assert "trueground score" not in (home / "out" / file).read_text()
        code, out, err = done(home, [*words, "--quiet"])
        assert (code, out) == (3, "")
        assert "no item is left" in err


def test_the_stage_that_lost_most_is_blamed(home: Path) -> None:
    """And the one that lost the last, where it is another."""

    def answer(body: dict[str, Any]) -> Any:
        writes = body["messages"][0]["content"].startswith("Write")
        if writes and "number 0" not in all_text(body).lower():
            return "nonsense"
        return answering(bad=lambda _: True)(body)

    said: list[str] = []
    with scripted(answer) as server:
        assert built(home, server, note=said.append).items == 0
    (words,) = said
    assert words.startswith(
        "no item is left: the stage write dropped 4 of 5 as not_json (the reply held no JSON, "
        "twice), such as 'line5-2' (found \"nonsense\"); then the stage check dropped 2 of 2 as "
        "bad (the judge"
    )
    assert words.endswith("Change the model or the prompt, and rerun the command")


def test_a_new_build_does_not_take_bad_replies_from_the_cache(home: Path) -> None:
    """What could be used is taken; the same folder does nothing again."""

    def nonsense(body: dict[str, Any]) -> Any:
        bad = "number 1" in all_text(body).lower()
        return "nonsense" if bad else answering()(body)

    with scripted(nonsense) as server:
        assert built(home, server).items == 8
        calls = len(server.calls)
        assert built(home, server).items == 8
        assert built(home, server, out="b", reuse_bad=True).items == 8
        assert len(server.calls) == calls
    with scripted(answering()) as server:
        assert built(home, server, out="c").items == 10
        asked = {all_text(body).splitlines()[-1].lower() for body in server.calls}
        assert asked == {"line number 1", "again line number 1"}
        assert built(home, server, out="d", cache=False).items == 10


def test_one_is_one(home: Path) -> None:
    with scripted(answering(bad=lambda text: "AGAIN" in text)) as server:
        words = [*command(home, server), "--limit", "1"]
        words[words.index("out")] = "my out"
        code, out, _ = done(home, words)
        assert code == 0
        assert "build little: 1 item (the limit left out 5 rows)" in out
        assert "judge  j: 2 calls, 0 from the cache" in out
        assert "next   trueground score 'my out/dataset'/answers.jsonl" in out
        _, out, _ = done(home, [*words, "--dry-run"])
        assert "1 source item; already stored: 3 outcomes" in out


def dying(n: int) -> Any:
    """An endpoint whose writer fails from the n-th call on."""
    healthy, calls = answering(), iter(range(10_000))

    def answer(body: dict[str, Any]) -> Any:
        return healthy(body) if next(calls) < n else (400, {"error": {"message": "it is sad"}})

    return answer


def test_too_many_failed_calls_stop_the_build(home: Path) -> None:
    with scripted(answering()) as server:
        built(home, server, n=5, cache=False)
    before = contents(home / "out")
    with scripted(dying(10)) as server:
        with pytest.raises(CoverageError, match=r"--max-failed 0\.1") as met:
            built(home, server, n=40, cache=False)
        assert "it is sad" in str(met.value)
        assert len(server.calls) < 40  # it did not go on to the end
    after = contents(home / "out")
    ended = ["dropped.jsonl", "summary.json", "report.html", "card.md", "dataset/answers.jsonl"]
    assert all(after[name] == before[name] for name in ended)
    assert (manifest(home / "out")["status"], manifest(home / "out")["finished"]) == (
        "failed",
        None,
    )
    with scripted(answering()) as server:
        built(home, server, n=40, cache=False)
        assert len(server.calls) < 160  # replies of the session that was stopped are kept
        built(home, server, n=40, out="whole", cache=False)
    assert contents(home / "out") == contents(home / "whole")


def test_the_share_that_may_fail(home: Path) -> None:
    def answer(body: dict[str, Any]) -> Any:
        sad = "NUMBER 3" in all_text(body) and body["model"] == "j"
        return (400, {"error": {"message": "sad"}}) if sad else answering()(body)

    with scripted(answer) as server:
        # Two of the ten that come to the judge, which are more than the five lines of the source.
        with pytest.raises(CoverageError, match=r"1 item dropped|2 items dropped"):
            built(home, server, max_failed=0.19)
        assert built(home, server, max_failed=0.2).items == 8
        code, _, err = done(home, command(home, server, "--max-failed", "0.1"))
        assert code == 3
        assert "give --max-failed a larger share" in err
        with pytest.raises(UsageError, match="expected a number from 0 to 1"):
            built(home, server, max_failed=1.5)


class Scorer:
    name = signature = "tests:scorer"
    cacheable = True

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.silent: set[str] = set()

    async def logprobs(self, text: str) -> list[float]:
        self.texts.append(text)
        if text in self.silent:
            raise UnscoredText("call_failed", "HTTP 500", passing=True)
        return [-1.0, -2.0]

    async def close(self) -> None:
        pass


@contextmanager
def changed(**parts: Any) -> Iterator[None]:
    """The little builder with other parts of its plan."""

    def plan(options: Mapping[str, Any], material: Any) -> Any:
        made = prepare(options, material)
        more = {name: part(made) if name == "stages" else part for name, part in parts.items()}
        return replace(made, **more)

    BUILDERS["little"] = replace(BUILDER, prepare=plan)
    yield


def scoring(plan: Any) -> list[Any]:
    """The writer's stage, with perplexities of every line behind it."""
    first = plan.stages[0]

    async def work(item: Line, client: Any) -> Any:
        made = await first.work(item, client)
        texts = [one.text for one in made] * 2
        found = await asyncio.gather(*map(client.logprobs, texts), return_exceptions=True)
        assert all(one == [-1.0, -2.0] or isinstance(one, UnscoredText) for one in found)
        return made

    calls = [
        CallEstimate("perplexity", lambda tokens: tokens, 0, 2),
        CallEstimate("facts", 10, 1, 3),
    ]
    return [replace(first, work=work, calls=calls, identity={"version": time.monotonic()})]


def test_perplexities_are_paid_for_once(home: Path) -> None:
    scorer = Scorer()
    scorer.silent = {"LINE NUMBER 1"}
    with scripted(answering()) as server, changed(stages=scoring, scorer=scorer):
        built(home, server, n=3, cache=False)
        assert len(scorer.texts) == 6 + 1  # the silent one was asked for again at once
        built(home, server, n=3, cache=False)  # another identity: all is done again
        assert len(scorer.texts) == 7 + 2
        scorer.silent = set()
        built(home, server, n=3, cache=False)
        assert len(scorer.texts) == 9 + 1
        told_of = manifest(home / "out")["models"]["perplexity"]
        assert (told_of["name"], told_of["signature"]) == ("tests:scorer", "tests:scorer")
        # Each session asks for six texts twice; those that failed are calls too.
        assert (told_of["calls"], told_of["failed"]) == (10, 4)
        assert told_of["tokens_in"] == 3 * 6
        assert told_of["cache_hits"] == 36 - 10
        built(home, server, n=3, out="other", cache=True)
        n = len(scorer.texts)
        built(home, server, n=3, out="third", cache=True)
        assert len(scorer.texts) == n  # they are in the response cache too


def test_models_beside_the_roles_are_told(home: Path) -> None:
    spent = Usage()

    def judge(plan: Any) -> list[Any]:
        async def work(item: Line, client: Any) -> Any:
            nonlocal spent
            spent += Usage(2, 30, 4)
            return await plan.stages[0].work(item, client)

        calls = [CallEstimate("facts", 15, 2, 2), CallEstimate("nobody", 9, 9, 9)]
        return [replace(plan.stages[0], work=work, calls=calls)]

    closed: list[int] = []
    others = {"facts": OtherModel("llm:big", "sig", lambda: spent)}
    more: dict[str, Any] = {"others": others, "close": lambda: closed.append(1)}
    with scripted(answering()) as server, changed(stages=judge, **more):
        prices = {name: Price(1e6, 0.0) for name in ("w", "j", "llm:big")}
        for_one = BuildSettings(prices=prices)
        models = {"writer": FakeModel("x"), "judge": FakeModel("x")}
        (home / "a.txt").write_text("one\ntwo\n")
        with pytest.raises(UsageError, match="table of prices"):
            estimate_build(
                BuildRequest(
                    "little", home / "a.txt", home / "out", models=models, settings=for_one
                )
            )
        found = estimate_build(BuildRequest("little", home / "a.txt", home / "out", models=models))
        assert [(one.role, one.model, one.calls) for one in found.stages] == [
            ("facts", "llm:big", 4)
        ]
        assert len(closed) == 2
        made = built(home, server, n=3, prices=prices)
        assert made.usage["facts"]["calls"] == 6
        built(home, server, n=4)
        assert manifest(home / "out")["models"]["facts"]["tokens_in"] == 3 * 30 + 7 * 30 + 0
        assert len(closed) == 4
        assert "llm:big" in (home / "out/card.md").read_text()


def test_a_plan_is_closed_where_the_build_does_not_begin(home: Path) -> None:
    closed: list[int] = []
    models = {"writer": FakeModel("x"), "judge": FakeModel("x")}
    with changed(close=lambda: closed.append(1)), pytest.raises(InputError, match="be read"):
        build("little", home / "absent", home / "out", models=models)
    assert closed == [1]


@pytest.mark.parametrize("beside", [False, True])
def test_ctrl_c_does_not_wait_for_a_stage_that_sees_all(home: Path, beside: bool) -> None:
    over = threading.Event()

    def endless(_items: Any) -> Any:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        over.wait(20)
        return []

    def stages(plan: Any) -> list[Any]:
        return [plan.stages[0], BatchStage("wait", "Wait", Line, endless)]

    async def main(server: Any) -> None:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        built(home, server)

    begun = time.monotonic()
    try:
        with (
            scripted(answering()) as server,
            changed(stages=stages),
            pytest.raises(RunInterrupted),
        ):
            asyncio.run(main(server)) if beside else built(home, server)
        assert time.monotonic() - begun < 10
        assert manifest(home / "out")["status"] == "interrupted"
    finally:
        over.set()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("fake:@/home/mira/replies.jsonl", "fake:@replies.jsonl"),
        ("fake:@replies.jsonl", "fake:@replies.jsonl"),
        ("fake:/a/b", "fake:/a/b"),  # what it says, not a file
        ("replay:/data/run/items.jsonl", "replay:items.jsonl"),
        ("hf:/models/llama", "hf:llama"),
        ("hf:meta/llama", "hf:meta/llama"),
        ("meta/llama", "meta/llama"),
        ("fake:@/", "fake:@/"),
    ],
)
def test_folders_of_this_machine_are_not_told(name: str, shown: str) -> None:
    assert strip_model_folder(name) == shown


def test_neither_page_nor_notice_tells_them(home: Path) -> None:
    replies = home / "replies.jsonl"
    replies.write_text('{"contains": [], "reply": {"upper": "X", "good": true, "why": ""}}\n')
    models = {"writer": f"fake:@{replies}", "judge": f"fake:@{replies}"}
    (home / "a.txt").write_text("one\n")
    made = build("little", home / "a.txt", home / "out", models=models)
    assert "The judge fake:@replies.jsonl also wrote the items" in made.summary["notices"][-1]
    for file in ("card.md", "report.html", "summary.json"):
        text = (made.path / file).read_text()
        assert "fake:@replies.jsonl" in text
        assert f"fake:@{home}" not in text
