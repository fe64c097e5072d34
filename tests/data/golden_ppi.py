"""Make golden_ppi.json: numbers of the package ppi-python 0.2.3, for tests/stats/test_corrected.py.

python tests/data/golden_ppi.py   (in an environment that has ppi-python; the tests do not need it)
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np


def sample(seed: int, labels: int, items: int, prevalence: float, shift: float):
    """Labels (labels,), and scores of all items, those of the labelled ones first."""
    random = np.random.Generator(np.random.SFC64(seed))
    y = (random.random(items) < prevalence).astype(float)
    f = 1 / (1 + np.exp(-(random.standard_normal(items) + shift * (y - 0.5))))
    return y[:labels], f


CASES = [(1, 40, 200, 0.5, 2.0), (2, 100, 1000, 0.3, 1.0), (3, 100, 700, 0.8, 3.0)]
CASES += [(4, 60, 5000, 0.6, 0.0), (5, 500, 800, 0.4, 1.5), (6, 100, 900, 0.5, -2.0)]

if __name__ == "__main__":
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    found = []
    for case in CASES:
        y, f = sample(*case)
        split = (y, f[: len(y)], f[len(y) :])
        # The interval tunes lambda by itself, from the estimate with lambda = 1.
        low, high = ppi_mean_ci(*split, alpha=0.05)
        point = ppi_mean_pointestimate(*split)
        numbers = {"mean": point, "low": low, "high": high}
        found.append({name: float(np.ravel(x)[0]) for name, x in numbers.items()})
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
