"""Comparing numbers of whole runs: micro values and the F1 of means, against plain sums."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from tests.metrics.citations.made import Row, graph, k, triples
from tests.reports.payload import words
from tests.texts import comparison_text

import trueground as tg
from trueground.stats.bootstrap import resampled_means
from trueground.studies.comparing import compare
from trueground.studies.comparison_pages import comparison_page

PARTS = ("citation_precision", "citation_recall")
NAMES = ",".join((*PARTS, "citation_f1"))
Counts = list[tuple[int, int, int, int]]  # hits and units of precision, of recall


def answers(n: int, seed: int, **more: Any) -> list[Row]:
    """The same questions whatever the seed of the answers; some answers cite nothing."""
    asked, said = random.Random(0), random.Random(seed)
    return [
        {
            "id": str(number),
            "response": f"It {''.join(k(said.randint(1, 7)) for _ in range(said.randint(0, 5)))}.",
            "knowledge": [graph(1, 2, 3, 4, 5)],
            "gold_knowledge": triples(*asked.sample(range(1, 7), asked.randint(1, 4))),
            **{name: value(number) for name, value in more.items()},
        }
        for number in range(n)
    ]


def scored(path: Path, rows: Sequence[Row], metrics: str = NAMES) -> Path:
    tg.score(list(rows), metrics=metrics, out=path)
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [scored(tmp_path / name, answers(30, seed)) for name, seed in (("a", 1), ("b", 2))]


def items(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "items.jsonl").read_text().splitlines()]


def summary(run: Path) -> dict[str, float]:
    found = json.loads((run / "summary.json").read_text())["metrics"]
    return {name: entry["mean"] for name, entry in found.items()}


def plain(run: Path, weights: Sequence[float] | None = None) -> dict[str, float]:
    """Every number of the run, item by item, each item as often as its weight says."""
    sums = {name: [0.0, 0.0, 0.0, 0.0] for name in PARTS}
    for n, item in enumerate(items(run)):
        w = 1.0 if weights is None else weights[n]
        for name in PARTS:
            if item["scores"][name] is not None:
                hits, units = item["evidence"][name]["counts"]
                for at, value in enumerate((hits, units, item["scores"][name], 1)):
                    sums[name][at] += w * value
    found: dict[str, float] = {}
    for name, (hits, units, values, count) in sums.items():
        found |= {name: values / count, f"{name}_micro": hits / units}
    for tail in ("", "_micro"):
        p, r = (found[name + tail] for name in PARTS)
        found[f"citation_f1{tail}"] = 2 * p * r / (p + r)
    return found


def weights(n: int, resamples: int, seed: int) -> Any:
    """How often each item stands in each resample, (n, resamples), from the means of markers."""
    return np.rint(n * resampled_means(np.eye(n), resamples=resamples, seed=seed))


def test_the_same_name_is_the_same_number_as_in_the_summary(runs: list[Path]) -> None:
    metrics = compare(runs).pairs[0].metrics
    assert list(metrics) == list(summary(runs[0]))
    for name in ("citation_f1", "citation_f1_micro", *(f"{part}_micro" for part in PARTS)):
        result = metrics[name].result
        a, b = summary(runs[0])[name], summary(runs[1])[name]
        assert (result.mean_a, result.mean_b) == pytest.approx((a, b))
        assert result.difference == pytest.approx(b - a)
        assert (result.n, result.p, result.test, result.mcnemar) == (30, None, None, None)
        assert result.mean_a == pytest.approx(plain(runs[0])[name])


def test_intervals_are_those_of_runs_drawn_alike(tmp_path: Path) -> None:
    rows = [answers(12, seed) for seed in (1, 2)]
    for own in rows:
        for row in own:  # every answer cites something, and so has every number
            row["response"] = f"It{k(1)} {row['response']}"
    a, b = (scored(tmp_path / name, own) for name, own in zip("ab", rows, strict=True))
    metrics = compare([a, b], resamples=200, seed=5).pairs[0].metrics
    drawn = weights(12, 200, 5)
    both = [(plain(a, drawn[:, i]), plain(b, drawn[:, i])) for i in range(200)]
    for name in ("citation_f1", "citation_f1_micro", "citation_recall_micro"):
        low, high = np.percentile([y[name] - x[name] for x, y in both], [2.5, 97.5])
        assert metrics[name].result.ci == pytest.approx((low, high))


def test_groups_are_drawn_as_wholes(tmp_path: Path) -> None:
    a, b = (
        scored(tmp_path / name, answers(30, seed, group=lambda n: f"g{n // 15}"))
        for name, seed in (("a", 1), ("b", 2))
    )
    pair = compare([a, b]).pairs[0]
    assert pair.clusters == 2
    halves = [
        [plain(run, [float(first == (n < 15)) for n in range(30)]) for run in (a, b)]
        for first in (True, False)
    ]
    ends = [half[1]["citation_f1_micro"] - half[0]["citation_f1_micro"] for half in halves]
    ci = pair.metrics["citation_f1_micro"].result.ci
    assert ci == pytest.approx((min(ends), max(ends)))  # a group twice, or the other


def test_only_items_that_both_have_count(tmp_path: Path) -> None:
    a = scored(tmp_path / "a", answers(30, 1))
    b = scored(tmp_path / "b", answers(20, 2))
    metrics = compare([a, b], allow_mismatch=True).pairs[0].metrics
    first = plain(a, [float(n < 20) for n in range(30)])
    for name in ("citation_f1", "citation_f1_micro"):
        assert metrics[name].result.mean_a == pytest.approx(first[name])
        assert metrics[name].result.mean_b == pytest.approx(summary(b)[name])
        assert metrics[name].result.n == 20


def test_items_are_counted_and_named_by_their_own_values(runs: list[Path]) -> None:
    metrics = compare(runs).pairs[0].metrics
    f1, micro = metrics["citation_f1"], metrics["citation_f1_micro"]
    pairs = [(x["scores"]["citation_f1"], y["scores"]["citation_f1"])
             for x, y in zip(*map(items, runs), strict=True)]  # fmt: skip
    assert (f1.won, f1.lost) == (sum(y > x for x, y in pairs), sum(y < x for x, y in pairs))
    assert (micro.won, micro.lost) == (f1.won, f1.lost)
    assert f1.changes_won
    assert micro.changes_won == micro.changes_lost == ()


def test_a_single_number_can_be_asked_for(runs: list[Path]) -> None:
    both = compare(runs).pairs[0].metrics
    for name in ("citation_f1_micro", "citation_f1", "citation_recall_micro"):
        (pair,) = compare(runs, metrics=name).pairs
        assert list(pair.metrics) == [name]
        assert pair.metrics[name] == both[name]


def test_runs_without_counts_leave_micro_values_out_and_say_so(runs: list[Path]) -> None:
    path = runs[1] / "items.jsonl"
    lines = []
    for item in items(runs[1]):
        for told in item["evidence"].values():
            told.pop("counts", None)
        lines.append(orjson.dumps(item))
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = compare(runs)
    (pair,) = found.pairs
    assert list(pair.metrics) == [*PARTS, "citation_f1"]
    assert pair.metrics["citation_f1"].result.mean_b == pytest.approx(
        summary(runs[1])["citation_f1"]
    )
    (note,) = (note for note in pair.notes if note.startswith("citation_f1_micro"))
    assert "counts of citation_precision and citation_recall item by item" in note
    assert f"note: {note}" in " ".join(comparison_text(found.as_dict()).split())


def test_an_f1_without_its_parts_is_left_out(tmp_path: Path) -> None:
    runs = [scored(tmp_path / n, answers(9, s), "citation_f1,abstained")
            for n, s in (("a", 1), ("b", 2))]  # fmt: skip
    (pair,) = compare(runs).pairs
    assert list(pair.metrics) == ["abstained"]
    assert pair.notes[0] == (
        "citation_f1 is left out: it comes from citation_precision and citation_recall, which "
        "not both runs have; score with these as well"
    )


def test_without_any_unit_there_is_no_number(tmp_path: Path) -> None:
    silent = [row | {"response": "It."} for row in answers(5, 1)]
    runs = [scored(tmp_path / "a", silent), scored(tmp_path / "b", answers(5, 2))]
    found = compare(runs)
    result = found.pairs[0].metrics["citation_precision_micro"].result
    assert (result.mean_a, result.difference, result.ci) == (None, None, None)
    assert found.pairs[0].metrics["citation_f1"].result.mean_a == 0  # no citation: no recall
    assert "citation_f1_micro" in words(comparison_page(found.as_dict()).to_html())


def test_other_judges_and_variants_have_numbers_of_their_own(tmp_path: Path) -> None:
    name = "citation_precision(variant=reference-code)"
    runs = [scored(tmp_path / n, answers(9, s), name) for n, s in (("a", 1), ("b", 2))]
    metrics = compare(runs, metrics="citation_precision_micro").pairs[0].metrics
    micro = "citation_precision_micro(variant=reference-code)"
    assert list(metrics) == [micro]
    assert metrics[micro].result.mean_a == pytest.approx(summary(runs[0])[micro])
