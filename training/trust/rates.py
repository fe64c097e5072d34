"""Rates that people would confirm, tried on the labeled sets: coverage, width, one figure.

python -m training.trust.rates --data DIR   measures only them; writes docs/rates.svg and the table
of docs/trust.md
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

import trueground as tg
from training.offline_judge.fit import support
from training.offline_judge.sets import folds, read
from training.trust.measuring import Fits, Settings, fit_without_each, read_with_claims
from training.trust.page import filled
from training.trust.tables import MEAN, NONE, grid
from trueground.stats.bootstrap import Bootstrap
from trueground.stats.human.measure import measure
from trueground.stats.rates import Corrected, LabelSample

Floats = NDArray[np.float64]
LABELS, DRAWS = 100, 500
_STRATA = 5
_DOCS = Path(__file__).parents[2] / "docs"


class SetRates(msgspec.Struct):
    """One set: what people say of all of it, what the judge says, what LABELS labels make of it.

    `coverage` is the share of DRAWS random draws whose interval holds the rate of the whole set,
    `width` the mean of its width over that of the labels alone, `theory` √(1 − ρ²), with ρ the
    correlation of scores and labels. `drawn_…` are of draws within strata of the judge's scores,
    as `annotate plan` makes them. `exact` counts draws with fewer than ten labels of one kind.
    `example` is the first draw.
    """

    name: str
    label: str
    n: int
    people: float
    judge: float
    judge_ci: tuple[float, float]
    auroc: float
    theory: float
    coverage: float
    width: float
    drawn_coverage: float
    drawn_width: float
    exact: int
    example: float
    example_ci: tuple[float, float]


def measure_rates(given: Settings, fits: Fits) -> list[SetRates]:
    """All sets that are large enough; the judge's weights are fitted without the set."""
    found = []
    for name in folds("faithful"):
        rows = fits.rows[name]
        groups = [one.group for one in read_with_claims(given.data, name)]
        scores = support(fits.weights[name], rows)
        found.append(measure_set(name, "faithful", scores, rows.labels, groups, given.seed))
    for name in folds("correct"):
        path = given.data / f"{name}.jsonl.gz"
        items = tg.score(str(path), metrics="correct_support", workers=given.workers).items
        values = dict(zip(items["id"], items["correct_support"], strict=True))
        units = [one for one in read(given.data, name) if values.get(one.id) is not None]
        scores = np.array([values[one.id] for one in units], np.float64)
        labels = np.array([one.label for one in units], np.float64)
        groups = [one.group for one in units]
        found.append(measure_set(name, "correct", scores, labels, groups, given.seed))
    return [one for one in found if one is not None]


def measure_set(
    name: str, label: str, scores: Floats, labels: Floats, groups: Sequence[str], seed: int
) -> SetRates | None:
    """One set, from scores, labels and groups of its items; None where it is too small."""
    n = len(scores)
    if n < 2 * LABELS:
        return None
    clusters = np.unique(groups, return_inverse=True)[1].astype(np.int64)
    random = np.random.Generator(np.random.SFC64([seed, n]))
    strata = np.searchsorted(np.quantile(scores, np.arange(1, _STRATA) / _STRATA), scores)
    strata = np.unique(strata, return_inverse=True)[1].astype(np.int64)
    truth = float(labels.mean())
    plain, drawn = [], []
    for _ in range(DRAWS):
        chosen = np.zeros(n, np.bool_)
        chosen[random.choice(n, LABELS, replace=False)] = True
        y = np.where(chosen, labels, np.nan)
        plain.append((LabelSample.random(chosen, clusters)).correct_rate(scores, y))
        chosen, probability = _draw_in_strata(strata, random)
        y = np.where(chosen, labels, np.nan)
        drawn.append(LabelSample(chosen, probability, strata, clusters).correct_rate(scores, y))
    alone = float(np.mean([one.labels_ci[1] - one.labels_ci[0] for one in plain]))
    judge_ci = Bootstrap(seed=seed).intervals(scores[:, None], clusters)[0] or (np.nan, np.nan)
    auroc = measure(scores, labels, resamples=1, seed=seed).estimates["auroc"].value
    return SetRates(
        name,
        label,
        n,
        truth,
        float(scores.mean()),
        judge_ci,
        float(np.nan if auroc is None else auroc),
        float(np.sqrt(1 - np.corrcoef(scores, labels)[0, 1] ** 2)),
        _coverage(plain, truth),
        _width(plain) / alone,
        _coverage(drawn, truth),
        _width(drawn) / alone,
        sum(one.method == "exact" for one in plain),
        plain[0].mean,
        plain[0].ci,
    )


def _draw_in_strata(
    strata: NDArray[np.int64], random: np.random.Generator
) -> tuple[NDArray[np.bool_], Floats]:
    """LABELS items, as many of each stratum as its size wants, and the probability of each."""
    sizes = np.bincount(strata)
    edges = np.round(np.cumsum(sizes) / len(strata) * LABELS).astype(np.int64)
    counts = np.diff(edges, prepend=0)
    chosen = np.zeros(len(strata), np.bool_)
    for k, count in enumerate(counts.tolist()):
        chosen[random.choice(np.flatnonzero(strata == k), count, replace=False)] = True
    return chosen, (counts / sizes)[strata]


def _coverage(found: Sequence[Corrected], truth: float) -> float:
    return float(np.mean([one.ci[0] <= truth <= one.ci[1] for one in found]))


def _width(found: Sequence[Corrected]) -> float:
    return float(np.mean([one.ci[1] - one.ci[0] for one in found]))


def rates_table(found: Sequence[SetRates]) -> str:
    """A row for each set."""
    rows: list[tuple[str, ...]] = []
    for one in found:
        low, high = (f"{100 * end:.0f}" for end in one.example_ci)
        rows.append(
            (
                f"`{one.name}`",
                f"{one.auroc:.2f}",
                f"{one.people:.0%}",
                f"{one.judge:.0%}",
                f"{one.example:.0%} [{low}, {high}]",
                f"{one.coverage:.1%}",
                f"{1 - one.width:.0%}",
                f"{1 - one.theory:.0%}",
                f"{one.drawn_coverage:.1%}",
                f"{1 - one.drawn_width:.0%}",
            )
        )
    if not rows:
        return NONE
    means = [
        f"{np.mean([one.coverage for one in found]):.1%}",
        f"{1 - np.mean([one.width for one in found]):.0%}",
        f"{1 - np.mean([one.theory for one in found]):.0%}",
        f"{np.mean([one.drawn_coverage for one in found]):.1%}",
        f"{1 - np.mean([one.drawn_width for one in found]):.0%}",
    ]
    rows.append((MEAN, f"{np.mean([one.auroc for one in found]):.2f}", "", "", "", *means))
    head = ("set", "AUROC", "people", "judge", f"corrected by {LABELS} labels", "covers")
    more = ("narrower", "by theory", "in strata: covers", "in strata: narrower")
    return grid((*head, *more), rows)


def rates_figure(found: Sequence[SetRates]) -> str:
    """For each set what people, the judge and the corrected rate say, as an SVG."""
    left, width, step, top = 150, 470, 22, 46
    height = top + step * len(found) + 26

    def x(share: float) -> str:
        return f"{left + width * share:.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" '
        'font-family="sans-serif" font-size="11" fill="#222">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    legend = (("people", 0, _people), ("judge alone", 90, _judge), ("corrected", 210, _corrected))
    for words, at, mark in legend:
        lines += [mark(str(left + at), 16), f'<text x="{left + at + 10}" y="20">{words}</text>']
    lines.append(f'<text x="{left + 300}" y="20">lines: 95 % intervals</text>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        lines += [
            f'<path d="M{x(share)} {top - 12}V{height - 24}" stroke="#ddd"/>',
            f'<text x="{x(share)}" y="{height - 8}" text-anchor="middle">{share:.0%}</text>',
        ]
    for place, one in enumerate(found):
        y = top + step * place
        lines += [
            f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{one.name}</text>',
            f'<path d="M{x(one.judge_ci[0])} {y - 4}H{x(one.judge_ci[1])}" stroke="#c60"/>',
            _judge(x(one.judge), y - 4),
            f'<path d="M{x(one.example_ci[0])} {y + 4}H{x(one.example_ci[1])}" stroke="#06c"/>',
            _corrected(x(one.example), y + 4),
            _people(x(one.people), y),
        ]
    return "\n".join([*lines, "</svg>\n"])


def _people(x: str, y: float) -> str:
    return f'<path d="M{x} {y - 9}v18" stroke="#222" stroke-width="2"/>'


def _judge(x: str, y: float) -> str:
    return f'<circle cx="{x}" cy="{y}" r="3.5" fill="#fff" stroke="#c60" stroke-width="1.5"/>'


def _corrected(x: str, y: float) -> str:
    return f'<circle cx="{x}" cy="{y}" r="3.5" fill="#06c"/>'


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the labeled sets")
    parser.add_argument("--seed", type=int, default=0)
    arg = parser.parse_args()
    settings = Settings(arg.data, seed=arg.seed, workers=None)
    rates = measure_rates(settings, fit_without_each(settings))
    page = _DOCS / "trust.md"
    text = filled(page.read_text("utf-8"), {"rates": rates_table(rates)}, page.name)
    page.write_text(text, "utf-8")
    (_DOCS / "rates.svg").write_text(rates_figure(rates), "utf-8")
    print(rates_table(rates))
