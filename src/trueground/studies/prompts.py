"""How far a score depends on the wording of the prompt: runs that differ in nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from trueground.metrics import METRICS
from trueground.runs import RunFiles
from trueground.stats import Bootstrap, Paired, PerQuestion, mean, sum_counts, total, variance
from trueground.studies.finished import (
    NO_HASH,
    FinishedRun,
    Hashes,
    number_questions,
    with_questions,
)
from trueground.studies.leaderboard.runs import prompt_of
from trueground.types import PromptFile

# Options that say which words are in a prompt, and so differ where the prompts do.
_OF_PROMPT = {"task-instruction", "instruction"}
_BOOTSTRAP = Bootstrap()
_ALIKE = ("benchmark", "data", "model", "params", "limit", "repeats")


def prompt_studies(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """One study for each model and task that was asked with several prompts, else none.

    Runs are alike in all but the prompt; one that comes twice counts once, and the first run is the
    one from which the others' differences are told. Raises InputError for items that cannot be
    read.
    """
    groups: dict[bytes, dict[bytes, Path]] = {}
    for path in paths:
        manifest = RunFiles(path).find_manifest()
        identity = manifest.identity if manifest else None
        if identity:
            prompts = _encode(identity.get("prompts"))
            options_of_run = identity.get("options") or {}
            options = {
                name: value for name, value in options_of_run.items() if name not in _OF_PROMPT
            }
            alike = _encode([[identity.get(name) for name in _ALIKE], options])
            groups.setdefault(alike, {}).setdefault(prompts, path)
    studies = []
    for group in groups.values():
        if len(group) > 1:
            study = _study([FinishedRun.open(path) for path in group.values()])
            if study is not None:
                studies.append(study)
    return studies


def in_order(paths: Sequence[Path]) -> list[Path]:
    """Runs in the order in which they began, as a sweep takes them."""
    return sorted(paths, key=lambda path: str(RunFiles(path).read_manifest().start))


def _encode(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _study(runs: Sequence[FinishedRun]) -> dict[str, Any] | None:
    """Several prompts over the questions that all of the runs have."""
    first = runs[0]
    metrics = tuple(
        key
        for key, signature in first.signatures.items()
        if all(run.signatures.get(key) == signature for run in runs)
        and not ((metric := METRICS.of_key(key)) and metric.aggregation.harmonic)
    )
    ids, answers, groups = zip(*(_read_by_question(run, metrics) for run in runs), strict=True)
    common = ids[0]
    for run_ids in ids[1:]:
        common = common[np.isin(common, run_ids)]
    if not metrics or not len(common):
        return None
    rows = []  # of the common questions in each run
    for run_ids in ids:
        order = np.argsort(run_ids, kind="stable")
        rows.append(order[np.searchsorted(run_ids[order], common)])
    clusters = None if groups[0] is None else groups[0][rows[0]]
    prompts = [run.manifest.prompts for run in runs]
    names = _prompt_names(prompts)
    return {
        "task": first.task,
        "model": first.model,
        "headline": first.manifest.benchmark and first.manifest.benchmark.headline,
        "questions": len(common),
        "repeats": first.repeats,
        "ci_level": _BOOTSTRAP.level,
        "prompts": [
            {"name": name, "files": files, "run": str(run.path)}
            for name, files, run in zip(names, prompts, runs, strict=True)
        ],
        "metrics": {
            key: _metric(i, names, answers, rows, clusters) for i, key in enumerate(metrics)
        },
    }


def _read_by_question(
    run: FinishedRun, metrics: tuple[str, ...]
) -> tuple[Hashes, PerQuestion, Hashes | None]:
    """Hashes of the questions, their numbers, and their groups (None where none is told)."""
    scores = run.read_scores(metrics)
    (by_question,) = with_questions([run])
    ids = scores.ids if by_question.questions is None else by_question.questions.questions
    first, codes = number_questions(ids)
    answers = PerQuestion.of(scores.values, codes, len(first), range(len(metrics)))
    clusters = None
    if run.files.has_records:
        groups = run.read_contents(scores.ids, ())["group"]
        groups = np.where(groups == NO_HASH, ids, groups)[first]  # a question alone is its own
        clusters = groups if len(np.unique(groups)) < len(groups) else None
    return ids[first], answers, clusters


def _prompt_names(runs: Sequence[Sequence[PromptFile]]) -> list[str]:
    """A name for the prompts of each run, different ones for different prompts."""
    files = {tuple(prompts) for prompts in runs}
    short = [prompt_of(prompts) for prompts in runs]
    whole = [", ".join(p.id for p in prompts) for prompts in runs]
    for names in (short, whole):
        if len(set(names)) == len(files):
            return names
    return [", ".join(f"{p.id} {p.sha256[:8]}" for p in prompts) for prompts in runs]


def _metric(
    i: int,
    names: Sequence[str],
    answers: Sequence[PerQuestion],
    rows: Sequence[NDArray[np.int64]],
    clusters: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """One metric: its means, their spread, flips, and differences from the first prompt.

    All but `scored` is over the questions that have a value with every prompt. `rows` are the
    places of the common questions in each run.
    """

    def stack_arrays(name: str) -> NDArray[np.float64]:
        """One array of each run's answers, shape (questions, prompts)."""
        columns = []
        for run_answers, run_rows in zip(answers, rows, strict=True):
            columns.append(getattr(run_answers, name)[run_rows, i])
        return np.stack(columns, axis=1).astype(np.float64)

    columns = stack_arrays("means")
    has_all = np.asarray(~np.isnan(columns).any(axis=1))
    used = columns[has_all]
    groups = None if clusters is None else clusters[has_all]
    none = ("means", "cis", "min", "max", "range", "sd", "sd_beyond_chance", "flips")
    scored = sum_counts(~np.isnan(columns), axis=0).tolist()
    numbers: dict[str, Any] = {"n": len(used), "scored": scored}
    if not len(used):
        return numbers | dict.fromkeys(none) | {"differences": []}
    averages = mean(used, axis=0).tolist()
    flips = None
    if all(run_answers.has_verdicts[i] for run_answers in answers):
        share = np.divide(stack_arrays("above")[has_all], stack_arrays("scored")[has_all])
        flips = _flips(used, share, stack_arrays("differ")[has_all], groups)
    return numbers | {
        "means": averages,
        "cis": _BOOTSTRAP.intervals(used, groups),
        "min": min(averages),
        "max": max(averages),
        "range": max(averages) - min(averages),
        "sd": stdev(averages),
        "sd_beyond_chance": _beyond_chance(used),
        "flips": flips,
        "differences": _differences(names, used, groups),
    }


def _beyond_chance(values: NDArray[np.float64]) -> float | None:
    """The standard deviation over prompts without what chance adds; None below two questions.

    `values` has shape (questions, prompts). Two-way analysis of variance without replication
    (Scheffé 1959, section 4.8): the variance of the means less that of question × prompt, over Q.
    """
    questions, prompts = values.shape
    if questions < 2:
        return None
    by_prompt = mean(values, axis=0)
    rest = values - mean(values, axis=1)[:, None] - by_prompt + mean(values.ravel())
    chance = total((rest * rest).ravel()) / ((questions - 1) * (prompts - 1)) / questions
    return math.sqrt(max(0.0, variance(by_prompt, ddof=1) - chance))


def _flips(
    used: NDArray[np.float64],
    share: NDArray[np.float64],
    same: NDArray[np.float64],
    clusters: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Questions whose value lies above 0.5 with one prompt and not with another.

    All of shape (questions, prompts): means, shares of answers above 0.5, and how often two answers
    to one prompt differ.
    """
    above = used > PerQuestion.VERDICT_AT
    flipped = np.asarray(above.any(axis=1) & ~above.all(axis=1))
    apart = [
        share[:, a] * (1 - share[:, b]) + share[:, b] * (1 - share[:, a])
        for a, b in combinations(range(share.shape[1]), 2)
    ]
    return {
        "flipped": sum_counts(flipped),
        "questions": len(used),
        "rate": sum_counts(flipped) / len(flipped),
        "ci": _BOOTSTRAP.intervals(flipped[:, None].astype(np.float64), clusters)[0],
        "two_differ": mean(np.concatenate(apart)),
        "two_differ_same": None if np.isnan(same).all() else mean(same[~np.isnan(same)]),
    }


def _differences(
    names: Sequence[str], used: NDArray[np.float64], clusters: NDArray[np.int64] | None
) -> list[dict[str, Any]]:
    """Every later prompt against the first, paired by question; Holm over the prompts."""
    others = used.shape[1] - 1
    base = np.repeat(used[:, :1], others, axis=1)
    results = Paired.compare(base, used[:, 1:], clusters, tests=others)
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
        for name, result, p_holm in zip(
            names[1:], results, Paired.adjust([result.p for result in results]), strict=True
        )
    ]
