"""The manifest of a build: what was built of what, by whom, in how many sessions, for how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from trueground._version import __version__
from trueground.builders.ask import PERPLEXITY, AskedModel
from trueground.builders.base import BatchStage, BuildPlan
from trueground.builders.directory import MANIFEST, read_manifest
from trueground.errors import RunInterrupted, TruegroundError
from trueground.evaluate.manifest import shown_word
from trueground.models.asker import Spent
from trueground.runs.directory import write_json

_COUNTS = tuple(vars(Spent()))


class BuildManifest:
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
        self._folder, self._plan, self._models, self._scored = folder, plan, models, scored
        self._before = {
            role: _earlier_cost(earlier, role, model["signature"])
            for role, model in describe_models(plan, models, Spent()).items()
        }
        stages = [stage for stage in plan.stages if not isinstance(stage, BatchStage)]
        sessions = earlier.get("sessions")
        self.content: dict[str, Any] = {
            "trueground": __version__,
            "builder": plan.builder,
            "status": "running",
            "command": [shown_word(word) for word in command],
            "inputs": msgspec.to_builtins(list(plan.files)),
            "options": dict(plan.options),
            **settings,
            "prompts": {one.id: one.sha256 for stage in stages for one in stage.prompts},
            "models": {},
            "notices": [],
            "sessions": 1 + (sessions if isinstance(sessions, int) else 0),
            "start": earlier.get("start") or _now(),
            "finished": None,
            "error": None,
        }

    def write(self) -> None:
        """Write it as it stands. Raises WriteError."""
        models = describe_models(self._plan, self._models, self._scored)
        self.content["models"] = {
            role: model | vars(self._before[role] + _read_cost(model))
            for role, model in models.items()
        }
        write_json(self._folder / MANIFEST, self.content)

    def end(self) -> None:
        """The build is done. Raises WriteError."""
        self.content |= {"status": "finished", "finished": _now()}
        self.write()

    @contextmanager
    def track(self) -> Iterator[None]:
        """However the work inside ends too early, the manifest tells it."""
        try:
            yield
        except BaseException as error:
            interrupted = isinstance(error, RunInterrupted | KeyboardInterrupt)
            words = str(error) if isinstance(error, TruegroundError) else type(error).__name__
            self.content |= {"status": "interrupted" if interrupted else "failed", "error": words}
            # What ended the work is told to the user; a disk that is full must not hide it.
            with suppress(TruegroundError):
                self.write()
            raise


def describe_models(
    plan: BuildPlan, models: Mapping[str, AskedModel], scored: Spent
) -> dict[str, dict[str, Any]]:
    """Each model that is asked: who it is, and what it has cost in this session until now.

    These are the plan's others, those with a role, and the scorer of perplexities.
    """
    found: dict[str, dict[str, Any]] = {name: dict(tell()) for name, tell in plan.others.items()}
    for role, asked in models.items():
        found[role] = {
            "name": asked.model.name,
            "signature": asked.model.signature,
            "params": msgspec.to_builtins(asked.params),
            **vars(asked.spent),
        }
    if plan.scorer is not None:
        name, signature = plan.scorer.name, plan.scorer.signature
        found[PERPLEXITY] = {"name": name, "signature": signature, **vars(scored)}
    return found


def model_names(plan: BuildPlan, models: Mapping[str, AskedModel]) -> dict[str, str]:
    """The names of all models that are asked."""
    return {role: str(one["name"]) for role, one in describe_models(plan, models, Spent()).items()}


def _read_cost(model: Mapping[str, Any]) -> Spent:
    counts = {name: model.get(name) for name in _COUNTS}
    return Spent(**{name: n if isinstance(n, int) else 0 for name, n in counts.items()})


def _earlier_cost(earlier: Mapping[str, Any], role: str, signature: str) -> Spent:
    """What earlier sessions spent on the same model in this role, as their manifest tells it."""
    models = earlier.get("models")
    model = models.get(role) if isinstance(models, dict) else None
    if not isinstance(model, dict) or model.get("signature") != signature:
        return Spent()
    return _read_cost(model)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def describe_other(
    name: str, signature: str, spent: Callable[[], Spent]
) -> Callable[[], Mapping[str, Any]]:
    """A model that is asked without a role (a fact judge, a decomposer), for BuildPlan.others."""
    return lambda: {"name": name, "signature": signature, **vars(spent())}
