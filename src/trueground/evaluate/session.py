"""One session of a run: what was answered before is kept, the rest is asked, then all is scored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from trueground.benchmarks.base import Task
from trueground.errors import UnreachableError, tell
from trueground.evaluate.questions import (
    AnsweredQuestions,
    Asking,
    Call,
    Outcome,
    Questionnaire,
    check_questions,
    make_run_plan,
)
from trueground.evaluate.result import Result
from trueground.evaluate.run_settings import RunSettings
from trueground.evaluate.scoring import Scoring, end_manifest, judged_before, judging, make_manifest
from trueground.models.base import ChatModel, estimate_tokens, request_key
from trueground.models.options import price_of
from trueground.net.cache import ResponseCache, cache_path, known_keys
from trueground.records import Check
from trueground.runs.directory import (
    BATCHES,
    MANIFEST,
    RESPONSES,
    RunDirectory,
    find_earlier,
    write_json,
)
from trueground.runs.identity import as_stored, is_finished
from trueground.runs.responses import ResponseIndex, ResponseLog

# Where no limit is set, an answer is taken to be this long. FaithEval asks for a few words.
_USUAL_TOKENS_OUT = 64


def identify_run(task: Task, settings: RunSettings, signature: str) -> dict[str, Any]:
    """What makes two runs the same run, as it stands in the manifest: all that fixes the questions,
    the answers and the scores. `signature` is the model's; the endpoint is no part of it.
    """
    questionnaire, plan = Questionnaire(task, settings), make_run_plan(task, settings)
    identity = {
        "benchmark": f"{task.benchmark}/{task.name}",
        "options": dict(task.options),
        "data": sorted(file.sha256 for file in task.files),
        "prompts": {prompt.id: prompt.sha256 for prompt in task.prompts},
        "model": signature,
        "params": msgspec.to_builtins(questionnaire.params),
        "limit": questionnaire.limit,
        "repeats": questionnaire.repeats,
        "metrics": plan.signatures,
        "by": list(plan.by),
        "seed": plan.seed,
        "resamples": plan.resamples,
    }
    return as_stored(identity)


def check_same(run: Path, identity: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest of an earlier session of this very run; None where there was none.

    Raises OutputError where the folder holds another run, and says in what they differ.
    """
    return find_earlier(run, identity, resume=True) if run.is_dir() else None


class Session(AbstractContextManager["Session"]):
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
            from trueground.evaluate.batches import check_batches

            check_batches(model)
        self._model = model
        self._settings = settings
        self._plan = make_run_plan(task, settings)
        self._questionnaire = Questionnaire(task, settings)
        self._price = None if settings.prices is None else price_of(model.name, settings.prices)
        self._done = 0
        self._check = check_questions(task, settings) if check is None else check
        with ExitStack() as stack:
            identity = identify_run(task, settings, model.signature)
            run = RunDirectory(out, identity=identity, resume=True)
            self._directory = stack.enter_context(run)
            earlier = run.earlier
            if not settings.batch and (out / BATCHES).exists():
                from trueground.evaluate.batches import check_none_under_way

                check_none_under_way(out)
            # Several runs may share their judges: what they spent before is not this run's.
            self._judged_before = judged_before(earlier)
            self._spent_before = settings.components.spent
            self._finished = earlier is not None and is_finished(earlier)
            self._broken_off = earlier is not None and not self._finished
            # First what can be refused: a run that has ended must not look broken afterwards.
            self._log = stack.enter_context(ResponseLog(out / RESPONSES))
            if self._broken_off:
                tell(
                    f"resuming the unfinished run in {out}: {len(self._log):,} of "
                    f"{self._check.n:,} replies are there already",
                    note=True,
                )
            self._manifest = self._begin(identity, earlier)
            self._open = stack.pop_all()

    def _begin(
        self, identity: Mapping[str, Any], earlier: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        questionnaire, task = self._questionnaire, self._questionnaire.task
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
            "params": msgspec.to_builtins(questionnaire.params),
            "prompts": [{"id": p.id, "sha256": p.sha256} for p in task.prompts],
            "judging_prompts": manifest["prompts"],
            "limit": questionnaire.limit,
            "repeats": questionnaire.repeats,
            "cost": None,
            **Outcome().as_json(),
            **self._log.paid.as_json(),
            "judging": judging(self._judged_before) if self._spent_before else None,
            "identity": dict(identity),
        }
        write_json(self._directory.path / MANIFEST, manifest)
        return manifest

    async def ask(self) -> None:
        """Ask what has not been answered. Raises UnreachableError, RunInterrupted, WriteError.

        A finished run stays finished where nobody is reached: it has what is to be had, and the
        rest counts as failed once more. Unless that is just what is to be asked for again.
        """
        settings = self._settings
        use_cache = settings.cache and self._model.cacheable
        with (
            self._early_end_noted(),
            ResponseCache(cache_path()) if use_cache else nullcontext() as cache,
        ):
            asking = Asking(self._model, self._log, cache, self._tick, settings.time_limit)
            try:
                if settings.batch:
                    from trueground.evaluate.batches import BatchAsking

                    batches = BatchAsking(
                        self._model,
                        asking,
                        self._directory.path,
                        poll_seconds=settings.poll_seconds,
                        time_limit=settings.time_limit,
                        progress=lambda done: settings.progress(
                            "ask", self._done + done, self._check.n
                        ),
                    )
                    await batches.ask_all(self._waiting(asking), self._questionnaire.calls)
                else:
                    await asking.ask_all(self._waiting(asking))
            except UnreachableError:
                if not self._finished or settings.retry_failed:
                    raise
            self._manifest["cache_problem"] = cache.problem if cache else None

    def end(self) -> None:
        """Note that all was asked, where nothing is to be scored. Raises WriteError."""
        end_manifest(self._directory.path, self._manifest | self._latest(), None)

    def score(self) -> Result:
        """Score all answers and write items, summary and page. Raises WriteError."""
        settings, outcome, labelled = self._settings, Outcome(), None
        source = AnsweredQuestions(self._questionnaire, self._log, self._model.name, outcome)
        if settings.labels:
            from trueground.evaluate.corrected import check_predicted, read_slice

            records = replace(source, outcome=Outcome()).batches()
            runs = [self._directory.path.name, self._model.name]
            found = read_slice(settings.labels, settings.labels_drawn, records, runs=runs)
            labelled = check_predicted(self._plan, found)
        scoring = Scoring(
            self._plan,
            source,
            self._check,
            progress=settings.progress,
            labelled=labelled,
            write_page=settings.write_page,
        )
        return scoring.to_run(
            self._directory,
            self._manifest,
            lambda error: self._latest(None if error else outcome),
        )

    def __exit__(self, *error: Any) -> None:
        """Let go of the folder."""
        self._open.__exit__(*error)

    def _waiting(self, asking: Asking) -> Iterator[Call]:
        """The calls that are still to be made, one by one."""
        for call in self._questionnaire.calls():
            if self._log.has(call.id, call.prompt, retry_failed=self._settings.retry_failed):
                if self._broken_off:
                    asking.restore(call)
                self._tick()
            else:
                yield call

    def _tick(self) -> None:
        self._done += 1
        self._settings.progress("ask", self._done, self._check.n)

    @contextmanager
    def _early_end_noted(self) -> Iterator[None]:
        """However asking ends too early, the manifest tells it; a finished run stays finished."""
        try:
            yield
        except BaseException as error:
            self._manifest |= self._latest()
            end_manifest(self._directory.path, self._manifest, None if self._finished else error)
            raise

    def _latest(self, outcome: Outcome | None = None) -> dict[str, Any]:
        """What the manifest tells of the answers (None: those in the log) and of their cost."""
        if outcome is None:
            outcome = Outcome()
            for response in self._log:
                outcome.add(response)
        paid, price, parts = self._log.paid, self._price, self._settings.components
        latest: dict[str, Any] = {"cost": None}
        if price is not None:
            usd = price.cost(paid.tokens_in, paid.tokens_out, paid.tokens_cached)
            latest["cost"] = {"usd": usd, **msgspec.to_builtins(price)}
        if (spent := parts.spent) is not None and self._spent_before is not None:
            latest["judging"] = judging(self._judged_before + (spent - self._spent_before))
        if parts.problem and not self._manifest.get("cache_problem"):
            latest["cache_problem"] = parts.problem
        return outcome.as_json() | paid.as_json() | latest


def estimate_run(task: Task, model: ChatModel, out: Path, settings: RunSettings) -> dict[str, Any]:
    """Count the calls that `out` and the cache do not spare, and estimate their tokens.

    Tokens of the input are a quarter of its characters: a rule of thumb for English. `tokens_out`
    and `usd` are upper bounds where `bounded`. `judged`: language models judge or rate too, which
    is not counted. Reads only. Raises OutputError where `out` holds another run, UsageError for a
    setting of the user that the task ignores.
    """
    check_same(out, identify_run(task, settings, model.signature))
    index = ResponseIndex(out / RESPONSES)
    use_cache = settings.cache and model.cacheable
    questionnaire = Questionnaire(task, settings)
    items = answered = cached = tokens_in = 0
    with known_keys(cache_path() if use_cache else None) as is_cached:
        for call in questionnaire.calls():
            items += 1
            if index.has(call.id, call.prompt, retry_failed=settings.retry_failed):
                answered += 1
            elif is_cached(request_key(model.signature, call.request)):
                cached += 1
            else:
                tokens_in += estimate_tokens(call.request.messages)
    task.check_settings()
    calls = items - answered - cached
    limit = questionnaire.params.max_tokens
    tokens_out = calls * (limit or _USUAL_TOKENS_OUT)
    prices = settings.prices
    return {
        "items": items,
        "answered": answered,
        "cached": cached,
        "calls": calls,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "bounded": limit is not None,
        "usd": None if prices is None else price_of(model.name, prices).cost(tokens_in, tokens_out),
        "judged": settings.components.spent is not None,
    }
