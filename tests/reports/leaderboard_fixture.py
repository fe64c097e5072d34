"""Run directories by hand: the few small files that a leaderboard reads."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

DATASETS = (
    "BioASQ", "DROP", "HotpotQA", "NQ", "NewsQA", "RACE", "SQuAD", "SearchQA", "TextbookQA",
    "TriviaQA",
)  # fmt: skip
HEADLINES = {
    "unanswerable": "phrase_match_strict",
    "inconsistent": "phrase_match_strict(task=inconsistent)",
    "counterfactual": "choice_accuracy",
    "original": "answer_accuracy(normalizer=faitheval,match=substring)",
}


def entry(mean: float | None, n: int = 100, **unscored: int) -> dict[str, Any]:
    """An entry of a summary with an interval of some width."""
    ci = None if mean is None else [max(0.0, mean - 0.03), min(1.0, mean + 0.03)]
    scored = n - sum(unscored.values())
    return {
        "mean": mean, "ci": ci, "ci_level": 0.95, "n": n, "scored": scored, "unscored": unscored,
    }  # fmt: skip


def options_of(task: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a task as its manifest has them."""
    told = task in ("unanswerable", "inconsistent")
    found: dict[str, Any] = {"scheme": "direct", "task-instruction": "on" if told else "off"}
    if task == "inconsistent":
        found["documents"] = "both"
    elif task == "counterfactual":
        found["only-phrase-filtered"] = "off"
    elif task == "original":
        of = given.get("of", "unanswerable")
        found |= {"of": of, "closed-book": of == "counterfactual"}
    return found | given


def metrics_of(task: str, headline: str, mean: float, n: int, unscored: dict[str, int]) -> Any:
    """The headline and what stands beside it in the task."""
    found = {headline: entry(mean, n, **unscored)}
    if headline.startswith("phrase_match_strict"):
        for name, more in (("phrase_match", 0.02), ("phrase_match_word", 0.01)):
            key = headline.replace("phrase_match_strict", name)
            found[key] = entry(min(1.0, mean + more), n, **unscored)
    return found


def benchmark_run(
    folder: Path,
    model: str,
    task: str,
    mean: float,
    *,
    options: dict[str, Any] | None = None,
    n: int = 1000,
    unscored: dict[str, int] | None = None,
    changes: dict[str, Any] | None = None,
    **more: Any,
) -> Path:
    """A finished run of a FaithEval task; `changes` and `more` replace parts of its manifest."""
    settled = options_of(task, options or {})
    headline = HEADLINES[task]
    if settled.get("of") == "counterfactual":
        headline = "choice_accuracy"
    metrics = metrics_of(task, headline, mean, n, unscored or {})
    summary: dict[str, Any] = {"n": n, "metrics": metrics, "by": {}, "averages": {}}
    if headline != "choice_accuracy":
        rng = random.Random(f"{model} {task}")
        splits = {}
        for name in DATASETS:
            shift = rng.uniform(-0.15, 0.15) - (0.2 if name == "SearchQA" else 0)
            splits[name] = {
                metric: entry(min(1.0, max(0.0, e["mean"] + shift)), n // 10)
                for metric, e in metrics.items()
            }
        summary["by"] = {"meta.dataset": splits}
        means = {m: sum(s[m]["mean"] for s in splits.values()) / len(splits) for m in metrics}
        summary["averages"] = {
            "meta.dataset": {
                metric: {"mean": value, "ci": [value - 0.03, value + 0.03], "values": len(splits)}
                for metric, value in means.items()
            }
        }
    manifest = {
        "trueground": "0.2.0",
        "kind": "run",
        "status": "finished",
        "benchmark": {
            "name": "faitheval", "task": task, "options": settled, "headline": headline,
        },
        "model": {"name": model, "signature": f"chat/{model}"},
        "params": {"temperature": 0.0, "max_tokens": 256},
        "outcomes": {"answered": n - 3, "truncated": 2, "too_long": 0, "error": 1},
        "cost": {"usd": 0.1234},
        "tokens": {"in": 1_234_567, "out": 45_678, "cached": 9},
        "input": [{"path": "/secret/data.jsonl", "sha256": "a" * 64, "bytes": 9}],
        "prompts": [{"id": f"{task}-direct-v1", "sha256": "b" * 64}],
        "metrics": {metric: f"{metric}|v:1" for metric in metrics},
        "seed": 0,
        "start": "2031-01-01T00:00:00+00:00",
        "end": "2031-01-01T00:09:00+00:00",
    }  # fmt: skip
    return put(folder, manifest | (changes or {}) | more, summary)


def score_run(folder: Path, means: dict[str, float], **changes: Any) -> Path:
    """A finished run of `trueground score`."""
    manifest = {
        "trueground": "0.2.0",
        "kind": "score",
        "status": "finished",
        "input": [{"path": f"/secret/{folder.name}.jsonl", "sha256": "c" * 64, "bytes": 9}],
        "prompts": [],
        "metrics": {name: f"{name}|v:1" for name in means},
        "tokens": {"in": 0, "out": 0},
        "seed": 0,
    } | changes
    averages = {"topic": {name: {"mean": 0.999, "ci": None, "values": 2} for name in means}}
    metrics = {name: entry(mean) for name, mean in means.items()}
    return put(folder, manifest, {"n": 100, "metrics": metrics, "by": {}, "averages": averages})


def put(folder: Path, manifest: Any, summary: Any) -> Path:
    """Write the two files that every run has."""
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


MODELS = {
    "gpt-4o": (0.60, 0.93, 0.475),
    "gpt-4o-mini": (0.52, 0.57, 0.51),
    "meta-llama/Llama-3.1-70B-Instruct": (0.48, 0.56, 0.53),
    "meta-llama/Llama-3.1-8B-Instruct": (0.37, 0.37, 0.66),
    "google/gemma-2-27b-it": (0.55, 0.25, 0.6),
    "google/gemma-2-9b-it": (0.50, 0.27, 0.59),
    "our-own-model": (0.71, 0.62, 0.7),
}


def sweep(folder: Path, models: dict[str, tuple[float, float, float]] | None = None) -> Path:
    """A folder of runs: every model on the three tasks and on the originals of two of them."""
    for k, (model, means) in enumerate((models or MODELS).items()):
        name = model.rpartition("/")[2]
        for task, mean in zip(
            ("unanswerable", "inconsistent", "counterfactual"), means, strict=True
        ):
            unscored = {"truncated": 2, "error": 1} if k == 1 else {}
            benchmark_run(folder / task / name, model, task, mean, unscored=unscored)
        for of, mean in (("unanswerable", 0.8 - 0.02 * k), ("counterfactual", 0.95 - 0.03 * k)):
            benchmark_run(
                folder / f"original-{of}" / name, model, "original", mean, options={"of": of}
            )
    return folder
