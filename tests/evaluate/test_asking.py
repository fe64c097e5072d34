"""Many calls at a time: how many workers there are, and what becomes of odd replies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from trueground.errors import UnreachableError, UsageError
from trueground.evaluate.questions import RunReplies
from trueground.models.base import (
    ChatRequest,
    Message,
    Reply,
    TokenUsage,
)
from trueground.models.runner import ModelRequest, RequestRunner
from trueground.net.cache import ResponseCache
from trueground.runs.responses import Response, ResponseLog
from trueground.types import Status


class Model:
    """Answers with its own words, or raises what a request names."""

    name = signature = "m"
    cacheable = True

    def __init__(self, concurrency: int = 4, faults: dict[str, BaseException | None] | None = None):
        self.concurrency = concurrency
        self.faults = faults or {}
        self.usage = TokenUsage(1, 1)
        self.calls: list[str] = []
        self.tasks = self.under_way = self.most = 0

    async def generate(self, request: ChatRequest) -> Reply:
        text = request.messages[0].content
        self.calls.append(text)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.tasks = max(self.tasks, len(asyncio.all_tasks()))
        await asyncio.sleep(0.001)
        self.under_way -= 1
        if text in self.faults:
            fault = self.faults[text]
            if fault is None:
                return Reply(status=Status.ERROR, error="nobody", finish_reason=Reply.UNREACHABLE)
            raise fault
        return Reply(text=text.upper(), usage=self.usage)

    async def close(self) -> None:
        pass


def make_runner(
    model: Model, log: ResponseLog, cache: ResponseCache | None = None
) -> RequestRunner:
    store = RunReplies(model, log, lambda: None)
    return RequestRunner(model, advice="", cache=cache, store=store, tolerates_first=True)


def calls(*texts: str) -> Iterator[ModelRequest]:
    for number, text in enumerate(texts):
        messages = (Message("user", text),)
        yield ModelRequest(ChatRequest(messages), f"{number}", ChatRequest(messages).prompt_sha256)


def ask(folder: Path, model: Model, *texts: str) -> dict[str, Response]:
    """The replies by text; what is raised comes out, and the log stays."""
    with ResponseLog(folder / "responses.jsonl") as log:
        cache = ResponseCache(folder / "cache.sqlite")
        try:
            asyncio.run(make_runner(model, log, cache).run_all(calls(*texts)))
        finally:
            cache.close()
        return {text: log.get(f"{number}") for number, text in enumerate(texts)}  # type: ignore[misc]


TEXTS = tuple(f"q{n}" for n in range(30))


def test_so_many_workers_as_allowed_and_never_more_than_calls(tmp_path: Path) -> None:
    few = Model(4)
    made = ask(tmp_path, few, *TEXTS)
    assert {text: made[text].response for text in TEXTS} == {text: text.upper() for text in TEXTS}
    assert (few.most, len(few.calls)) == (4, 30)
    (tmp_path / "many").mkdir()
    many = Model(100_000_000)
    ask(tmp_path / "many", many, *TEXTS)
    assert (many.most, many.tasks) == (30, 31)


def test_the_same_question_is_paid_once(tmp_path: Path) -> None:
    model = Model(8)
    made = ask(tmp_path, model, *["same"] * 20, "other")
    assert sorted(model.calls) == ["other", "same"]
    assert made["same"].response == "SAME"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (RecursionError("too deep"), "unforeseen RecursionError: too deep"),
        (TimeoutError(), "unforeseen TimeoutError: "),
        (AssertionError("x\n" * 900), "unforeseen AssertionError: " + "x " * 100 + "…"),
        (
            ValueError("Authorization: Bearer abcdefghijklmnop"),
            "ValueError: Authorization: [hidden]",
        ),
    ],
)
def test_a_fault_that_nobody_foresaw_fails_one_call(
    tmp_path: Path, fault: Exception, words: str
) -> None:
    made = ask(tmp_path, Model(4, {"q3": fault}), *TEXTS)
    odd = made.pop("q3")
    assert (odd.status, odd.response) == (Status.ERROR, None)
    assert (odd.error or "").rstrip().endswith(words.rstrip())
    assert all(response.status is None for response in made.values())


@pytest.mark.parametrize("fault", [UsageError("no"), KeyboardInterrupt(), None])
def test_what_concerns_the_run_ends_it(tmp_path: Path, fault: BaseException | None) -> None:
    expected = type(fault) if fault else UnreachableError
    with pytest.raises(expected):
        ask(tmp_path, Model(4, dict.fromkeys(TEXTS, fault)), *TEXTS)


def test_calls_that_cannot_be_read_end_it(tmp_path: Path) -> None:
    def broken() -> Iterator[ModelRequest]:
        yield from calls(*TEXTS[:2])
        raise OSError("gone")

    with ResponseLog(tmp_path / "responses.jsonl") as log, pytest.raises(OSError, match="gone"):
        asyncio.run(make_runner(Model(8), log).run_all(broken()))


def test_after_so_many_losses_the_run_ends(tmp_path: Path) -> None:
    texts = [f"q{n}" for n in range(100)]
    model = Model(3, dict.fromkeys(texts[1:]))
    with pytest.raises(UnreachableError, match="m cannot be reached: nobody"):
        ask(tmp_path, model, *texts)
    assert 23 <= len(model.calls) <= 30


def test_cancelling_ends_all_workers(tmp_path: Path) -> None:
    async def main() -> int:
        with ResponseLog(tmp_path / "responses.jsonl") as log:
            runner = make_runner(Model(4), log)
            task = asyncio.create_task(runner.run_all(calls(*TEXTS * 50)))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1


def test_odd_numbers_of_tokens_reach_no_file(tmp_path: Path) -> None:
    model = Model(1)
    model.usage = TokenUsage(10**30, -5, 7)
    assert ask(tmp_path, model, "a")["a"].usage == TokenUsage(0, 0, 7)
