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
    from trueground.api import (
        Result,
        Summary,
        arun,
        ascore,
        merge,
        read_run,
        run,
        score,
        score_shards,
    )
    from trueground.benchmarks import add_benchmark as benchmark
    from trueground.claims import decomposer
    from trueground.evaluate import score_table
    from trueground.judges import judge
    from trueground.metrics import Metric, metric
    from trueground.models import (
        ChatModel,
        ChatRequest,
        Message,
        ModelOptions,
        Params,
        Reply,
        model,
    )
    from trueground.runs import MetricSummary
    from trueground.studies import Validation, calibrate, fit_judge, validate
    from trueground.types import Claim, JudgeRequest, Passage, Record, Status, Turn, Verdict
    from trueground.wings.papers import BuildSettings, build
    from trueground.wings.search import retriever


_HOMES = {
    "BuildSettings": "wings.papers",
    "ChatModel": "models",
    "ChatRequest": "models",
    "Claim": "types",
    "JudgeRequest": "types",
    "Message": "models",
    "Metric": "metrics",
    "MetricSummary": "runs",
    "ModelOptions": "models",
    "Params": "models",
    "Passage": "types",
    "Record": "types",
    "Reply": "models",
    "Result": "api",
    "Status": "types",
    "Summary": "api",
    "Turn": "types",
    "Validation": "studies",
    "Verdict": "types",
    "arun": "api",
    "ascore": "api",
    "benchmark": "benchmarks",
    "build": "wings.papers",
    "calibrate": "studies",
    "decomposer": "claims",
    "fit_judge": "studies",
    "judge": "judges",
    "merge": "api",
    "metric": "metrics",
    "model": "models",
    "read_run": "api",
    "retriever": "wings.search",
    "run": "api",
    "score": "api",
    "score_shards": "api",
    "score_table": "evaluate",
    "validate": "studies",
}
_MODULES = ("errors", "metrics", "testing")
# What a package calls a name of this one.
_OTHER_NAMES = {"benchmark": "add_benchmark"}

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
        value = getattr(import_module(module), _OTHER_NAMES.get(name, name))
    except ModuleNotFoundError as error:
        # A wing is outside the core, so it may be missing.
        if not (error.name or "").startswith(f"{__name__}.wings"):
            raise
        wing = _HOMES[name].removeprefix("wings.")
        raise AttributeError(
            f"{__name__}.{name} is part of the wing {wing!r} ({module}), which isn't installed"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
