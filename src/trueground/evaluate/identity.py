"""What makes two runs the same run: all that fixes the questions, the answers and the scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson

from trueground.errors import InputError, OutputError
from trueground.evaluate.plan import Plan
from trueground.evaluate.questions import Questionnaire
from trueground.runs.directory import MANIFEST


def identity(asked: Questionnaire, plan: Plan, signature: str) -> dict[str, Any]:
    """The identity of a run, as it stands in the manifest. The endpoint is no part of it."""
    task = asked.task
    own = {
        "benchmark": f"{task.benchmark}/{task.name}",
        "options": dict(task.options),
        "data": sorted(file.sha256 for file in task.files),
        "prompts": {prompt.id: prompt.sha256 for prompt in task.prompts},
        "model": signature,
        "params": msgspec.to_builtins(asked.params),
        "limit": asked.limit,
        "repeats": asked.repeats,
        "metrics": plan.signatures,
        "by": list(plan.by),
        "seed": plan.seed,
        "resamples": plan.resamples,
    }
    # As it comes back from a manifest: a tuple is a list there.
    found: dict[str, Any] = orjson.loads(orjson.dumps(own))
    return found


def read_manifest(run: Path) -> dict[str, Any] | None:
    """The manifest of a run directory; None where there is none. Raises InputError."""
    path = run / MANIFEST
    try:
        found = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); choose another --out") from None
    return found if isinstance(found, dict) else None


def check_same(run: Path, wanted: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest of an earlier session of this very run; None where there was none.

    Raises OutputError where the folder holds another run, and says in what they differ.
    """
    manifest = read_manifest(run)
    if manifest is None:
        return None
    found = manifest.get("identity")
    if found is None:
        raise OutputError(
            f"{run} holds a scored file, not the answers of a model; choose another --out"
        )
    differ = [name for name in wanted if found.get(name) != wanted[name]]
    if differ:
        lines = [
            f"  {name}: {_short(found.get(name))} there, {_short(wanted[name])} now"
            for name in differ
        ]
        raise OutputError(
            f"{run} holds another run, which this command would not continue. They differ in\n"
            + "\n".join(lines)
            + "\nChoose another --out, or give the command that began the run."
        )
    return manifest


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 200 else text[:199] + "…"
