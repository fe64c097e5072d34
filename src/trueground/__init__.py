"""trueground: is this answer grounded in what the model was given?

Names load on first use; importing the package opens no file and touches no network.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trueground._version import __version__

if TYPE_CHECKING:
    import trueground.errors as errors
    import trueground.metrics as metrics
    import trueground.testing as testing
    from trueground.api.read import read_run
    from trueground.api.result import Result, Summary
    from trueground.api.running import arun, run
    from trueground.api.scoring import ascore, score
    from trueground.api.shards import merge, score_shards
    from trueground.benchmarks.base import benchmark
    from trueground.wings.papers.builders.api import build
    from trueground.wings.papers.builders.settings import BuildSettings
    from trueground.claims.registry import decomposer
    from trueground.evaluate.shards.score import score_table
    from trueground.judges.registry import judge
    from trueground.metrics.base import Metric
    from trueground.metrics.registry import metric
    from trueground.models.base import ChatModel, ChatRequest, Message, Params, Reply
    from trueground.models.options import ModelOptions
    from trueground.models.registry import model
    from trueground.wings.search.kinds import retriever
    from trueground.runs.schema import MetricSummary
    from trueground.studies.calibration.study import calibrate, fit_judge
    from trueground.studies.validation.result import Validation
    from trueground.studies.validation.study import validate
    from trueground.types import Claim, JudgeRequest, Passage, Record, Status, Turn, Verdict


_HOMES = {
    "BuildSettings": "wings.papers.builders.settings",
    "ChatModel": "models.base",
    "ChatRequest": "models.base",
    "Claim": "types",
    "JudgeRequest": "types",
    "Message": "models.base",
    "Metric": "metrics.base",
    "MetricSummary": "runs.schema",
    "ModelOptions": "models.options",
    "Params": "models.base",
    "Passage": "types",
    "Record": "types",
    "Reply": "models.base",
    "Result": "api.result",
    "Status": "types",
    "Summary": "api.result",
    "Turn": "types",
    "Validation": "studies.validation.result",
    "Verdict": "types",
    "arun": "api.running",
    "ascore": "api.scoring",
    "benchmark": "benchmarks.base",
    "build": "wings.papers.builders.api",
    "calibrate": "studies.calibration.study",
    "decomposer": "claims.registry",
    "fit_judge": "studies.calibration.study",
    "judge": "judges.registry",
    "merge": "api.shards",
    "metric": "metrics.registry",
    "model": "models.registry",
    "read_run": "api.read",
    "retriever": "wings.search.kinds",
    "run": "api.running",
    "score": "api.scoring",
    "score_shards": "api.shards",
    "score_table": "evaluate.shards.score",
    "validate": "studies.validation.study",
}
_MODULES = ("errors", "metrics", "testing")

__all__ = [
    "BuildSettings",
    "ChatModel",
    "ChatRequest",
    "Claim",
    "JudgeRequest",
    "Message",
    "Metric",
    "MetricSummary",
    "ModelOptions",
    "Params",
    "Passage",
    "Record",
    "Reply",
    "Result",
    "Status",
    "Summary",
    "Turn",
    "Validation",
    "Verdict",
    "__version__",
    "arun",
    "ascore",
    "benchmark",
    "build",
    "calibrate",
    "decomposer",
    "errors",
    "fit_judge",
    "judge",
    "merge",
    "metric",
    "metrics",
    "model",
    "read_run",
    "retriever",
    "run",
    "score",
    "score_shards",
    "score_table",
    "testing",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = f"{__name__}.{_HOMES[name]}"
    try:
        value = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        # A wing is outside the core, so it may be missing.
        if not (error.name or "").startswith(f"{__name__}.wings"):
            raise
        raise AttributeError(f"{__name__}.{name} is part of {error.name}, which isn't installed") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
