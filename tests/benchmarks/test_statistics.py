"""`data stats` of a benchmark: what its questions are like, beside what the paper says of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.commands import trueground
from tests.wings.papers.faitheval_files import data_folder

from trueground.benchmarks.data import count_data
from trueground.benchmarks.statistics import benchmark_statistics
from trueground.errors import InputError, UsageError

SHARED = Path(__file__).parents[3] / "shared/data/truly-ground"


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are not here")
def test_the_papers_shares_are_those_of_its_data() -> None:
    [found] = benchmark_statistics("truly-ground/original-gold", SHARED)
    assert found.counts["questions"] == found.published["questions"] == 480
    assert set(found.shares) | {"questions"} == set(found.published)
    for name, share in found.shares.items():
        assert share == pytest.approx(found.published[name], abs=0.0011), name
    assert found.means["gold_facts"] == pytest.approx(4.10, abs=0.005)
    assert "minimum_set_size" not in found.means


def test_tasks_of_files(tmp_path: Path) -> None:
    folder = data_folder(tmp_path)
    counts = count_data("faitheval", data=folder)
    assert [one.name for one in counts] == [
        "faitheval/unanswerable", "faitheval/inconsistent", "faitheval/counterfactual",
    ]  # fmt: skip
    last = counts[-1]
    assert last.counts == {"questions": 3}
    assert last.published == {"questions": 1000}
    assert last.means["choices"] > 1
    done = trueground("data", "stats", "faitheval/counterfactual", "--data", folder)
    name, head, first, *_ = done.stdout.splitlines()
    assert name == "faitheval/counterfactual"
    assert head.split() == ["counted", "paper"]
    assert first.split() == ["questions", "3", "1,000"]


def test_count_data_unknown_name_raises_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown task of kalma"):
        count_data("kalma/nothing")
    with pytest.raises(InputError):
        count_data("faitheval", data=tmp_path / "none")
