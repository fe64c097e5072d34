"""Run directories of instruct-qa: items by hand, summed up as a run sums them up."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.reports.leaderboard_fixture import put

PLAIN, WITH_PASSAGE = "k_precision", "k_precision(abstention_passage=true)"
# Model → recall, K-Precision, and how often it declines: gold v1, gold v2, irrelevant v2.
MODELS = {
    "google/flan-t5-xxl": (0.54, 0.92, 0.0, 0.1, 0.9),
    "our/model-7b": (0.6, 0.8, 0.05, 0.4, 0.97),
    "our/model-70b": (0.66, 0.74, 0.02, 0.25, 0.6),
}
N = 200
HEADLINES = {"retrieved": "recall", "gold": "recall", "irrelevant": "p_ir"}


def options_of(setting: str, instruction: str, task: str, **given: Any) -> dict[str, Any]:
    """The options of a run as its manifest has them."""
    found: dict[str, Any] = {
        "setting": setting, "instruction": instruction, "preset": "greedy",
        "post-process": "off",
    }  # fmt: skip
    if setting in ("retrieved", "irrelevant"):
        found |= {"retriever": "bm25", "corpus": "c" * 16}
    if setting == "retrieved":
        found |= {"passages": "4" if task == "topiocqa" else "8", "gold-needed": "any"}
    if setting == "irrelevant":
        found["irrelevant-rank"] = "1000"
    return found | given


def items_of(
    model: str, setting: str, instruction: str, task: str, shift: float = 0.0, n: int = N
) -> list[dict[str, Any]]:
    """One run's items: scores and statuses; a twentieth of the calls failed."""
    recall, precision, gold_v1, gold_v2, irrelevant = MODELS[model]
    declines = {"v1": gold_v1, "v2": gold_v2}[instruction]
    if setting == "irrelevant":
        declines = irrelevant if instruction == "v2" else irrelevant / 10
    rng = random.Random(f"{model} {setting} {instruction} {task} {shift}")
    found = []
    for number in range(n):
        failed, declined = number % 20 == 19, rng.random() < declines
        answerable = {"gold": True, "irrelevant": False}.get(setting)
        meta = {}
        if setting == "retrieved":
            meta["gold_retrieved"] = rng.random() < 0.6 + shift
            answerable = True if meta["gold_retrieved"] else None
        k = min(1.0, max(0.0, rng.gauss(precision + shift / 5, 0.1)))
        scores: dict[str, float] = {
            "recall": 0.0 if declined else float(rng.random() < recall + shift),
            PLAIN: 0.3 if declined else k,
            "abstained": float(declined),
        }
        if instruction == "v2":
            scores[WITH_PASSAGE] = 1.0 if declined else k
        status = dict.fromkeys(scores, "scored")
        for rate, wanted in (("p_ir", False), ("p_g", True)):
            if answerable is None:
                status[rate] = "missing_field"
            else:
                status[rate] = "scored" if answerable is wanted else "not_applicable"
            if status[rate] == "scored":
                scores[rate] = float(declined)
        if failed:
            status = dict.fromkeys(status, "error")
        shown = {m: scores.get(m) if status[m] == "scored" else None for m in status}
        found.append(
            {"id": str(number), "scores": shown, "status": status, "evidence": {}, "meta": meta}
        )
    return found


def summed_up(items: list[dict[str, Any]]) -> dict[str, Any]:
    """The summary of those items, in the shape of summary.json."""
    metrics = {}
    for metric in items[0]["status"]:
        values = [i["scores"][metric] for i in items if i["scores"][metric] is not None]
        unscored: dict[str, int] = {}
        for item in items:
            if item["status"][metric] != "scored":
                unscored[item["status"][metric]] = unscored.get(item["status"][metric], 0) + 1
        mean = sum(values) / len(values) if values else None
        width = 0.5 / max(1, len(values)) ** 0.5
        metrics[metric] = {
            "mean": mean,
            "ci": None if mean is None else [max(0.0, mean - width), min(1.0, mean + width)],
            "ci_level": 0.95, "n": len(items), "scored": len(values), "unscored": unscored,
        }  # fmt: skip
    known = [item["meta"]["gold_retrieved"] for item in items if item["meta"]]
    parts = {
        str(value).lower(): {"recall": {"mean": None, "n": known.count(value)}}
        for value in sorted(set(known))
    }
    by = {"meta.gold_retrieved": parts} if parts else {}
    return {"n": len(items), "metrics": metrics, "by": by, "averages": {}}


def qa_run(
    folder: Path,
    model: str,
    setting: str,
    instruction: str = "v1",
    task: str = "nq",
    *,
    options: dict[str, Any] | None = None,
    shift: float = 0.0,
    n: int = N,
    first: int = 0,
    changes: dict[str, Any] | None = None,
) -> Path:
    """A finished run with its `n` items from the number `first` on."""
    items = items_of(model, setting, instruction, task, shift, first + n)[first:]
    summary = summed_up(items)
    manifest = {
        "trueground": "0.4.0",
        "kind": "run",
        "status": "finished",
        "benchmark": {
            "name": "instruct-qa", "task": task, "headline": HEADLINES[setting],
            "options": options_of(setting, instruction, task, **(options or {})),
        },
        "model": {"name": model, "signature": f"chat/{model}"},
        "params": {"temperature": 0.0, "max_tokens": 500},
        "outcomes": {"answered": n - n // 20, "error": n // 20},
        "cost": {"usd": 0.01},
        "tokens": {"in": 100_000, "out": 20_000, "cached": 0},
        "input": [{"path": f"/secret/{task}.jsonl", "sha256": task[0] * 64, "bytes": 9}],
        "prompts": [{"id": f"instruct-qa-{instruction}", "sha256": instruction[1] * 64}],
        "metrics": {metric: f"{metric}|v:1" for metric in summary["metrics"]},
        "seed": 0,
    }  # fmt: skip
    put(folder, manifest | (changes or {}), summary)
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    return folder


def study(folder: Path, task: str = "nq") -> Path:
    """Every model in every setting under both instructions."""
    for model in MODELS:
        for setting in HEADLINES:
            for instruction in ("v1", "v2"):
                name = f"{model.rpartition('/')[2]}-{task}-{setting}-{instruction}"
                qa_run(folder / name, model, setting, instruction, task)
    return folder


RETRIEVERS = {"bm25": 0.0, "dense:org/encoder": -0.1, "multi-hop:dense:org/encoder": 0.15}


def retriever_study(folder: Path, task: str = "hotpotqa") -> Path:
    """Two models with each retriever, and one with a single one."""
    for k, model in enumerate(MODELS):
        for number, (retriever, shift) in enumerate(RETRIEVERS.items()):
            if k < 2 or not number:
                qa_run(
                    folder / f"{k}-{number}", model, "retrieved", task=task, shift=shift,
                    options={"retriever": retriever},
                )  # fmt: skip
    return folder
