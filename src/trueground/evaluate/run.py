"""Ask a model a benchmark's questions, then score its answers: one model, one task."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trueground.benchmarks.base import Sources, Task, Value
from trueground.benchmarks.registry import get_benchmark
from trueground.errors import RunInterrupted, UsageError
from trueground.evaluate.calibrating import Calibrations
from trueground.evaluate.parts import JudgeName, make_parts
from trueground.evaluate.questions import RunSettings
from trueground.evaluate.result import Result
from trueground.evaluate.session import Session
from trueground.models.base import ChatModel
from trueground.models.options import ModelOptions
from trueground.models.registry import make_model
from trueground.records import Check
from trueground.runs.directory import free_path

if TYPE_CHECKING:
    from trueground.claims import Decomposer
    from trueground.judges.rating import Rater

T = TypeVar("T")
_Run = tuple[Task, ChatModel, Path, RunSettings]


def run(
    benchmark: str,
    model: str | ChatModel,
    *,
    out: str | Path | None = None,
    options: Mapping[str, Value] | None = None,
    data: str | Path | None = None,
    prompt: str | Path | None = None,
    model_options: ModelOptions | None = None,
    judge: JudgeName | Sequence[JudgeName] | None = None,
    decomposer: str | Decomposer = "rules",
    rater: str | Rater | None = None,
    judge_calibration: Calibrations | None = None,
    **settings: Any,
) -> Result:
    """Ask a model the questions of a benchmark's task ("faitheval/unanswerable"), and score.

    `model` is a name as for `trueground run --model`, or any ChatModel. `out` is the run directory,
    where a run that was broken off goes on; without it a new one, runs/<utc-time>-<name>. `options`
    are those of the benchmark, `settings` the fields of RunSettings. `judge` (None: the benchmark's
    under these options), `decomposer`, `rater` and `judge_calibration` are as for `score`. May be
    called where an event loop runs.

    Raises UsageError, InputError, OutputError, UnreachableError, RunInterrupted and WriteError.
    """
    judging = (judge, decomposer, rater, judge_calibration)
    asking = (options or {}, data, prompt, model_options)
    with _prepared(benchmark, model, out, asking, judging, settings) as prepared:
        return run_task(*prepared)


async def arun(
    benchmark: str,
    model: str | ChatModel,
    *,
    out: str | Path | None = None,
    options: Mapping[str, Value] | None = None,
    data: str | Path | None = None,
    prompt: str | Path | None = None,
    model_options: ModelOptions | None = None,
    judge: JudgeName | Sequence[JudgeName] | None = None,
    decomposer: str | Decomposer = "rules",
    rater: str | Rater | None = None,
    judge_calibration: Calibrations | None = None,
    **settings: Any,
) -> Result:
    """`run` for callers that own an event loop: calls are made in it, scoring in a thread."""
    judging = (judge, decomposer, rater, judge_calibration)
    asking = (options or {}, data, prompt, model_options)
    with _prepared(benchmark, model, out, asking, judging, settings) as prepared:
        return await arun_task(*prepared)


@contextmanager
def _prepared(
    benchmark: str,
    model: str | ChatModel,
    out: str | Path | None,
    asking: tuple[Mapping[str, Value], str | Path | None, str | Path | None, ModelOptions | None],
    judging: tuple[
        JudgeName | Sequence[JudgeName] | None,
        str | Decomposer,
        str | Rater | None,
        Calibrations | None,
    ],
    settings: Mapping[str, Any],
) -> Iterator[_Run]:
    """The parts behind the names. Raises UsageError, InputError."""
    options, data, prompt, model_options = asking
    judge, decomposer, rater, calibration = judging
    name, slash, task_name = benchmark.partition("/")
    if judge is None:
        judge = get_benchmark(name).judge(options)
    cache = settings.get("cache", True)
    parts = make_parts(judge, decomposer, rater, cache=cache, calibration=calibration)
    with closing(parts):
        unknown = settings.keys() - RunSettings.__dataclass_fields__.keys()
        if unknown:
            known = ", ".join(RunSettings.__dataclass_fields__)
            raise UsageError(f"unknown setting {min(unknown)!r}; settings are: {known}")
        found = get_benchmark(name)
        if not slash or task_name not in found.tasks:
            tasks = ", ".join(f"{name}/{known}" for known in found.tasks)
            raise UsageError(f"{benchmark!r} names no single task; tasks are: {tasks}")
        own = RunSettings(**{**settings, "parts": parts})
        sources = Sources(
            Path(data) if data else None,
            Path(prompt) if prompt else None,
            model if isinstance(model, str) else None,
            limit=own.limit,
            cache=own.cache,
        )
        task = found.prepare(task_name, options, sources)
        if isinstance(model, str):
            model = make_model(model, model_options or ModelOptions())
        path = free_path(f"{task.benchmark}-{task.name}") if out is None else Path(out)
        yield task, model, path, own


def run_task(
    task: Task, model: ChatModel, out: Path, settings: RunSettings, check: Check | None = None
) -> Result:
    """Ask and score, for callers that own no event loop (one that runs already does no harm).

    `check` is what `check_questions` returned, where that has been done.
    """
    with Session(task, model, out, settings, check) as session:
        try:
            run_in_own_loop(_ask(session, model))
            return session.score()
        except KeyboardInterrupt:
            there = "; batches go on at the endpoint" if settings.batch else ""
            raise RunInterrupted(
                f"interrupted; what was answered is kept in {out}{there}. Run the same command to "
                "go on"
            ) from None


async def arun_task(task: Task, model: ChatModel, out: Path, settings: RunSettings) -> Result:
    """The same for callers that own an event loop: calls are made in it, scoring in a thread."""
    with await asyncio.to_thread(Session, task, model, out, settings) as session:
        await _ask(session, model)
        scoring = asyncio.ensure_future(asyncio.to_thread(session.score))
        try:
            return await asyncio.shield(scoring)
        except asyncio.CancelledError:
            # A thread cannot be stopped; the folder stays ours until it has written its last line.
            await asyncio.wait([scoring])
            raise


async def _ask(session: Session, model: ChatModel) -> None:
    try:
        await session.ask()
    finally:
        await model.close()


def run_in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, in an event loop of its own: beside one that runs, in a thread.

    Ctrl-C cancels the work in either case.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    loops: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []
    unwanted = threading.Event()

    async def noted() -> T:
        task = asyncio.current_task()
        assert task is not None
        loops.append((asyncio.get_running_loop(), task))
        if unwanted.is_set():  # before there was a task to cancel
            task.cancel()
        return await work

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, noted())
        try:
            return future.result()
        except BaseException:
            unwanted.set()
            for loop, task in loops:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(task.cancel)
            raise
