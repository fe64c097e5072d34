"""What finished runs bring to a validation: metrics, and who judged them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trueground.errors import InputError, unknown_name
from trueground.metrics.base import Spec
from trueground.metrics.registry import split_specs
from trueground.studies.finished import FinishedRun
from trueground.studies.labelled.sets import LabelledSet


class Runs:
    """The runs among the sets; `signatures` of all metrics that are taken from them."""

    def __init__(
        self, sets: Sequence[LabelledSet], metrics: str | Sequence[str | Spec] | None
    ) -> None:
        """UsageError: a metric that a run does not have."""
        self._keys: dict[int, list[str]] = {}
        self.signatures: dict[str, str] = {}
        self.judge: str | None = None
        self.decomposer: str | None = None
        self._from: dict[str, str] = {}
        for one in sets:
            if one.run is None:
                continue
            keys = list(one.run.signatures) if metrics is None else _keys(one.run, metrics)
            self._keys[one.number] = keys
            self._merge({key: one.run.signatures[key] for key in keys}, one.name)
            self.judge = self.judge or _signature(one.run, "judge")
            self.decomposer = self.decomposer or _signature(one.run, "decomposer")

    def keys(self, one: LabelledSet) -> list[str]:
        """The metrics that are taken from a run."""
        return self._keys[one.number]

    def check_signatures(self, others: Mapping[str, str]) -> None:
        """InputError where a metric of a run is another one than that of the files."""
        self._merge(others, "the files")

    def _merge(self, signatures: Mapping[str, str], name: str) -> None:
        for key, signature in signatures.items():
            known = self.signatures.setdefault(key, signature)
            first = self._from.setdefault(key, name)
            if known != signature:
                raise InputError(
                    f"{key} is not the same metric in all sets: {known} in {first}, {signature} in "
                    f"{name}. Validate them apart, or name the files that the runs were made of"
                )


def _keys(run: FinishedRun, metrics: str | Sequence[str | Spec]) -> list[str]:
    """The metrics of a run by these names; a bare name finds the one with options."""
    parts = [metrics] if isinstance(metrics, str) else metrics
    found: list[str] = []
    for part in parts:
        for name in [part.key] if isinstance(part, Spec) else split_specs(part):
            near = [key for key in run.signatures if key == name]
            near = near or [key for key in run.signatures if key.partition("(")[0] == name]
            if len(near) != 1:
                raise unknown_name(f"metric of the run {run.path}", name, run.signatures)
            found += [key for key in near if key not in found]
    return found


def _signature(run: FinishedRun, part: str) -> str | None:
    told = run.manifest.get(part)
    return told.get("signature") if isinstance(told, dict) else None
