"""The manifest of a build: what was built of what, by whom, in how many sessions, for how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from trueground._version import __version__
from trueground.builders.asking import others
from trueground.builders.asking.asked import AskedModel
from trueground.builders.asking.scores import PERPLEXITY
from trueground.builders.base import BuildPlan
from trueground.builders.directory import read_manifest, write_manifest
from trueground.errors import RunInterrupted, TruegroundError
from trueground.evaluate.manifest import shown_word
from trueground.models.asker import Spent

_COUNTS = tuple(vars(Spent()))
_INTERRUPTS = (RunInterrupted, KeyboardInterrupt)


class Sheet:
    """The manifest while a build goes on; what models cost is summed over all sessions.

    A session that was killed outright counts up to the last stage that it finished.
    """

    def __init__(
        self,
        folder: Path,
        plan: BuildPlan,
        models: Mapping[str, AskedModel],
        scored: Spent,
        settings: Mapping[str, Any],
        command: Sequence[str],
    ) -> None:
        """`settings` stand in the manifest as they are; `scored` counts for the plan's scorer."""
        earlier = read_manifest(folder) or {}
        self._folder, self._models = folder, _tellers(plan, models, scored)
        self._before = {
            role: _before(earlier, role, str(tell()["signature"]))
            for role, tell in self._models.items()
        }
        prompts = {p.id: p.sha256 for stage in plan.stages for p in getattr(stage, "prompts", ())}
        self.content: dict[str, Any] = {
            "trueground": __version__,
            "builder": plan.builder,
            "status": "running",
            "command": [shown_word(word) for word in command],
            "inputs": msgspec.to_builtins(list(plan.files)),
            "options": dict(plan.options),
            **settings,
            "prompts": prompts,
            "models": {},
            "notices": [],
            "sessions": 1 + _whole(earlier.get("sessions")),
            "start": earlier.get("start") or _now(),
            "finished": None,
            "error": None,
        }

    def write(self) -> None:
        """Write it as it stands. Raises WriteError."""
        self.content["models"] = {role: self._told(role) for role in self._models}
        write_manifest(self._folder, self.content)

    def end(self) -> None:
        """The build is done. Raises WriteError."""
        self.content |= {"status": "finished", "finished": _now()}
        self.write()

    @contextmanager
    def told(self) -> Iterator[None]:
        """However the work inside ends too early, the manifest tells it."""
        try:
            yield
        except BaseException as error:
            interrupted = isinstance(error, _INTERRUPTS)
            words = str(error) if isinstance(error, TruegroundError) else type(error).__name__
            self.content |= {"status": "interrupted" if interrupted else "failed", "error": words}
            # What ended the work is told to the user; a disk that is full must not hide it.
            with suppress(TruegroundError):
                self.write()
            raise

    def _told(self, role: str) -> dict[str, Any]:
        told = self._models[role]()
        return {**told, **vars(self._before[role] + _counted(told))}


def names_of(plan: BuildPlan, models: Mapping[str, AskedModel]) -> dict[str, str]:
    """Who is asked: roles, the scorer of perplexities, and the plan's others → names of models."""
    return {role: str(tell()["name"]) for role, tell in _tellers(plan, models, Spent()).items()}


def _tellers(
    plan: BuildPlan, models: Mapping[str, AskedModel], scored: Spent
) -> dict[str, Callable[[], Mapping[str, Any]]]:
    """What tells of each model that is asked who it is, and what it cost in this session."""
    found = dict(plan.others)
    found |= {role: partial(_asked, asked) for role, asked in models.items()}
    if plan.scorer is not None:
        scorer = plan.scorer
        found[PERPLEXITY] = others.told(scorer.name, scorer.signature, lambda: scored)
    return found


def _asked(asked: AskedModel) -> dict[str, Any]:
    return {
        "name": asked.model.name,
        "signature": asked.model.signature,
        "params": msgspec.to_builtins(asked.params),
        **vars(asked.spent),
    }


def _counted(told: Mapping[str, Any]) -> Spent:
    return Spent(**{name: _whole(told.get(name)) for name in _COUNTS})


def _before(earlier: Mapping[str, Any], role: str, signature: str) -> Spent:
    """What earlier sessions spent on the same model in this role, as their manifest tells it."""
    models = earlier.get("models")
    told = models.get(role) if isinstance(models, dict) else None
    if not isinstance(told, dict) or told.get("signature") != signature:
        return Spent()
    return _counted(told)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
