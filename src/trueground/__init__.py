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
    from trueground.claims import decomposer
    from trueground.evaluate.result import MetricSummary, Result, Summary
    from trueground.evaluate.score import ascore, score
    from trueground.judges import judge
    from trueground.metrics.base import Metric
    from trueground.metrics.registry import metric
    from trueground.types import Claim, JudgeRequest, Passage, Record, Status, Turn, Verdict

_HOMES = {
    "Claim": "types",
    "JudgeRequest": "types",
    "Metric": "metrics.base",
    "MetricSummary": "evaluate.result",
    "Passage": "types",
    "Record": "types",
    "Result": "evaluate.result",
    "Status": "types",
    "Summary": "evaluate.result",
    "Turn": "types",
    "Verdict": "types",
    "ascore": "evaluate.score",
    "decomposer": "claims",
    "judge": "judges",
    "metric": "metrics.registry",
    "score": "evaluate.score",
}
_MODULES = ("errors", "metrics", "testing")

__all__ = [
    "Claim",
    "JudgeRequest",
    "Metric",
    "MetricSummary",
    "Passage",
    "Record",
    "Result",
    "Status",
    "Summary",
    "Turn",
    "Verdict",
    "__version__",
    "ascore",
    "decomposer",
    "errors",
    "judge",
    "metric",
    "metrics",
    "score",
    "testing",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
