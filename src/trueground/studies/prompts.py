"""How far a score depends on the wording of the prompt: runs that differ in nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.metrics.registry import metric_of_key
from trueground.models.prompts import PromptFile
from trueground.reports.leaderboard.prompt_names import prompt_names
from trueground.runs.directory import read_manifest
from trueground.stats.bootstrap import Floats, intervals
from trueground.stats.paired import Paired, holm, paired
from trueground.stats.repeats import VERDICT_AT
from trueground.studies.finished import FinishedRun, open_run
from trueground.studies.scores import ByQuestion, read_by_question

# Options that say which words are in a prompt, and so differ where the prompts do.
_OF_PROMPT = {"task-instruction", "instruction"}
_ALIKE = ("benchmark", "data", "model", "params", "limit", "repeats")


@dataclass(frozen=True)
class Settings:
    """How the intervals are drawn."""

    resamples: int = 2_000
    seed: int = 0
    level: float = 0.95


def prompt_studies(paths: Sequence[Path], settings: Settings = Settings()) -> list[dict[str, Any]]:
    """One study for each model and task that was asked with several prompts, else none.

    The first of the runs, in the order given, is the one from which the others' differences are
    told. Runs are alike in all but the prompt: benchmark, options, data, model, parameters, limit
    and repeats; a prompt that comes twice counts once. Plain dicts, lists, strings and numbers.
    Raises InputError for items that cannot be read.
    """
    groups: dict[bytes, dict[bytes, Path]] = {}
    for path in paths:
        told = (read_manifest(path) or {}).get("identity")
        if told:
            groups.setdefault(_key(told), {}).setdefault(_json(told.get("prompts")), path)
    several = [[*map(open_run, group.values())] for group in groups.values() if len(group) > 1]
    return [found for runs in several if (found := _study(runs, settings)) is not None]


def in_order(paths: Sequence[Path]) -> list[Path]:
    """Runs in the order in which they began, as a sweep takes them."""
    return sorted(paths, key=lambda path: str((read_manifest(path) or {}).get("start")))


def _key(told: Mapping[str, Any]) -> bytes:
    options = {k: v for k, v in (told.get("options") or {}).items() if k not in _OF_PROMPT}
    return _json([[told.get(name) for name in _ALIKE], options])


def _json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _study(runs: Sequence[FinishedRun], settings: Settings) -> dict[str, Any] | None:
    """Several prompts over the questions that all of the runs have."""
    first = runs[0]
    metrics = tuple(
        key
        for key, signature in first.signatures.items()
        if all(run.signatures.get(key) == signature for run in runs) and not _is_harmonic(key)
    )
    found = [read_by_question(run, metrics) for run in runs]
    common = found[0].ids
    for one in found[1:]:
        common = common[np.isin(common, one.ids)]
    if not metrics or not len(common):
        return None
    rows = [_rows(one, common) for one in found]
    names = prompt_names([_files(run) for run in runs])
    benchmark = first.manifest["benchmark"]
    compared = _Compared(names, found, rows, settings)
    return {
        "task": first.task,
        "model": first.model,
        "headline": benchmark.get("headline"),
        "questions": len(common),
        "repeats": first.manifest.get("repeats", 1),
        "ci_level": settings.level,
        "prompts": [
            {"name": name, "files": run.manifest.get("prompts") or [], "run": str(run.path)}
            for name, run in zip(names, runs, strict=True)
        ],
        "metrics": {key: compared.metric(i) for i, key in enumerate(metrics)},
    }


def _files(run: FinishedRun) -> list[PromptFile]:
    return [PromptFile(p["id"], p["sha256"]) for p in run.manifest.get("prompts") or []]


def _is_harmonic(key: str) -> bool:
    metric = metric_of_key(key)
    return metric is not None and metric.harmonic is not None


def _beyond_chance(values: Floats) -> float | None:
    """The standard deviation over prompts without what chance adds; None below two questions.

    `values` has shape (questions, prompts). Two-way analysis of variance without replication
    (Scheffé 1959, section 4.8): the variance of the means less that of question × prompt, over Q.
    """
    questions, prompts = values.shape
    if questions < 2:
        return None
    rows, columns = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    rest = values - rows - columns + values.mean()
    chance = float((rest**2).sum()) / ((questions - 1) * (prompts - 1)) / questions
    return float(np.sqrt(max(0.0, float(columns.var(ddof=1)) - chance)))


def _rows(one: ByQuestion, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    order = np.argsort(one.ids, kind="stable")
    return order[np.searchsorted(one.ids[order], wanted)]


@dataclass(frozen=True)
class _Compared:
    """Runs over their common questions; `rows` are these questions' places in each run."""

    names: Sequence[str]
    runs: Sequence[ByQuestion]
    rows: Sequence[NDArray[np.int64]]
    settings: Settings

    def metric(self, i: int) -> dict[str, Any]:
        """One metric: its means, their spread, flips, and differences from the first prompt.

        All but `scored` is over the questions that have a value with every prompt (`n`).
        """
        means = self._of("means", i)
        known = np.asarray(~np.isnan(means).any(axis=1))
        clusters = self.runs[0].clusters
        clusters = None if clusters is None else clusters[self.rows[0]][known]
        used = means[known]
        found: dict[str, Any] = {
            "n": len(used),
            "scored": (~np.isnan(means)).sum(axis=0).tolist(),
            "means": None,
            "cis": None,
            "min": None,
            "max": None,
            "range": None,
            "sd": None,
            "sd_beyond_chance": None,
            "flips": None,
            "differences": [],
        }
        if not len(used):
            return found
        averages = used.mean(axis=0).tolist()
        return found | {
            "means": averages,
            "cis": intervals(used, clusters, **asdict(self.settings)),
            "min": min(averages),
            "max": max(averages),
            "range": max(averages) - min(averages),
            "sd": stdev(averages),
            "sd_beyond_chance": _beyond_chance(used),
            "flips": self._flips(used, i, known, clusters),
            "differences": self._differences(used, clusters),
        }

    def _of(self, name: str, i: int) -> Floats:
        """One array of each run's answers, shape (questions, prompts)."""
        columns = [
            getattr(run.answers, name)[rows, i]
            for run, rows in zip(self.runs, self.rows, strict=True)
        ]
        return np.stack(columns, axis=1).astype(np.float64)

    def _flips(
        self, used: Floats, i: int, known: NDArray[np.bool_], clusters: NDArray[np.int64] | None
    ) -> dict[str, Any] | None:
        """Questions whose value lies above 0.5 with one prompt and not with another."""
        if not all(run.answers.has_verdicts[i] for run in self.runs):
            return None
        above = used > VERDICT_AT
        flipped = np.asarray(above.any(axis=1) & ~above.all(axis=1))
        share: Floats = np.divide(self._of("above", i)[known], self._of("scored", i)[known])
        pairs = combinations(range(share.shape[1]), 2)
        apart = [
            share[:, a] * (1 - share[:, b]) + share[:, b] * (1 - share[:, a]) for a, b in pairs
        ]
        same = self._of("differ", i)[known]
        ci = intervals(flipped[:, None].astype(np.float64), clusters, **asdict(self.settings))
        return {
            "flipped": int(flipped.sum()),
            "questions": len(used),
            "rate": float(flipped.mean()),
            "ci": ci[0],
            "two_differ": float(np.mean(apart)),
            "two_differ_same": None if np.isnan(same).all() else float(np.nanmean(same)),
        }

    def _differences(
        self, used: Floats, clusters: NDArray[np.int64] | None
    ) -> list[dict[str, Any]]:
        """Every later prompt against the first, paired by question; Holm over the prompts."""
        base = np.repeat(used[:, :1], used.shape[1] - 1, axis=1)
        results: list[Paired] = paired(
            base, used[:, 1:], clusters, tests=used.shape[1] - 1, **asdict(self.settings)
        )
        adjusted = holm([result.p for result in results])
        return [
            {
                "prompt": name,
                "difference": result.difference,
                "ci": result.ci,
                "p": result.p,
                "p_holm": p_holm,
                "test": result.test,
                "higher": result.higher,
                "lower": result.lower,
            }
            for name, result, p_holm in zip(self.names[1:], results, adjusted, strict=True)
        ]
