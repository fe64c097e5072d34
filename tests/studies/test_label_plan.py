"""`annotate plan` → export → import → `score --labels`: what was drawn is what is weighed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.studies.test_compare_labels import write
from tests.texts import plan_text
from tests.wings.labeling.filling import fill, fill_sheet

import trueground as tg
from trueground.errors import InputError, OutputError, UsageError
from trueground.studies.label_plan import plan_labels
from trueground.wings.labeling.operations import export_tasks, import_answers

N = 600


def people(i: int) -> int:
    return int(i % 3 > 0 and i % 10 > 0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = []
    for i in range(N):
        said = f"The bridge number {i} has {i % 7 + 2} arches of {'stone' if i % 2 else 'oak'}."
        context = said if i % 3 else f"The bridge number {i} has arches."
        rows.append({"id": f"q{i}", "question": "?", "contexts": [context], "response": said})
    source = write(tmp_path / "answers.jsonl", rows)
    tg.score(str(source), metrics="support", out=tmp_path / "run", resamples=10)
    return tmp_path / "run"


def number(id_: str) -> int:
    return int(id_.lstrip("'")[1:].split("~")[0])


@pytest.mark.parametrize("sheet", [False, True])
def test_from_a_plan_to_a_corrected_rate(tmp_path: Path, run: Path, sheet: bool) -> None:
    plan = plan_labels(run, tmp_path / "drawn.jsonl", half_width=0.05)
    assert (plan.metric, plan.label, plan.basis) == ("support", "faithful", "labeled sets")
    assert plan.expected <= 0.05
    assert plan.labels <= plan.alone
    assert sum(one.answers for one in plan.strata) == N
    drawn = [json.loads(line) for line in (tmp_path / "drawn.jsonl").read_text().splitlines()]
    assert len(drawn) == plan.labels
    probabilities = [one["meta"]["drawn"]["probability"] for one in drawn]
    assert sum(1 / p for p in probabilities) == pytest.approx(N)
    export_tasks(
        "support", [plan.file], tmp_path / "t.jsonl", csv=sheet, annotators=1, order="same"
    )
    path = tmp_path / ("t-1.csv" if sheet else "t-1.jsonl")

    def answer(row: dict[str, str]) -> dict[str, str]:
        return {"support": "fully" if people(number(row["id"])) else "not"}

    (fill_sheet if sheet else fill)(path, answer)
    import_answers([path], tmp_path / "labels.jsonl")
    source, labels = str(tmp_path / "answers.jsonl"), [tmp_path / "labels.jsonl"]
    result = tg.score(source, metrics="support", labels=labels)
    one = result.summary.corrected["support"]
    truth = np.mean([people(i) for i in range(N)])
    assert one["ci"][0] <= truth <= one["ci"][1]
    assert (one["labels"], one["drawn"], one["notes"]) == (plan.labels, "weighted", [])
    assert one["ci"][1] - one["ci"][0] < 0.11


def test_a_pilot_tells_what_the_judge_is_worth(tmp_path: Path, run: Path) -> None:
    pilot = write(
        tmp_path / "pilot.jsonl",
        [{"id": f"q{i}", "human": {"faithful": int(i % 3 > 0)}} for i in range(0, N, 7)],
    )
    out = tmp_path / "drawn.jsonl"
    plan = plan_labels(run, out, half_width=0.05, labels=[pilot], labels_drawn="random")
    assert (plan.basis, plan.pilot) == ("pilot", 86)
    blind = plan_labels(run, out, half_width=0.05, overwrite=True)
    assert plan.labels < blind.labels
    shown = plan_text(plan)
    assert f"{plan.labels:,} of 600 answers to label" in shown
    assert f"expected of these labels with the judge's scores: ± {100 * plan.expected:.2g}" in shown
    assert f"labels that it would take without its scores: {plan.alone:,}" in shown
    assert "annotate export support" in shown


def test_the_draw_hangs_on_the_seed_alone(tmp_path: Path, run: Path) -> None:
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        plan_labels(run, path, half_width=0.1, seed=seed)
    first, again, other = (path.read_bytes() for path in files)
    assert first == again
    assert first != other


def test_what_cannot_be_planned_is_refused(tmp_path: Path, run: Path) -> None:
    out = tmp_path / "drawn.jsonl"
    with pytest.raises(UsageError, match=r"0\.03 for 3 points"):
        plan_labels(run, out, half_width=3)
    with pytest.raises(UsageError, match="predicts no label"):
        plan_labels(run, out, metric="rouge_1")
    other = [{"id": f"q{i}", "human": {"correct": 1}} for i in range(40)]
    wrong = write(tmp_path / "l.jsonl", other)
    with pytest.raises(InputError, match="no label 'faithful', which support predicts"):
        plan_labels(run, out, labels=[wrong], labels_drawn="random")
    assert not out.exists()
    out.touch()
    with pytest.raises(OutputError, match="--overwrite"):
        plan_labels(run, out)
    rows = [{"id": "1", "contexts": ["a"], "response": "a"}]
    tg.score(rows, metrics="support", out=tmp_path / "small")
    with pytest.raises(InputError, match="1 answers; a rate is corrected from 30 labels on"):
        plan_labels(tmp_path / "small", tmp_path / "d.jsonl")
