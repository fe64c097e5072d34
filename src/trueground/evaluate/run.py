"""Ask a model a benchmark's questions, then score its answers: one model, one task."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trueground.evaluate.run_settings import RunRequest, RunSettings

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task as AsyncTask

    from trueground.benchmarks import Task
    from trueground.evaluate.page_writer import PageWriter
    from trueground.evaluate.session import Session
    from trueground.models import ChatModel
    from trueground.records import Check
    from trueground.runs import Result


T = TypeVar("T")


def run_request(request: RunRequest, write_page: PageWriter | None = None) -> Result:
    """Ask and score as the request says; `write_page` adds the page of the run."""
    with _prepare(request, write_page) as prepared:
        return run_task(*prepared)


async def arun_request(request: RunRequest, write_page: PageWriter | None = None) -> Result:
    """`run_request` for callers that own an event loop."""
    with _prepare(request, write_page) as prepared:
        return await arun_task(*prepared)


@contextmanager
def _prepare(
    request: RunRequest, write_page: PageWriter | None
) -> Iterator[tuple[Task, ChatModel, Path, RunSettings]]:
    """The components that the request names. Raises UsageError, InputError."""
    from trueground.benchmarks import Sources, get_benchmark
    from trueground.errors import UsageError
    from trueground.evaluate.components import make_components
    from trueground.execution import open_progress
    from trueground.models import make_model
    from trueground.runs import free_path

    name, slash, task_name = request.benchmark.partition("/")
    model, options = request.model, request.options or {}
    if not isinstance(model, str):
        make_model(model)  # what can be refused is refused before anything is read
    benchmark = get_benchmark(name)
    parts = make_components(
        benchmark.judge(options) if request.judge is None else request.judge,
        request.decomposer,
        request.rater,
        cache=request.cache,
        calibration=request.judge_calibration,
    )
    with closing(parts), open_progress(request.progress) as progress:
        if not slash or task_name not in benchmark.tasks:
            tasks = ", ".join(f"{name}/{task}" for task in benchmark.tasks)
            raise UsageError(f"{request.benchmark!r} names no single task; tasks are: {tasks}")
        settings = request.settings(parts, progress, write_page)
        sources = Sources(
            Path(request.data) if request.data else None,
            Path(request.prompt) if request.prompt else None,
            model if isinstance(model, str) else None,
            limit=request.limit,
            cache=request.cache,
        )
        task = benchmark.prepare(task_name, options, sources)
        if isinstance(model, str):
            model = make_model(model, request.model_options)
        out = request.out
        path = free_path(f"{task.benchmark}-{task.name}") if out is None else Path(out)
        yield task, model, path, settings


def run_task(
    task: Task, model: ChatModel, out: Path, settings: RunSettings, check: Check | None = None
) -> Result:
    """Ask and score, for callers that own no event loop (one that runs already does no harm).

    `check` is what `check_questions` returned, where that has been done.
    """
    from trueground.errors import RunInterrupted
    from trueground.evaluate.session import Session

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


def ask_shard(task: Task, model: ChatModel, out: Path, settings: RunSettings) -> Path:
    """Ask the questions of `settings.shard` alone, and score nothing; the folder of the replies.

    It lies below `out`. When all shards are asked, `trueground.evaluate.shards.merge.join_logs`
    makes one log of theirs, which the same run without a shard scores.
    """
    from trueground.errors import OutputError
    from trueground.evaluate.session import Session, check_same, identify_run
    from trueground.runs import RESPONSES, Shards, check_resumable, count_lines

    check_resumable(out, sharded=True)
    folder = Shards(out).folder(*(settings.shard or (0, 1)))
    identity = identify_run(task, settings, model.signature)
    for other in (out, *sorted(folder.parent.glob("*-of-*"))):
        check_same(other, identity)
    if count_lines(out / RESPONSES):
        raise OutputError(
            f"{out} holds replies already; go on by the same command without --shard, which asks "
            "only what is missing"
        )
    with Session(task, model, folder, settings) as session:
        run_in_own_loop(_ask(session, model))
        session.end()
    return folder


async def arun_task(task: Task, model: ChatModel, out: Path, settings: RunSettings) -> Result:
    """The same for callers that own an event loop: calls are made in it, scoring in a thread."""
    import asyncio

    from trueground.evaluate.session import Session

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
    import asyncio
    import threading
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    loops: list[tuple[AbstractEventLoop, AsyncTask[Any]]] = []
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
