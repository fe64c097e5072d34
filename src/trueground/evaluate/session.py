"""One session of a run: what was answered before is kept, the rest is asked, then all is scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import UnreachableError, WriteError, user_messages
from trueground.evaluate.questions import AnsweredQuestions, Outcome, Questionnaire, RunReplies
from trueground.evaluate.scoring import Scoring, make_manifest
from trueground.models import ChatModel, ModelRequest, Price, RequestRunner
from trueground.net import ResponseCache
from trueground.records import Check
from trueground.runs import Manifest, Result, RunBenchmark, RunDirectory, RunFiles, UsedComponent
from trueground.types import PromptFile, Usage

_ADVICE = "What was answered is kept; fix the cause and run the same command again to go on"


class Session(AbstractContextManager["Session"]):
    """One run under way: `await ask()`, then `score()`. Holds the run directory's lock."""

    def __init__(
        self,
        questionnaire: Questionnaire,
        model: ChatModel,
        out: Path,
        check: Check | None = None,
    ) -> None:
        """Read the questions, unless `check` has what was read of them, and take the folder.

        Raises:
            InputError: A row isn't a question.
            OutputError: The folder is in use or has another run.
            UsageError: The model has no batches, and the settings require them.
        """
        settings = questionnaire.settings
        if settings.batch:
            from trueground.models import BatchRequestRunner

            BatchRequestRunner.check_model(model)
        self._model = model
        self._settings = settings
        self._questionnaire = questionnaire
        self._plan = questionnaire.plan
        self._price = None if settings.prices is None else Price.of(settings.prices, model.name)
        self._done = 0
        self._check = questionnaire.check() if check is None else check
        with ExitStack() as stack:
            identity = questionnaire.identify(model.signature)
            run = RunDirectory(out, identity=identity, resume=True)
            self._directory = stack.enter_context(run)
            self._files = RunFiles(out)
            earlier = None if run.earlier is None else self._files.read_manifest()
            if not settings.batch and self._files.batches.exists():
                from trueground.evaluate.batches import check_none_under_way

                check_none_under_way(out)
            # Several runs may share their judges: what they spent before is not this run's.
            self._judged_before = Usage() if earlier is None else earlier.judging_usage
            self._spent_before = settings.components.spent
            self._finished = earlier is not None and earlier.is_finished
            self._broken_off = earlier is not None and not self._finished
            # First what can be refused: a run that has ended must not look broken afterwards.
            self._log = stack.enter_context(self._files.open_responses())
            if self._broken_off:
                user_messages.show(
                    f"resuming the unfinished run in {out}: {len(self._log):,} of "
                    f"{self._check.n:,} replies are there already",
                    note=True,
                )
            self._manifest = self._begin(identity)
            self._open = stack.pop_all()

    def _begin(self, identity: Mapping[str, Any]) -> Manifest:
        questionnaire, task = self._questionnaire, self._questionnaire.task
        manifest = make_manifest(self._plan, self._check, self._settings.command, "run")
        if self._finished:  # what it has on disk is whole until it is scored anew
            manifest.status = "finished"
        manifest.sessions, start = self._directory.next_session(self._directory.earlier)
        manifest.start = start or manifest.start
        manifest.benchmark = RunBenchmark(
            task.benchmark, task.name, dict(task.options), task.headline, list(task.notices)
        )
        manifest.model = UsedComponent(self._model.name, self._model.signature)
        manifest.params = msgspec.to_builtins(questionnaire.params)
        manifest.judging_prompts = manifest.prompts
        manifest.prompts = [PromptFile(p.id, p.sha256) for p in task.prompts]
        manifest.limit = questionnaire.limit
        manifest.repeats = questionnaire.repeats
        Outcome().write_to(manifest)
        self._log.paid.write_to(manifest)
        if self._spent_before:
            manifest.set_judging_usage(self._judged_before)
        manifest.identity = dict(identity)
        self._files.write_manifest(manifest)
        return manifest

    async def ask(self) -> None:
        """Ask what has not been answered. Raises UnreachableError, RunInterrupted, WriteError.

        A finished run stays finished where nobody is reached: it has what is to be had, and the
        rest counts as failed once more. Unless that is just what is to be asked for again.
        """
        settings = self._settings
        use_cache = settings.cache and self._model.cacheable
        with (
            self._directory.noting_end(self._note_error),
            ResponseCache.open() if use_cache else nullcontext() as cache,
        ):
            runner = RequestRunner(
                self._model,
                advice=_ADVICE,
                cache=cache,
                store=RunReplies(self._model, self._log, self._tick),
                time_limit=settings.time_limit,
                tolerates_first=True,
            )
            try:
                if settings.batch:
                    await self._ask_in_batches(runner)
                else:
                    await runner.run_all(self._waiting(runner))
            except UnreachableError:
                if not self._finished or settings.retry_failed:
                    raise
            self._manifest.cache_problem = cache.problem if cache else None

    async def _ask_in_batches(self, runner: RequestRunner) -> None:
        from trueground.evaluate.batches import BatchStateFile
        from trueground.models import BatchRequestRunner

        settings, path = self._settings, self._directory.path
        batches = BatchRequestRunner(
            runner,
            BatchStateFile(path),
            path / ".batch",
            poll_seconds=settings.poll_seconds,
            time_limit=settings.time_limit,
            progress=lambda done: settings.progress("ask", self._done + done, self._check.n),
        )
        try:
            await batches.run_all(self._waiting(runner), self._questionnaire.requests)
        except OSError as error:
            raise WriteError.stopped(path / ".batch", error) from error

    def end(self) -> None:
        """Note that all was asked, where nothing is to be scored. Raises WriteError."""
        self._update(self._manifest)
        self._files.end(self._manifest, None)

    def score(self) -> Result:
        """Score all answers and write items, summary and page. Raises WriteError."""
        settings, outcome, labeled = self._settings, Outcome(), None
        source = AnsweredQuestions(self._questionnaire, self._log, self._model.name, outcome)
        if settings.labels:
            from trueground.evaluate.corrected import LabeledSlice, check_predicted

            records = replace(source, outcome=Outcome()).batches()
            runs = [self._directory.path.name, self._model.name]
            found = LabeledSlice.read(settings.labels, settings.labels_drawn, records, runs=runs)
            labeled = check_predicted(self._plan, found)
        scoring = Scoring(
            self._plan,
            source,
            self._check,
            progress=settings.progress,
            labeled=labeled,
            write_page=settings.write_page,
        )
        return scoring.to_run(
            self._directory,
            self._manifest,
            lambda manifest, error: self._update(manifest, None if error else outcome),
        )

    def __exit__(self, *error: Any) -> None:
        """Let go of the folder."""
        self._open.__exit__(*error)

    def _waiting(self, runner: RequestRunner) -> Iterator[ModelRequest]:
        """Yield the requests that have no reply in the log."""
        retry_failed = self._settings.retry_failed
        for request in self._questionnaire.requests():
            if self._log.has(request.id, request.prompt_sha256, retry_failed=retry_failed):
                if self._broken_off:
                    runner.restore_cache(request, partial(self._log.reply_of, request.id))
                self._tick()
            else:
                yield request

    def _tick(self) -> None:
        self._done += 1
        self._settings.progress("ask", self._done, self._check.n)

    def _note_error(self, error: BaseException) -> None:
        """Write how asking ended; a finished run stays finished."""
        self._update(self._manifest)
        self._files.end(self._manifest, None if self._finished else error)

    def _update(self, manifest: Manifest, outcome: Outcome | None = None) -> None:
        """Write into the manifest what came of the answers, and what they cost.

        Without `outcome` the answers are those in the log.
        """
        if outcome is None:
            outcome = Outcome()
            for response in self._log:
                outcome.add(response)
        outcome.write_to(manifest)
        paid, price, parts = self._log.paid, self._price, self._settings.components
        paid.write_to(manifest)
        if price is not None:
            manifest.set_cost(price)
        if (spent := parts.spent) is not None and self._spent_before is not None:
            manifest.set_judging_usage(self._judged_before + (spent - self._spent_before))
        if parts.problem and not manifest.cache_problem:
            manifest.cache_problem = parts.problem
