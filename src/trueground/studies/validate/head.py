"""What a validation says of itself before any number: who measured what, and how."""

from __future__ import annotations

from typing import Any

from trueground._version import __version__
from trueground.evaluate.stream import Stream
from trueground.metrics.registry import higher_is_better
from trueground.studies.validate.numbers import Manner
from trueground.studies.validate.result import FORMAT
from trueground.studies.validate.runs import Runs


def head_of(manner: Manner, stream: Stream | None, runs: Runs) -> dict[str, Any]:
    """`Validation.raw` without its numbers, which are still empty."""
    signatures = dict(runs.signatures)
    judge, decomposer = runs.judge, runs.decomposer
    if stream is not None:
        signatures |= stream.signatures
        judge = stream.judges[0] if stream.judges else judge
        decomposer = stream.decomposer or decomposer
    return {
        "format": FORMAT,
        "trueground": __version__,
        "label": manner.rule.label,
        "positive_above": manner.rule.positive_above,
        "ordinal": manner.rule.ordinal,
        "threshold": manner.threshold,
        "verdict": manner.verdict,
        "judge": judge,
        "decomposer": decomposer,
        "ci_level": manner.level,
        "resamples": manner.resamples,
        "seed": manner.seed,
        "higher_is_better": {key: higher_is_better(key) is not False for key in signatures},
        "signatures": signatures,
        "sets": [],
        "mean": {},
        "pooled": {},
        "differences": {},
        "preferences": None,
        "published": [],
        "notes": [],
    }


def lower_notes(raw: dict[str, Any]) -> list[str]:
    """A note on each metric of which less is better."""
    return [
        f"{key}: less is better, so it is turned round (1 − x) before it is measured"
        for key, higher in raw["higher_is_better"].items()
        if not higher
    ]
