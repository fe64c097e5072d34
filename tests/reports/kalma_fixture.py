"""Run directories of KaLMA by hand: the studies of two models, general and specific questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.reports.leaderboard_fixture import entry, put

DRAWN = (
    "The minimum knowledge sets were drawn by chance (8 pieces each, seed 0). Precision, recall "
    "and F1 of citations cannot be compared with published ones."
)
MODELS = {"gpt-3.5-turbo": 0.0, "our-own-model": -0.06}
# Precision, recall of citations; precision, recall of [NA].
REMOVED = {
    "0": (0.30, 0.57, 0.05, 0.04),
    "1": (0.26, 0.43, 0.14, 0.14),
    "2": (0.21, 0.31, 0.20, 0.15),
    "3": (0.16, 0.20, 0.26, 0.15),
}
REPLACED = {"100": (0.30, 0.57), "80": (0.27, 0.43), "60": (0.25, 0.31), "40": (0.2, 0.2),
            "20": (0.14, 0.1)}  # fmt: skip


def harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b else 0.0


def measures(
    precision: float, recall: float, na: tuple[float, float] | None = None, sets: bool = True
) -> dict[str, Any]:
    """What such a run measures; without minimum sets only correctness and alignment."""
    found = {"alignment": 0.83, "citation_correctness": 0.95}
    if sets:
        f1 = harmonic(precision, recall)
        found |= {"citation_precision": precision, "citation_recall": recall, "citation_f1": f1}
    if na:
        found |= {"na_precision": na[0], "na_recall": na[1], "na_f1": harmonic(*na)}
    shown: dict[str, Any] = {}
    for name, mean in found.items():
        shown |= {name: entry(mean, 40), f"{name}_micro": entry(max(0.0, mean - 0.02), 40)}
    return shown | {"coherence": entry(4.4, 40) | {"ci": [4.2, 4.6]}}


def kalma_run(
    folder: Path,
    model: str,
    task: str,
    metrics: dict[str, Any],
    options: dict[str, Any] | None = None,
    *,
    notices: tuple[str, ...] = (DRAWN,),
    repeats: int = 1,
) -> Path:
    """A finished run."""
    settled = {
        "knowledge": "given", "remove": None, "retrieval-accuracy": None, "at-temperature": "0.5",
        "minimum": "synthetic", "minimum-size": "8", "minimum-seed": "0",
    } | (options or {})  # fmt: skip
    headline = "citation_f1_micro"
    headline = headline if headline in metrics else "citation_correctness_micro"
    manifest = {
        "trueground": "0.4.0",
        "kind": "run",
        "status": "finished",
        "benchmark": {
            "name": "kalma", "task": task, "headline": headline, "options": settled,
            "notices": list(notices),
        },
        "model": {"name": model, "signature": f"chat/{model}"},
        "params": {"temperature": 0.5},
        "outcomes": {"answered": 40},
        "tokens": {"in": 100_000, "out": 20_000, "cached": 0},
        "input": [{"path": "/secret/questions.json", "sha256": task[0] * 64, "bytes": 9}],
        "prompts": [{"id": "kalma-1", "sha256": "b" * 64}],
        "metrics": {metric: f"{metric}|v:1" for metric in metrics},
        "repeats": repeats,
        "seed": 0,
    }  # fmt: skip
    averages: dict[str, Any] = {}
    if repeats > 1:
        averages["meta.repeat"] = {
            name: {"mean": e["mean"], "sd": 0.012, "ci": e["ci"], "values": repeats, "of": repeats}
            for name, e in metrics.items()
        }
    summary = {"n": 40 * repeats, "metrics": metrics, "by": {}, "averages": averages}
    return put(folder, manifest, summary)


def study_runs(folder: Path) -> Path:
    """Pieces removed, graphs replaced, three temperatures, general questions: two models."""
    gold = {"knowledge": "gold"}
    for model, shift in MODELS.items():
        for removed, (p, r, *na) in REMOVED.items():
            found = measures(p + shift, r + shift, (na[0], na[1]))
            kalma_run(folder / f"{model}-remove-{removed}", model, "specific", found,
                      gold | {"remove": removed})  # fmt: skip
        for right, (p, r) in REPLACED.items():
            found = measures(p + shift, r + shift)
            kalma_run(folder / f"{model}-right-{right}", model, "specific", found,
                      gold | {"retrieval-accuracy": right})  # fmt: skip
        for k, at in enumerate(("0.1", "0.5", "0.9")):
            kalma_run(folder / f"{model}-at-{at}", model, "specific",
                      measures(0.3 - 0.01 * k + shift, 0.5 + shift), {"at-temperature": at},
                      repeats=3)  # fmt: skip
        kalma_run(folder / f"{model}-general", model, "general",
                  measures(0.25 + shift, 0.47 + shift))  # fmt: skip
    return folder
