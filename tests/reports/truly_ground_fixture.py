"""Run directories of Truly-Ground by hand: a few models, the four versions, two sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.reports.leaderboard_fixture import entry, put

VERSIONS = ("original-gold", "original-dist", "conflict-gold", "conflict-dist")
F1, ACCURACY = "grounding_f1(scope=gold)", "answer_accuracy(match=substring,parts=each)"
# Model → grounding F1 in the four versions, answer accuracy on original-gold.
MODELS = {
    "lmsys/vicuna-7b-v1.5": ((0.50, 0.45, 0.48, 0.40), 0.83),
    "lmsys/vicuna-13b-v1.5": ((0.61, 0.57, 0.58, 0.55), 0.87),
    "allenai/tulu-2-7b": ((0.59, 0.55, 0.55, 0.48), 0.80),
    "allenai/tulu-2-dpo-7b": ((0.51, 0.45, 0.51, 0.41), 0.79),
    "allenai/tulu-2-70b": ((0.60, 0.53, 0.60, 0.52), 0.90),
    "our/strange-3b-model": ((0.40, 0.42, 0.35, 0.35), 0.75),
    "our-own-model": ((0.71, 0.66, 0.70, 0.64), 0.91),
}


def options_of(task: str, model: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a task as its manifest has them: numbers as text."""
    found: dict[str, Any] = {
        "preset": "tulu" if "tulu" in model else "vicuna",
        "input-cap": "none",
    }
    if task.endswith("-dist"):
        found |= {
            "distractors": "mined", "retriever": "bm25|v:1", "top": "40",
            "budget": "2048", "gold-position": "random", "tokenizer": f"tokens of {model}",
        } | given  # fmt: skip
        if found["gold-position"] == "random":
            found["position-seed"] = "0"
    return found


def measures(f1: float, accuracy: float, judge: str = "") -> dict[str, Any]:
    """What a run measures; precision, recall and entailment move with F1."""
    return {
        f"{F1}{judge}": entry(f1, 480),
        f"grounding_precision(scope=gold){judge}": entry(min(1.0, f1 + 0.1), 480),
        f"grounding_recall{judge}": entry(max(0.0, f1 - 0.05), 480),
        ACCURACY: entry(accuracy, 480, not_applicable=220),
        "answer_accuracy": entry(accuracy - 0.01, 480, not_applicable=220),
        f"context_entails{judge}": entry(min(1.0, 0.5 + f1 / 2), 480),
    }


def grounding_run(
    folder: Path,
    model: str,
    task: str,
    f1: float,
    accuracy: float = 0.8,
    *,
    options: dict[str, Any] | None = None,
    label: str = "",
    split: bool = True,
    changes: dict[str, Any] | None = None,
) -> Path:
    """A finished run; `label` ends the keys of judged metrics, `split` writes the parts."""
    metrics = measures(f1, accuracy, label)
    by: dict[str, Any] = {}
    if split:
        shifts = {
            "meta.contexts": {"single": 0.02, "multi": -0.1},
            "meta.popularity": {"high": -0.03, "low": 0.03},
            "meta.answer": {"definite": 0.05, "free-form": -0.06},
        }
        by = {
            field: {value: measures(f1 + shift, accuracy, label) for value, shift in values.items()}
            for field, values in shifts.items()
        }
    manifest = {
        "trueground": "0.3.0",
        "kind": "run",
        "status": "finished",
        "benchmark": {
            "name": "truly-ground", "task": task, "headline": f"{F1}{label}",
            "options": options_of(task, model, options or {}),
        },
        "model": {"name": model, "signature": f"chat/{model}"},
        "params": {"temperature": 0.0, "max_tokens": 2048},
        "outcomes": {"answered": 480},
        "cost": {"usd": 0.01},
        "tokens": {"in": 100_000, "out": 20_000, "cached": 0},
        "input": [{"path": "/secret/questions.json", "sha256": task[0] * 64, "bytes": 9}],
        "prompts": [{"id": "truly-ground-1", "sha256": "b" * 64}],
        "metrics": {metric: f"{metric}|v:1" for metric in metrics},
        "judge": {"name": "lexical", "signature": "lexical|v:1"},
        "seed": 0,
    }  # fmt: skip
    return put(
        folder, manifest | (changes or {}), {"n": 480, "metrics": metrics, "by": by, "averages": {}}
    )


def four_versions(folder: Path, models: dict[str, Any] | None = None) -> Path:
    """Every model in the four versions."""
    for model, (means, accuracy) in (models or MODELS).items():
        for task, mean in zip(VERSIONS, means, strict=True):
            name = f"{model.rpartition('/')[2]}-{task}"
            grounding_run(folder / name, model, task, mean, accuracy - 0.1 * (task != VERSIONS[0]))
    return folder


def length_and_position(folder: Path) -> Path:
    """Two models over budgets, and over positions at one budget."""
    for k, model in enumerate(("lmsys/vicuna-7b-v1.5", "lmsys/vicuna-13b-v1.5")):
        for budget, mean in (("512", 0.5), ("1024", 0.44), ("4096", 0.40)):
            grounding_run(
                folder / f"{k}-{budget}", model, "original-dist", mean + 0.05 * k,
                options={"budget": budget},
            )  # fmt: skip
        for position, mean in (("end", 0.434), ("middle", 0.393), ("beginning", 0.395)):
            grounding_run(
                folder / f"{k}-{position}", model, "original-dist", mean + 0.05 * k,
                options={"budget": "4096", "gold-position": position},
            )  # fmt: skip
    return folder


OUTSIDE = """model,MMLU,RULES
vicuna-7b-v1.5,49.8,20
VICUNA-13B-V1.5,55.8,31
allenai/tulu-2-7b,50.5,
tulu-2-70b,67.3,40.5
our-own-model,70.1,38
somebody-else,80,50
"""
