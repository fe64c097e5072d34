"""Validations of simulated scores, in the format trueground-validation-1.

Scores are drawn for real labels, and the numbers are those of the draws; only the intervals are
made by a rule of thumb. The kinds of metric are those that a page must know: graded, binary,
constant, without probabilities, and scored on a part of the records only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MEASURES = (
    "auroc", "spearman", "kendall", "point_biserial", "balanced_accuracy",
    "balanced_accuracy_best", "matthews", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha",
    "raw_agreement", "calibration_error", "false_negative_rate", "false_positive_rate",
)  # fmt: skip
WORDS = [
    "river",
    "bank",
    "grain",
    "three",
    "old",
    "mills",
    "near",
    "Kansas",
    "until",
    "1,149",
    "tons",
]
HOSTILE = '</script><script>window.hit=1</script><img src=x onerror="window.hit=1"> {{7*7}}'


def estimate(value: float | None, n: int, why: str | None = None) -> dict[str, Any]:
    if value is None or np.isnan(value):
        return {"value": None, "ci": None, "n": n, "why": why or "not defined"}
    half = float(1.0 / np.sqrt(max(n, 1)))
    return {"value": float(value), "ci": [value - half, value + half], "n": n, "why": None}


def validation(
    sets: int = 3,
    metrics: int = 5,
    n: int = 300,
    worst: int = 10,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Any]:
    """A validation; the first metric is the best, the second binary, the third constant."""
    rng = np.random.default_rng(seed)
    names = ["support", "judged", "always", "length", "k_precision", "f1", "rouge_l"]
    names = (names + [f"metric_{k}(normalizer=unicode-1)" for k in range(40)])[:metrics]
    made = [one_set(f"set_{k}", names, n + 17 * k, worst, rng) for k in range(sets)]
    found = {
        "format": "trueground-validation-1",
        "trueground": "0.8.0",
        "label": "faithful",
        "positive_above": 0.5,
        "ordinal": False,
        "threshold": 0.5,
        "verdict": "above",
        "judge": "lexical-2|trueground:0.8.0",
        "decomposer": None,
        "ci_level": level,
        "resamples": 2_000,
        "seed": 0,
        "higher_is_better": {name: name != "length" for name in names},
        "signatures": {name: f"{name}|normalizer:squad-1|version:0.8.0" for name in names},
        "sets": made,
        "mean": {name: {m: _mean(made, name, m) for m in MEASURES} for name in names},
        "pooled": {
            name: {"calibration_error": estimate(0.08 + 0.01 * k, n * sets)}
            for k, name in enumerate(names)
            if name != "length"
        },
        "preferences": None,
        "published": [],
        "notes": [],
    }
    read: dict[str, Any] = orjson.loads(orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY))
    return read


def one_set(
    name: str, metrics: list[str], n: int, worst: int, rng: np.random.Generator
) -> dict[str, Any]:
    labels = (rng.random(n) < rng.uniform(0.25, 0.75)).astype(float)
    labels[:2] = (0.0, 1.0)
    texts = [" ".join(rng.choice(WORDS, 40)) for _ in range(n)]
    return {
        "name": name,
        "path": f"/data/{name}.jsonl.gz",
        "sha256": "5e" * 32,
        "n": n,
        "positives": int(labels.sum()),
        "people_mean": float(labels.mean()),
        "groups": n // 3 if rng.random() < 0.5 else None,
        "unused": {"no_label": 12},
        "models": 4,
        "metrics": {
            m: one_metric(_scores(m, k, labels, rng), labels, texts, m, worst)
            for k, m in enumerate(metrics)
        },
        "ceiling": None,
    }


def _scores(metric: str, k: int, labels: Floats, rng: np.random.Generator) -> Floats:
    if metric == "always":
        return np.ones(len(labels))
    strength = max(1.6 - 0.18 * k, 0.1)
    latent = strength * (labels - 0.5) + rng.normal(size=len(labels))
    if metric == "judged":
        return (latent > 0).astype(float)
    if metric == "length":
        return np.round(-20 + 4 * latent)
    return np.round(1 / (1 + np.exp(-1.4 * latent)), 3)


def one_metric(
    scores: Floats, labels: Floats, texts: list[str], metric: str, worst: int
) -> dict[str, Any]:
    """What a validation holds of one metric on one set; every ninth score of `f1` is missing."""
    kept = np.arange(len(labels)) % 9 != 0 if metric == "f1" else np.ones(len(labels), bool)
    x, y = scores[kept], labels[kept]
    probability = metric != "length"
    confusion, best = _confusion(x, y, 0.5), float(np.median(x))
    return {
        "n": len(x),
        "mean": float(np.nanmean(x)),
        "unscored": {} if kept.all() else {"abstained": int((~kept).sum())},
        "measures": _measures(x, y, confusion, _confusion(x, y, best), probability),
        "best_threshold": best,
        "by_label": [_of_label(x[y == label], label) for label in (0.0, 1.0)],
        "confusion": confusion,
        "confusion_best": _confusion(x, y, best),
        "reliability": _reliability(x, y) if probability else None,
        "histogram": _histogram(x, y, probability),
        "worst": _worst(scores, labels, kept, texts, metric, worst),
    }


def _measures(
    x: Floats, y: Floats, at: dict[str, int], best: dict[str, int], probability: bool
) -> dict[str, Any]:
    n, constant = len(x), bool(x.min() == x.max())
    ranks = np.searchsorted(np.sort(x), x, "left") + np.searchsorted(np.sort(x), x, "right")
    positives = y.sum()
    area = (ranks[y == 1].sum() / 2 + positives / 2 - positives * (positives + 1) / 2) / (
        positives * (n - positives)
    )
    same = None if constant else float(np.corrcoef(ranks, y)[0, 1])
    found = dict.fromkeys(MEASURES, same)
    error = np.abs(x.mean() - y.mean())
    found |= {
        "auroc": area,
        "balanced_accuracy": _balanced(at),
        "balanced_accuracy_best": _balanced(best),
        "raw_agreement": (at["tp"] + at["tn"]) / n,
        "calibration_error": error if probability else None,
        "false_negative_rate": at["fn"] / (at["tp"] + at["fn"]),
        "false_positive_rate": at["fp"] / (at["fp"] + at["tn"]),
    }
    why = "the score is no probability" if not probability else "all scores are 1"
    return {name: estimate(value, n, why) for name, value in found.items()}


def _balanced(counts: dict[str, int]) -> float:
    yes, no = counts["tp"] + counts["fn"], counts["tn"] + counts["fp"]
    return (counts["tp"] / yes + counts["tn"] / no) / 2


def _confusion(x: Floats, y: Floats, threshold: float) -> dict[str, int]:
    said = x > threshold
    return {
        "tp": int((said & (y == 1)).sum()),
        "fp": int((said & (y == 0)).sum()),
        "fn": int((~said & (y == 1)).sum()),
        "tn": int((~said & (y == 0)).sum()),
    }


def _of_label(x: Floats, label: float) -> dict[str, Any]:
    numbers = {"mean": x.mean(), "median": np.median(x), "sd": x.std(ddof=1)}
    return {"label": label, "n": len(x), **{k: estimate(v, len(x)) for k, v in numbers.items()}}


def _reliability(x: Floats, y: Floats) -> list[dict[str, Any]]:
    inner = np.unique(np.quantile(x, np.arange(1, 10) / 10, method="inverted_cdf"))
    place = np.searchsorted(inner, x, "left")
    return [
        {
            "low": float(x[place == k].min()),
            "high": float(x[place == k].max()),
            "mean_score": float(x[place == k].mean()),
            "share_positive": float(y[place == k].mean()),
            "n": int((place == k).sum()),
        }
        for k in np.unique(place)
    ]


def _histogram(x: Floats, y: Floats, probability: bool) -> dict[str, Any]:
    ends = (0.0, 1.0) if probability else (float(x.min()), float(x.max()))
    edges = np.linspace(*ends, 21)
    counts = {str(k): np.histogram(x[y == k], edges)[0].tolist() for k in (0, 1)}
    return {"edges": edges.tolist(), "counts": counts}


def _worst(
    x: Floats, y: Floats, kept: NDArray[np.bool_], texts: list[str], metric: str, most: int
) -> list[dict[str, Any]]:
    wrong = np.where(kept & ((x > 0.5) != (y == 1)), np.abs(x - 0.5), -1)
    order = [int(k) for k in np.argsort(-wrong, kind="stable")[:most] if wrong[k] >= 0]
    return [
        {
            "id": f"item-{k}",
            "score": float(x[k]),
            "label": float(y[k]),
            "question": f"What left the mill in year {k}?",
            "response": f"{texts[k]}. {HOSTILE if k % 7 == 0 else ''}",
            "context": f"{texts[k]} {texts[k - 1]}",
            "reasons": ["1,194 is not in the context; nearest number 1,149"] if k % 2 else [],
        }
        for k in order
    ]


def _mean(sets: list[dict[str, Any]], metric: str, measure: str) -> dict[str, Any]:
    found = [s["metrics"][metric]["measures"][measure] for s in sets]
    values = [e["value"] for e in found if e["value"] is not None]
    if not values:
        return {"value": None, "sets": 0, "ci": None, "why": found[0]["why"]}
    mean = float(np.mean(values))
    half = 1 / np.sqrt(sum(e["n"] for e in found))
    return {"value": mean, "sets": len(values), "ci": [mean - half, mean + half], "why": None}


def with_people(raw: dict[str, Any]) -> dict[str, Any]:
    """The same validation, its first set labeled by three annotators."""
    names = ("auroc", "cohen_kappa", "raw_agreement")
    each = [
        {
            "annotator": who,
            "tied": 0,
            "measures": {name: estimate(0.8 + 0.01 * k, 300) for k, name in enumerate(names)},
        }
        for who in ("anna", "ben", "<carla>")
    ]
    people = {"annotators": each, "mean": each[0]["measures"]}
    return {**raw, "sets": [{**raw["sets"][0], "ceiling": people}, *raw["sets"][1:]]}


def of_pairs(values: dict[str, float | None], n: int = 400) -> dict[str, Any]:
    """A validation of preferences only: metric → how often it prefers what people prefer."""
    names = ("sign_agreement", "accuracy", "spearman", "kendall")
    metrics = {
        metric: {name: estimate(value, n, "all of the 400 pairs are ties") for name in names}
        for metric, value in values.items()
    }
    mean = {
        metric: {name: {**one, "sets": int(one["value"] is not None)} for name, one in each.items()}
        for metric, each in metrics.items()
    }
    empty = {"sets": [], "mean": mean, "pooled": {}, "label": "preference"}
    where = {"path": "/data/pairs.jsonl", "sha256": "5e" * 32}
    one = {"set": "pairs", **where, "n": n, "ties": 20, "annotators": 2, "metrics": metrics}
    one |= {"unused": {}, "ceiling": None}
    names_of = {"higher_is_better": dict.fromkeys(values, True), "signatures": {}}
    return {**validation(1, 1), **empty, **names_of, "preferences": [one]}
