"""Corrected rates on labeled sets: the table, the figure, and coverage where the sets are."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from training.offline_judge.sets import folds, read
from training.trust.rates import SetRates, measure_set, rates_figure, rates_table

import trueground as tg

DATA = Path(__file__).parents[3] / "shared" / "data" / "human"


def made() -> SetRates:
    random = np.random.Generator(np.random.SFC64(0))
    labels = (random.random(600) < 0.4).astype(np.float64)
    scores = np.clip(0.3 + 0.4 * labels + 0.2 * random.standard_normal(600), 0, 1)
    found = measure_set("made_up", "faithful", scores, labels, [f"{i}" for i in range(600)], 0)
    assert found is not None
    return found


def test_a_set_is_measured_and_shown() -> None:
    found = made()
    assert found.coverage >= 0.93
    assert found.drawn_coverage >= 0.92
    assert found.width == pytest.approx(found.theory, abs=0.04)
    assert found.drawn_width < 1
    table = rates_table([found]).splitlines()
    assert table[2].startswith("| `made_up` | 0.9")
    assert len(table) == 4
    figure = ElementTree.fromstring(rates_figure([found]))
    assert "made_up" in "".join(figure.itertext())
    assert measure_set("small", "faithful", np.zeros(9), np.zeros(9), ["a"] * 9, 0) is None
    assert rates_table([]) == "–"


@pytest.mark.long
@pytest.mark.skipif(not DATA.is_dir(), reason=f"the labeled sets are not at {DATA}")
@pytest.mark.parametrize("name", [*folds("faithful"), *folds("correct")])
def test_intervals_cover_the_rates_of_real_sets(name: str) -> None:
    label = "faithful" if name in folds("faithful") else "correct"
    metric = "support" if label == "faithful" else "correct_support"
    items = tg.score(str(DATA / f"{name}.jsonl.gz"), metrics=metric).items
    values = dict(zip(items["id"], items[metric], strict=True))
    units = [one for one in read(DATA, name) if values.get(one.id) is not None]
    found = measure_set(
        name,
        label,
        np.array([values[one.id] for one in units], np.float64),
        np.array([one.label for one in units], np.float64),
        [one.group for one in units],
        0,
    )
    assert found is not None
    assert found.coverage >= 0.93
    assert found.drawn_coverage >= 0.92
    if found.auroc >= 0.8:
        assert found.width <= 0.9
