"""Numbers that only a whole run has: micro values, and the harmonic mean of means."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
from tests.metrics.citations.made import Row, graph, k, triples

import trueground as tg
from trueground.errors import UsageError
from trueground.evaluate.gates import Gate, Gates
from trueground.evaluate.plan import RunLevel
from trueground.metrics.base import Aggregation, Metric
from trueground.metrics.batch import Column, Floats, Options
from trueground.metrics.context import BatchContext
from trueground.metrics.registry import METRICS

NAMES = "citation_correctness,citation_precision,citation_recall,citation_f1"


def answers(n: int, seed: int = 0, **fields: Any) -> list[Row]:
    dice = random.Random(seed)
    return [
        {
            "id": f"{seed}-{number}",
            "response": f"It {''.join(k(dice.randint(1, 7)) for _ in range(dice.randint(0, 5)))}.",
            "knowledge": [graph(1, 2, 3, 4, 5)],
            "gold_knowledge": triples(*dice.sample(range(1, 7), dice.randint(1, 4))),
            **fields,
        }
        for number in range(n)
    ]


def counted(rows: list[Row]) -> tuple[float, float, float]:
    """Micro precision, recall and F1, from the numbers in the brackets."""
    good = cited = hit = needed = 0
    for row in rows:
        numbers = [int(n) for n in re.findall(r"trait (\d+):", row["response"])]
        gold = {int(t[1].split()[1]) for t in row["gold_knowledge"]}
        good += sum(n in gold and n <= 5 for n in numbers)
        cited += len(numbers)
        hit += len(gold & {n for n in numbers if n <= 5})
        needed += len(gold)
    p, r = good / cited, hit / needed
    return p, r, 2 * p * r / (p + r)


@pytest.mark.parametrize(
    ("key", "micro"),
    [
        ("citation_f1", "citation_f1_micro"),
        ("citation_f1(variant=reference-code)", "citation_f1_micro(variant=reference-code)"),
        ("alignment@llm", "alignment_micro@llm"),
        ("alignment(variant=paper)@llm#2", "alignment_micro(variant=paper)@llm#2"),
    ],
)
def test_keys_there_and_back(key: str, micro: str) -> None:
    assert METRICS.micro_key(key) == micro
    assert METRICS.macro_key(micro) == key
    assert METRICS.macro_key(key) == key


@pytest.fixture
def named_like_a_micro_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics of another package; one counts, so that it has a micro value of its own."""

    def compute(evidence: BatchContext, _o: Options) -> Column:
        return Column.of(np.array([float(len(u)) for u in evidence.batch.responses]))

    def totals(evidence: BatchContext, o: Options) -> tuple[Floats, Floats]:
        values = compute(evidence, o).values
        return values, 2 * values

    for name in ("length_micro", "length"):
        made = Metric(
            name=name,
            family="other",
            doc="",
            source="",
            compute=compute,
            aggregation=Aggregation(totals=totals),
        )
        monkeypatch.setitem(METRICS, name, made)


@pytest.mark.usefixtures("named_like_a_micro_value")
def test_a_metric_may_be_named_like_a_micro_value() -> None:
    result = tg.score([{"response": "abc"}, {"response": "a"}], metrics="length_micro")
    assert result.items.columns == ["id", "length_micro", "length_micro:status"]
    assert result.items["length_micro"].to_list() == [3, 1]
    assert list(result.summary) == ["length_micro", "length_micro_micro"]
    for text, key in (
        ("length_micro=1", "length_micro"),
        ("length_micro_micro=0.5", "length_micro_micro"),
        (
            "citation_f1_micro(variant=reference-code)=0.5",
            "citation_f1_micro(variant=reference-code)",
        ),
    ):
        gate = Gate.parse(text)
        assert gate.metric == key
        if key in result.summary:
            assert Gates((gate,)).judge(result.summary).messages == ()


@pytest.mark.usefixtures("named_like_a_micro_value")
def test_one_name_for_two_numbers_is_refused() -> None:
    with pytest.raises(UsageError, match="length_micro is a metric and the micro value of length"):
        tg.score([{"response": "abc"}], metrics="length,length_micro")


def test_only_what_is_missing_is_computed_beside() -> None:
    level = RunLevel(METRICS.parse_all("citation_f1,citation_recall,k_precision"))
    assert level.keys == [
        "citation_f1",
        "citation_f1_micro",
        "citation_recall",
        "citation_recall_micro",
        "k_precision",
    ]
    names = [spec.key for spec in level.hidden]
    assert "citation_precision" in names
    assert "citation_recall" not in names
    assert RunLevel(METRICS.parse_all("k_precision,f1")).hidden == ()
    options = RunLevel(METRICS.parse_all("na_f1(off_topic=right)")).hidden
    assert [s.key for s in options if "#" not in s.key] == [
        "na_precision(off_topic=right)",
        "na_recall",
    ]


def test_numbers_intervals_and_hidden_columns(tmp_path: Path) -> None:
    rows = answers(60)
    result = tg.score(rows, metrics="citation_f1", out=tmp_path / "run")
    p, r, f1 = counted(rows)
    found = result.summary.raw["metrics"]
    assert list(found) == ["citation_f1", "citation_f1_micro"]
    assert found["citation_f1_micro"]["mean"] == pytest.approx(f1)
    for entry in found.values():
        low, high = entry["ci"]
        assert low <= entry["mean"] <= high
        assert 0 < high - low < 0.5
        assert entry["n"] == 60
    whole = tg.score(rows, metrics=NAMES).summary
    assert whole["citation_precision_micro"].mean == pytest.approx(p)
    assert whole["citation_recall_micro"].mean == pytest.approx(r)
    assert whole["citation_f1_micro"].mean == found["citation_f1_micro"]["mean"]
    values = [whole[f"citation_{name}"].mean for name in ("precision", "recall")]
    assert whole["citation_f1"].mean == pytest.approx(2 / (1 / values[0] + 1 / values[1]))
    for line in (tmp_path / "run" / "items.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        assert list(item["scores"]) == list(item["status"]) == ["citation_f1"]


def test_f1_of_a_run_is_no_mean_of_items() -> None:
    rows = [
        {"response": f"It {k(1)}.", "knowledge": [graph(1)], "gold_knowledge": triples(1, 2)},
        {"response": "It.", "knowledge": [graph(1)], "gold_knowledge": triples(1)},
    ]
    result = tg.score(rows, metrics=NAMES)
    items = [item["scores"]["citation_f1"] for item in result.evidence]
    assert items == [pytest.approx(2 / 3), 0.0]
    # Precision is that of the one answer that cites, recall that of both: 1 and 1/4.
    found = result.summary
    assert found["citation_f1"].mean == pytest.approx(2 * 0.25 / 1.25)
    # One answer that cites is too little to draw a precision from, and so an F1.
    assert [found[f"citation_{name}"].ci for name in ("precision", "recall", "f1")] == [
        None,
        (0.0, 0.5),
        None,
    ]
    assert found["citation_f1_micro"].ci is None


@pytest.mark.parametrize("seed", range(8))
def test_means_lie_within_their_intervals(seed: int) -> None:
    """Also where few answers cite, in all and within a value of a breakdown."""
    dice = random.Random(seed)
    rows = [
        {
            "response": f"It {k(1)}." if dice.random() < 0.25 else "It.",
            "knowledge": [graph(1)],
            "gold_knowledge": triples(*range(1, dice.randint(2, 4))),
            "model": dice.choice("ab"),
        }
        for _ in range(9)
    ]
    summary = tg.score(rows, metrics=NAMES, by=["model"]).summary.raw
    entries = [
        entry
        for found in (
            summary["metrics"],
            summary["averages"]["model"],
            *summary["by"]["model"].values(),
        )
        for entry in found.values()
    ]
    drawn = [entry for entry in entries if entry["ci"] is not None]
    assert drawn
    for entry in drawn:
        low, high = entry["ci"]
        assert low - 1e-9 <= entry["mean"] <= high + 1e-9


def test_breakdowns_and_repeated_runs() -> None:
    """Each value of a breakdown has its own micro values; averages over them have an sd."""
    rows = [
        row
        for repeat in ("1", "2", "3")
        for row in answers(15, seed=int(repeat), meta={"repeat": repeat})
    ]
    summary = tg.score(rows, metrics=NAMES, by=["meta.repeat"]).summary.raw
    by = summary["by"]["meta.repeat"]
    each = [counted([r for r in rows if r["meta"]["repeat"] == repeat]) for repeat in "123"]
    for place, name in enumerate(("precision", "recall", "f1")):
        values = [by[repeat][f"citation_{name}_micro"]["mean"] for repeat in "123"]
        assert values == pytest.approx([numbers[place] for numbers in each])
        average = summary["averages"]["meta.repeat"][f"citation_{name}_micro"]
        assert average["mean"] == pytest.approx(mean(values))
        assert average["sd"] == pytest.approx(stdev(values))
        assert average["ci"][0] <= average["mean"] <= average["ci"][1]
        assert (average["values"], average["of"]) == (3, 3)
    assert all("#" not in key for entries in by.values() for key in entries)


def test_nothing_scored_gives_null() -> None:
    row = {"response": "It.", "knowledge": [], "gold_knowledge": triples(1), "model": "m"}
    found = tg.score([row], metrics=NAMES, by=["model"]).summary.raw
    for entry in found["metrics"].values():
        assert (entry["mean"], entry["ci"], entry["scored"]) == (None, None, 0)
        assert entry["unscored"] == {"not_applicable": 1}
    average = found["averages"]["model"]["citation_f1_micro"]
    assert (average["mean"], average["sd"], average["values"]) == (None, None, 0)


def test_workers_and_batches_give_the_same() -> None:
    rows = answers(40)
    one, two = (tg.score(rows, metrics=NAMES, workers=n).summary.raw["metrics"] for n in (1, 2))
    assert one == two


def test_items_tell_hits_and_units_of_what_is_counted() -> None:
    rows = [
        {"response": f"It {k(1)}{k(2)}{k(9)}.", "knowledge": [graph(1, 2)]},
        {"response": "It.", "knowledge": [graph(1)]},
        {"response": f"It {k(1)}.", "knowledge": []},
    ]
    rows = [row | {"gold_knowledge": triples(1, 3, 4)} for row in rows]
    told = [item["evidence"] for item in tg.score(rows, metrics=NAMES).evidence]
    assert [{key: one["counts"] for key, one in e.items() if "counts" in one} for e in told] == [
        {
            "citation_correctness": [2, 3],
            "citation_precision": [1, 3],
            "citation_recall": [1, 3],
        },
        {"citation_recall": [0, 3]},
        {},
    ]
    assert all(
        isinstance(n, int) for e in told for one in e.values() for n in one.get("counts", ())
    )
