"""One session of a run: what was answered before is kept, the rest is asked, then all is scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import msgspec

from trueground.benchmarks.base import Task
from trueground.errors import UnreachableError
from trueground.evaluate.asking import Asking, Call
from trueground.evaluate.identity import check_same, identity
from trueground.evaluate.manifest import end_manifest, judged_before, judging, make_manifest
from trueground.evaluate.plan import check_breakdowns
from trueground.evaluate.questioned import REPEAT
from trueground.evaluate.questions import AnsweredQuestions, Outcome
from trueground.evaluate.result import Result, Summary
from trueground.evaluate.run_settings import RunSettings, questionnaire, run_plan
from trueground.evaluate.values import Values
from trueground.evaluate.work import Work
from trueground.models.base import ChatModel
from trueground.models.pricing import price_of
from trueground.net.cache import ResponseCache, default_path
from trueground.records import Check
from trueground.records.checks import Tally
from trueground.runs.directory import BATCHES, ITEMS, MANIFEST, RESPONSES, RunDirectory, write_json
from trueground.runs.responses import ResponseLog


def check_questions(task: Task, settings: RunSettings) -> Check:
    """Read every question once: how many answers are wanted, and what stands in the records.

    Raises InputError for a row that is no question, UsageError for a breakdown that is not there.
    """
    tally, progress = Tally(), settings.progress
    for drawn in questionnaire(task, settings).drawn():
        tally.count(drawn.question.record)
        if tally.n % 1024 == 0:
            progress("check", tally.n, None)
    progress("check", tally.n, tally.n)
    check = Check(tally.n, [], 0, tally.fields(), False, list(task.files), tally.breakdowns())
    own = [field for field in run_plan(task, settings).by if field != f"meta.{REPEAT}"]
    check_breakdowns(own, check)
    return check


class Session:
    """One run under way: `await ask()`, then `score()`. Holds the run directory's lock."""

    def __init__(
        self,
        task: Task,
        model: ChatModel,
        out: Path,
        settings: RunSettings,
        check: Check | None = None,
    ) -> None:
        """Read the questions, unless `check` tells that they have been read, and take the folder.

        Raises InputError for a row that is no question, OutputError for a folder in use or with
        another run in it, UsageError for a model without batches where it is to use them.
        """
        if settings.batch:
            from trueground.evaluate.batching import check_batches

            check_batches(model)
        self._task = task
        self._model = model
        self._settings = settings
        self._plan = run_plan(task, settings)
        self._asked = questionnaire(task, settings)
        self._price = None if settings.prices is None else price_of(model.name, settings.prices)
        self._done = 0
        self._check = check_questions(task, settings) if check is None else check
        self.n = self._check.n
        with ExitStack() as stack:
            self._directory = stack.enter_context(RunDirectory(out, resume=True))
            own = identity(self._asked, self._plan, model.signature)
            earlier = check_same(out, own)
            if not settings.batch and (out / BATCHES).exists():
                from trueground.evaluate.batch_parts import check_none_under_way

                check_none_under_way(out)
            # Several runs may share their judges: what they spent before is not this run's.
            self._judged = judged_before(earlier)
            self._spent = settings.parts.spent
            self._finished = earlier is not None and earlier.get("status") == "finished"
            self._broken_off = earlier is not None and not self._finished
            # First what can be refused: a run that has ended must not look broken afterwards.
            self._log = stack.enter_context(ResponseLog(out / RESPONSES))
            self._manifest = self._begin(own, earlier)
            self._open = stack.pop_all()

    def _begin(self, own: Mapping[str, Any], earlier: Mapping[str, Any] | None) -> dict[str, Any]:
        task = self._task
        manifest = make_manifest(self._plan, self._check, self._settings.command, "run")
        manifest |= {
            # What a finished run has on disk is whole until it is scored anew.
            "status": "finished" if self._finished else manifest["status"],
            "start": earlier["start"] if earlier else manifest["start"],
            "sessions": 1 + (earlier.get("sessions", 0) if earlier else 0),
            "benchmark": {
                "name": task.benchmark,
                "task": task.name,
                "options": dict(task.options),
                "headline": task.headline,
                "notices": list(task.notices),
            },
            "model": {"name": self._model.name, "signature": self._model.signature},
            "params": msgspec.to_builtins(self._asked.params),
            "prompts": [{"id": p.id, "sha256": p.sha256} for p in task.prompts],
            "judging_prompts": manifest["prompts"],
            "limit": self._asked.limit,
            "repeats": self._asked.repeats,
            "cost": None,
            **Outcome().as_json(),
            **self._log.paid.as_json(),
            "judging": judging(judged_before(earlier)) if self._spent else None,
            "identity": dict(own),
        }
        write_json(self._directory.path / MANIFEST, manifest)
        return manifest

    async def ask(self) -> None:
        """Ask what has not been answered. Raises UnreachableError, RunInterrupted, WriteError.

        A finished run stays finished where nobody is reached: it has what is to be had, and the
        rest counts as failed once more. Unless that is just what is to be asked for again.
        """
        with self._told(self._finished), self._cache() as cache:
            asking = Asking(self._model, self._log, cache, self._tick, self._settings.time_limit)
            try:
                if self._settings.batch:
                    await self._through_batches(asking)
                else:
                    await asking.ask_all(self._waiting(asking))
            except UnreachableError:
                if not self._finished or self._settings.retry_failed:
                    raise
            self._manifest["cache_problem"] = cache.problem if cache else None

    async def _through_batches(self, asking: Asking) -> None:
        from trueground.evaluate.batching import Batching

        def look(done: int) -> None:
            self._settings.progress("ask", self._done + done, self.n)

        batching = Batching(self._model, asking, self._directory.path, self._settings, look)
        await batching.ask_all(self._waiting(asking), self._asked.calls)

    def score(self) -> Result:
        """Score all answers; writes items, summary and page. Raises WriteError."""
        plan, settings = self._plan, self._settings
        outcome = Outcome()
        self._manifest["status"] = "running"
        write_json(self._directory.path / MANIFEST, self._manifest)
        source = AnsweredQuestions(self._asked, self._log, self._model.name, outcome)
        with self._told(), Values(plan.width, plan.by, plan.abstained_at) as values:
            work = Work(plan, source, self._check, values, progress=settings.progress)
            summary = work.to_disk(self._directory)
            self._manifest |= self._so_far(outcome) | {"scored": values.n}
        end_manifest(self._directory.path, self._manifest, None)
        path = self._directory.path
        return Result(Summary(summary), path, path / ITEMS, plan.note)

    def close(self) -> None:
        """Let go of the folder."""
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)

    def _waiting(self, asking: Asking) -> Iterator[Call]:
        """The calls that are still to be made, one by one."""
        for call in self._asked.calls():
            if self._log.has(call.id, call.prompt, retry_failed=self._settings.retry_failed):
                if self._broken_off:
                    asking.restore(call)
                self._tick()
            else:
                yield call

    def _tick(self) -> None:
        self._done += 1
        self._settings.progress("ask", self._done, self.n)

    @contextmanager
    def _told(self, whole: bool = False) -> Iterator[None]:
        """However the work inside ends too early, the manifest tells it; a `whole` run stays so."""
        try:
            yield
        except BaseException as error:
            outcome = Outcome()
            for response in self._log:
                outcome.add(response)
            self._manifest |= self._so_far(outcome)
            end_manifest(self._directory.path, self._manifest, None if whole else error)
            raise

    def _cache(self) -> AbstractContextManager[ResponseCache | None]:
        if self._settings.cache and self._model.cacheable:
            return ResponseCache(default_path())
        return nullcontext()

    def _so_far(self, outcome: Outcome) -> dict[str, Any]:
        """What the manifest tells of the answers and of what they cost."""
        paid, price = self._log.paid, self._price
        cost = None
        if price is not None:
            usd = price.cost(paid.tokens_in, paid.tokens_out, paid.tokens_cached)
            cost = {"usd": usd, **msgspec.to_builtins(price)}
        told: dict[str, Any] = {"cost": cost}
        spent = self._settings.parts.spent
        if spent is not None and self._spent is not None:
            told["judging"] = judging(self._judged + (spent - self._spent))
        problem = self._settings.parts.problem
        if problem and not self._manifest.get("cache_problem"):
            told["cache_problem"] = problem
        return outcome.as_json() | paid.as_json() | told
