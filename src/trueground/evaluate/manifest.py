"""The manifest of a scoring run: what was computed, from what, with what, and how it ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground._version import __version__
from trueground.errors import RunInterrupted, TruegroundError
from trueground.evaluate.plan import Plan
from trueground.net.redact import redact_urls
from trueground.records import Check
from trueground.runs.directory import MANIFEST, write_json

if TYPE_CHECKING:
    from trueground.models.calls import Spent


def make_manifest(
    plan: Plan, check: Check, command: Sequence[str], kind: str = "score"
) -> dict[str, Any]:
    """The manifest as it stands while the run goes on."""
    parts = plan.parts
    checking = zip((*parts.judges, parts.decomposer), parts.written, strict=True)
    *judges, decomposer = (_part_as_json(part, written) for part, written in checking)
    if not plan.checks:
        judges = []
    rates = bool(plan.rubrics)
    return {
        "trueground": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "kind": kind,
        "status": "running",
        "command": [shown_word(word) for word in command],
        "input": [{"path": f.path, "sha256": f.sha256, "bytes": f.bytes} for f in check.files],
        "n": check.n,
        "skipped": check.bad_total,
        "metrics": plan.signatures,
        "judge": judges[0] if judges else None,
        "judges": judges,
        "decomposer": decomposer if plan.checks else None,
        "rater": _part_as_json(parts.rater) if rates else None,
        "comparers": [_part_as_json(comparer) for comparer in parts.comparers.values()],
        "prompts": [{"id": p.id, "sha256": p.sha256} for p in plan.prompts],
        "by": list(plan.by),
        "seed": plan.seed,
        "resamples": plan.resamples,
        "start": datetime.now(UTC).isoformat(),
        "end": None,
        "calls": 0,
        "tokens": {"in": 0, "out": 0},
        "cache_hits": 0,
        "cache_problem": None,
    }


def _part_as_json(part: Any, written: str | None = None) -> dict[str, str]:
    """`written` makes the same part again: its name alone tells no model and no option."""
    told = {"name": part.name, "signature": part.signature}
    return told if written is None else {**told, "written": redact_urls(written)}


def judging(spent: Spent | None) -> dict[str, Any]:
    """Calls, tokens and cache hits of judges, decomposer and rater; empty where none is asked."""
    if spent is None:
        return {}
    tokens = {"in": spent.tokens_in, "out": spent.tokens_out}
    return {
        "calls": spent.calls,
        "failed_calls": spent.failed,
        "tokens": tokens,
        "cache_hits": spent.cache_hits,
    }


def judged_before(manifest: Mapping[str, Any] | None) -> Spent:
    """What earlier sessions of a run spent on judging, as their manifest tells it."""
    from trueground.models.calls import Spent

    part = (manifest or {}).get("judging") or {}
    tokens = part.get("tokens", {})
    return Spent(
        part.get("calls", 0),
        tokens.get("in", 0),
        tokens.get("out", 0),
        part.get("cache_hits", 0),
        part.get("failed_calls", 0),
    )


def shown_word(word: str) -> str:
    """A word of the command, without the password in a URL; also where it is `--option=URL`."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return option + equals + redact_urls(value)


def end_manifest(out: Path, manifest: dict[str, Any], error: BaseException | None) -> None:
    """Write when and how the run ended; an error on the way out hides no other."""
    manifest["end"] = datetime.now(UTC).isoformat()
    manifest["status"] = "finished" if error is None else "failed"
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | RunInterrupted):
        manifest["status"] = "interrupted"
    try:
        write_json(out / MANIFEST, manifest)
    except TruegroundError:
        if error is None:
            raise
