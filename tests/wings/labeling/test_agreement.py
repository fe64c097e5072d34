"""How well annotators agree, against numbers worked out by hand."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.wings.labeling.filling import GOLD, build_of, fill, fill_sheet

from trueground.errors import InputError
from trueground.wings.labeling.agreement import within_one
from trueground.wings.labeling.kinds import AnnotationTask
from trueground.wings.labeling.operations import export_tasks, import_answers, measure_agreement

NAN = float("nan")


def contains(n: int) -> list[AnnotationTask]:
    return [
        AnnotationTask("contains", f"t{i}", {"text": f"text {i}", "fact": "a fact"})
        for i in range(n)
    ]


def files(
    folder: Path, tasks: list[AnnotationTask], *answers: dict[str, Any], **more: Any
) -> list[Path]:
    """A filled file for each of `answers`: task id → values."""
    built = build_of(folder / "built", tasks)
    kind = tasks[0].kind
    export_tasks(kind, [str(built)], folder / "x.jsonl", annotators=len(answers))
    return [
        fill(folder / f"x-{n}.jsonl", lambda line, each=each: each.get(line["id"], {}), **more)
        for n, each in enumerate(answers, 1)
    ]


def test_yes_and_no(tmp_path: Path) -> None:
    """Table 40, 5, 10, 45: observed 0.85, by chance 0.5, kappa 0.7."""
    votes = ["yes yes"] * 40 + ["yes no"] * 5 + ["no yes"] * 10 + ["no no"] * 45
    one, two = (
        {f"t{i}": {"contains": vote.split()[who]} for i, vote in enumerate(votes)} for who in (0, 1)
    )
    found = measure_agreement(files(tmp_path, contains(101), one, two), resamples=300)
    kind = found.kinds["contains"]
    field = kind.fields["contains"]
    assert (kind.tasks, kind.answered_by_two, field.tasks, field.unit) == (100, 100, 100, "task")
    assert field.agreement.value == pytest.approx(0.85)
    assert field.cohen_kappa is not None
    assert field.cohen_kappa.value == pytest.approx(0.7)
    # Of all 200 labels 95 are yes; alpha draws its pairs without putting back.
    chance = 0.475**2 + 0.525**2
    assert field.fleiss_kappa.value == pytest.approx((0.85 - chance) / (1 - chance))
    alpha = 1 - 0.15 / (2 * 95 * 105 / (200 * 199))
    assert field.krippendorff_alpha.value == pytest.approx(alpha)
    assert field.agreement.ci is not None
    assert field.agreement.ci[0] < 0.85 < field.agreement.ci[1]
    assert 0.1 < field.agreement.ci[1] - field.agreement.ci[0] < 0.2
    assert (kind.annotators["1"].done, kind.annotators["1"].unfinished) == (100, 1)
    assert len(kind.hardest) == 10
    assert found == measure_agreement(
        [tmp_path / "x-1.jsonl", tmp_path / "x-2.jsonl"], resamples=300
    )


def test_sets_count_option_by_option(tmp_path: Path) -> None:
    """Of 12 facts in 4 tasks 10 are labeled alike; of 4 sets 3 are the same."""
    one = {f"q{i}": {"gold": ["1"]} for i in range(1, 5)}
    two = one | {"q3": {"gold": ["2"]}}
    found = measure_agreement(files(tmp_path, GOLD, one, two), resamples=200)
    field = found.kinds["gold-facts"].fields["gold"]
    assert (field.unit, field.tasks) == ("part", 4)
    assert field.agreement.value == pytest.approx(10 / 12)
    assert field.same_set is not None
    assert field.same_set.value == pytest.approx(0.75)
    assert field.cohen_kappa is not None
    assert field.cohen_kappa.value == pytest.approx((10 / 12 - 5 / 9) / (4 / 9))
    (hard,) = found.kinds["gold-facts"].hardest
    assert (hard.id, hard.disagreement) == ("q3", 1.0)
    assert hard.answers == {"1": {"gold": ("1",)}, "2": {"gold": ("2",)}}


def test_intervals_draw_whole_tasks(tmp_path: Path) -> None:
    """The parts of one task stand or fall together: wider than if each part were drawn alone."""
    one = {f"q{i}": {"gold": []} for i in range(1, 5)}
    two = one | {"q1": {"gold": ["1", "2", "3"]}}
    found = measure_agreement(files(tmp_path, GOLD, one, two), resamples=2_000)
    interval = found.kinds["gold-facts"].fields["gold"].agreement
    assert (interval.value, interval.ci) == (0.75, (0.25, 1.0))


def test_within_one() -> None:
    labels = np.array([[5, 4, NAN], [1, 3, 2], [2, NAN, NAN], [3, 3, 3]])
    assert within_one(labels) == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert within_one(labels, weights=np.array([0.0, 3, 5, 0])) == pytest.approx(2 / 3)
    assert within_one(labels[2:3]) is None


def test_scales_and_fields_that_are_not_asked(tmp_path: Path) -> None:
    shown = {"question": "q", "paragraph": "p", "knowledge": ["a", "b"]}
    tasks = [AnnotationTask("quality", f"t{i}", shown) for i in range(3)]
    base = {"authenticity": "yes", "relevance": ["1"], "significance": 3}
    one = {f"t{i}": base | {"naturalness": n} for i, n in enumerate((5, 4, 1))}
    two = {f"t{i}": base | {"naturalness": n} for i, n in enumerate((5, 3, 4))}
    found = measure_agreement(files(tmp_path, tasks, one, two), resamples=100)
    fields = found.kinds["quality"].fields
    assert fields["naturalness"].measure == "interval"
    assert fields["naturalness"].within_one is not None
    assert fields["naturalness"].within_one.value == pytest.approx(2 / 3)
    assert fields["naturalness"].agreement.value == pytest.approx(1 / 3)
    means = {name: field.mean and field.mean.value for name, field in fields.items()}
    assert means == {
        "authenticity": 1.0,
        "relevance": 0.5,
        "naturalness": pytest.approx(22 / 6),
        "significance": 3.0,
    }
    # All say the same: there is nothing that chance could be told from.
    assert fields["authenticity"].agreement.value == 1.0
    assert fields["authenticity"].krippendorff_alpha.value is None
    assert fields["authenticity"].fleiss_kappa.ci is None


def test_dependent_fields_where_one_says_no(tmp_path: Path) -> None:
    shown = {"question": "q", "answer": "a", "contexts": ["c", "d"]}
    tasks = [AnnotationTask("candidate", f"t{i}", shown) for i in range(2)]
    kept = {"keep": 1, "minimal": [1], "documents": "single", "form": "definite", "span": "c"}
    found = measure_agreement(
        files(tmp_path, tasks, {"t0": kept, "t1": kept}, {"t0": kept, "t1": {"keep": "no"}}),
        resamples=50,
    )
    fields = found.kinds["candidate"].fields
    assert list(fields) == ["keep", "minimal", "documents", "form"]
    assert (fields["keep"].tasks, fields["form"].tasks, fields["minimal"].tasks) == (2, 1, 1)
    assert [hard.id for hard in found.kinds["candidate"].hardest] == ["t1"]


def test_hardest_first_then_longest(tmp_path: Path) -> None:
    tasks = contains(4)
    one = {task.id: {"contains": "yes"} for task in tasks}
    paths = files(tmp_path, tasks, one, one | {i: {"contains": "no"} for i in ("t1", "t2")})
    for path in paths:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            line |= {"seconds": {"t2": 90}.get(line["id"], 10), "comment": "unsure"}
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    kind = measure_agreement(paths, resamples=50).kinds["contains"]
    assert [(hard.id, hard.seconds) for hard in kind.hardest] == [("t2", 90), ("t1", 10)]
    assert kind.hardest[0].comments == {"1": "unsure", "2": "unsure"}
    assert kind.annotators["2"].seconds == 10


def test_four_people_of_whom_two_do_each(tmp_path: Path) -> None:
    tasks = contains(4)
    yes = {"contains": "yes"}
    paths = files(
        tmp_path,
        tasks,
        *({"t0": yes, "t1": yes}, {"t0": yes, "t1": yes}),
        *({"t2": yes, "t3": yes}, {"t2": yes, "t3": {"contains": "no"}}),
    )
    field = measure_agreement(paths, resamples=50).kinds["contains"].fields["contains"]
    assert (field.tasks, field.agreement.value, field.cohen_kappa) == (4, 0.75, None)
    assert field.fleiss_kappa.value == pytest.approx((0.75 - 50 / 64) / (14 / 64))


def test_nothing_filled_in(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no task is filled in yet"):
        measure_agreement(files(tmp_path, contains(2), {}, {}))


@pytest.mark.long
def test_twenty_thousand_tasks_in_seconds(tmp_path: Path) -> None:
    n = 20_000
    began = time.process_time()
    export_from = build_of(tmp_path / "built", [])
    lines = (json.dumps({"kind": t.kind, "id": t.id, "shown": t.shown}) + "\n" for t in contains(n))
    (export_from / "annotate" / "contains.jsonl").write_text("".join(lines))
    export_tasks("contains", [str(export_from)], tmp_path / "x.jsonl", csv=True)
    one = fill(tmp_path / "x-1.jsonl", lambda _: {"contains": "yes"})
    two = fill_sheet(
        tmp_path / "x-2.csv", lambda row: {"contains": "no" if row["id"] == "t7" else "yes"}
    )
    done = import_answers([one, two], tmp_path / "labels.jsonl")
    assert (done.agreed, done.disputed) == (n - 1, 1)
    found = measure_agreement([one, two]).kinds["contains"].fields["contains"]
    assert found.agreement.value == pytest.approx(1 - 1 / n)
    assert time.process_time() - began < 60
