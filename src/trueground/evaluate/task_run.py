"""One run of a benchmark's task by one model: ask, score, estimate."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from trueground.benchmarks import Task
from trueground.errors import OutputError, RunInterrupted
from trueground.evaluate.plan import Plan
from trueground.evaluate.questions import Questionnaire
from trueground.evaluate.run_settings import RunSettings
from trueground.evaluate.session import Session
from trueground.execution import run_in_own_loop
from trueground.models import ChatModel, Price
from trueground.net import ResponseCache
from trueground.records import Check
from trueground.runs import Result, RunDirectory, RunFiles

# Where no limit is set, an answer is taken to be this long. FaithEval asks for a few words.
_USUAL_TOKENS_OUT = 64


@dataclass(frozen=True)
class TaskRun:
    """A run that may be made: a task, the model that is asked, and the settings."""

    task: Task
    model: ChatModel
    settings: RunSettings

    @cached_property
    def questionnaire(self) -> Questionnaire:
        """What is asked."""
        return Questionnaire(self.task, self.settings)

    @property
    def plan(self) -> Plan:
        """What is computed of the answers."""
        return self.questionnaire.plan

    def check(self) -> Check:
        """Read every question once; see `Questionnaire.check`."""
        return self.questionnaire.check()

    def find_earlier(self, out: Path) -> dict[str, Any] | None:
        """Return the manifest of an earlier session of this run. None if there is none.

        Raises:
            OutputError: The folder has another run. The message says in what they differ.
        """
        identity = self.questionnaire.identify(self.model.signature)
        if not out.is_dir():
            return None
        return RunDirectory.find_earlier(out, identity, resume=True)

    def estimate(self, out: Path) -> dict[str, Any]:
        """Count the calls that `out` and the cache do not spare, and estimate their tokens.

        Reads only. Tokens of the input are a quarter of its characters: a rule of thumb for
        English.

        Returns:
            Numbers by name. `tokens_out` and `usd` are upper bounds if `bounded`. `judged` says
            whether language models judge or rate, too, which isn't counted.

        Raises:
            OutputError: `out` has another run.
            UsageError: The task ignores a setting of the user.
        """
        questionnaire, model, settings = self.questionnaire, self.model, self.settings
        self.find_earlier(out)
        index = RunFiles(out).read_responses()
        use_cache = settings.cache and model.cacheable
        items = answered = cached = tokens_in = 0
        with ResponseCache.known_keys(ResponseCache.path_of() if use_cache else None) as is_cached:
            for item in questionnaire.requests():
                items += 1
                if index.has(item.id, item.prompt_sha256, retry_failed=settings.retry_failed):
                    answered += 1
                elif is_cached(item.request.cache_key(model.signature)):
                    cached += 1
                else:
                    tokens_in += item.request.estimate_prompt_tokens()
        self.task.check_settings()
        calls = items - answered - cached
        limit = questionnaire.params.max_tokens
        tokens_out = calls * (limit or _USUAL_TOKENS_OUT)
        prices = settings.prices
        usd = None if prices is None else Price.of(prices, model.name).cost(tokens_in, tokens_out)
        return {
            "items": items,
            "answered": answered,
            "cached": cached,
            "calls": calls,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "bounded": limit is not None,
            "usd": usd,
            "judged": settings.components.spent is not None,
        }

    def run(self, out: Path, check: Check | None = None) -> Result:
        """Ask and score, for callers that own no event loop. One that runs already does no harm.

        Args:
            out: The run directory. An earlier session of this run is resumed.
            check: What `check` returned, if it was called.

        Raises:
            TruegroundError: What `tg.run` raises.
        """
        with Session(self.questionnaire, self.model, out, check) as session:
            try:
                run_in_own_loop(self._ask(session))
                return session.score()
            except KeyboardInterrupt:
                there = "; batches go on at the endpoint" if self.settings.batch else ""
                raise RunInterrupted(
                    f"interrupted; what was answered is kept in {out}{there}. Run the same command "
                    "to go on"
                ) from None

    async def arun(self, out: Path) -> Result:
        """Ask in the caller's event loop, and score in a thread."""
        session_of = asyncio.to_thread(Session, self.questionnaire, self.model, out)
        with await session_of as session:
            await self._ask(session)
            scoring = asyncio.ensure_future(asyncio.to_thread(session.score))
            try:
                return await asyncio.shield(scoring)
            except asyncio.CancelledError:
                # A thread can't be stopped. The folder stays ours until it has written its last
                # line.
                await asyncio.wait([scoring])
                raise

    def ask_shard(self, out: Path) -> Path:
        """Ask the questions of `settings.shard` alone, and score nothing.

        When all shards are asked, `ShardedRun.join_logs` makes one log of them. The same run
        without a shard scores it.

        Returns:
            The folder of the replies, below `out`.

        Raises:
            OutputError: The folder has another run, or replies of this run without shards.
        """
        RunDirectory.check_resumable(out, sharded=True)
        files = RunFiles(out)
        folder = files.shards.folder(*(self.settings.shard or (0, 1)))
        for other in (out, *files.shards.folders()):
            self.find_earlier(other)
        if files.has_responses:
            raise OutputError(
                f"{out} holds replies already; go on by the same command without --shard, which "
                "asks only what is missing"
            )
        with Session(self.questionnaire, self.model, folder) as session:
            run_in_own_loop(self._ask(session))
            session.end()
        return folder

    async def _ask(self, session: Session) -> None:
        try:
            await session.ask()
        finally:
            await self.model.close()
