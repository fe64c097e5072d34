"""Metrics against people: which records count, what stands in the result, what is refused."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.texts import validation_text

import trueground as tg
from trueground.errors import (
    BadRowsError,
    CoverageError,
    InputError,
    OutputError,
    UsageError,
    WriteError,
)
from trueground.evaluate.components import Components
from trueground.evaluate.plan import Plan
from trueground.evaluate.scoring import score_batches
from trueground.stats.agreement import spearman
from trueground.stats.thresholds import ScoredLabels
from trueground.studies.validation.result import Validation
from trueground.studies.validation.study import validate
from trueground.wings.labeling.operations import export_tasks

TEXT = "The old mill was built in 1903 by two brothers. It stands by the river Elm."
CLAIMS = (
    ("The mill was built in 1903.", 1),
    ("It stands by the river Elm.", 1),
    ("Two brothers built the mill.", 1),
    ("The mill was built in 1930.", 0),
    ("It stands by the river Oak.", 0),
    ("Bread is baked there every morning.", 0),
)
FAST: dict[str, Any] = {"resamples": 50}
HUMAN = Path(__file__).parents[3] / "shared" / "data" / "human"
Rows = list[dict[str, Any]]


def rows(name: str = "a", **more: Any) -> Rows:
    return [
        {
            "id": f"{name}{i}",
            "question": "What of the mill?",
            "response": claim,
            "contexts": [TEXT],
            "human": {"faithful": label},
            "group": f"g{i // 2}",
            **more,
        }
        for i, (claim, label) in enumerate(CLAIMS)
    ]


def write(path: Path, content: Rows) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return str(path)


def one(found: Validation) -> dict[str, Any]:
    (entry,) = found.raw["sets"]
    return dict(entry)


def test_every_measure_of_every_metric() -> None:
    found = validate(rows(), **FAST)
    entry = one(found)
    assert (entry["n"], entry["positives"], entry["groups"], entry["unused"]) == (6, 3, 3, {})
    assert {"k_precision", "k_precision_pp", "support", "abstained"} <= entry["metrics"].keys()
    scores = tg.score(rows(), metrics="k_precision").items["k_precision"].to_numpy()
    labels = np.array([label for _, label in CLAIMS], bool)
    told = entry["metrics"]["k_precision"]
    measures = told["measures"]
    assert measures["auroc"]["value"] == pytest.approx(ScoredLabels(scores, labels).auroc())
    assert measures["spearman"]["value"] == pytest.approx(spearman(scores, labels.astype(float)))
    assert measures["auroc"]["ci"] is None
    assert "too few to draw from" in measures["auroc"]["why"]
    assert sum(told["confusion"].values()) == told["n"] == 6
    assert sum(told["histogram"]["counts"]["1"]) == 3
    assert sum(each["n"] for each in told["reliability"]) == 6
    assert [each["label"] for each in told["by_label"]] == [0.0, 1.0]
    assert found.value("k_precision") == measures["auroc"]["value"]
    assert found.raw["mean"]["k_precision"]["auroc"]["sets"] == 1
    pooled = found.raw["pooled"]["k_precision"]["calibration_error"]
    assert pooled == measures["calibration_error"]
    assert found.raw["signatures"]["k_precision"].startswith("k_precision|v:1")
    assert "|judge:lexical" in found.raw["signatures"]["support"]


def test_less_is_better_is_turned_round_and_said() -> None:
    content = rows()
    content[5]["response"] = "I do not know."
    found = validate(content, metrics="abstained", **FAST)
    assert found.raw["higher_is_better"] == {"abstained": False}
    assert found.value("abstained") == pytest.approx(1 / 2 + 1 / 3 / 2)
    assert any("turned round" in note for note in found.notes)
    worst = one(found)["metrics"]["abstained"]["worst"]
    assert [item["id"] for item in worst] == ["a3", "a4"]  # not declined, and not faithful
    assert [item["score"] for item in worst] == [0.0, 0.0]  # as items have it


def test_worst_disagreements_first_with_window_and_reasons() -> None:
    content = rows()
    content[3]["human"] = {"faithful": 1}  # said wrongly: 1930
    content[0]["human"] = {"faithful": 0}  # said rightly
    entry = one(validate(content, metrics="support,support_min", worst=2, **FAST))
    for metric in ("support", "support_min"):
        worst = entry["metrics"][metric]["worst"]
        distances = [abs(item["score"] - 0.5) for item in worst]
        assert distances == sorted(distances, reverse=True)
        assert {item["id"] for item in worst} == {"a0", "a3"}
        wrong = next(item for item in worst if item["id"] == "a3")
        assert (wrong["label"], wrong["response"]) == (1.0, CLAIMS[3][0])
        assert "1930" in " ".join(wrong["reasons"])
        assert wrong["context"] == "The old mill was built in 1903 by two brothers."
    none = one(validate(content, metrics="support", worst=0, **FAST))
    assert none["metrics"]["support"]["worst"] == []


def test_only_labeled_records_are_scored_and_the_others_counted() -> None:
    judge = tg.testing.FakeJudge()
    content = rows()
    content += [{"id": "x", "response": "Elm.", "contexts": [TEXT]}]
    content += [{"id": "y", "response": " ", "contexts": [TEXT], "human": {"faithful": 0}}]
    entry = one(validate(content, metrics="support,k_precision", judge=judge, **FAST))
    assert (entry["n"], entry["unused"]) == (7, {"no_label": 1})
    told = entry["metrics"]["support"]
    assert (told["n"], told["unscored"], told["coverage"]) == (6, {"no_claims": 1}, 6 / 7)
    assert "Elm." not in {request.claim for request in judge.requests}


def test_several_annotators_majority_ties_and_ceiling() -> None:
    content = rows()
    votes = [(1, 1, 1), (1, 0, 1), (1, 1, 0), (0, 0, 0), (0, 1, 0), (0, 0, 1)]
    for row, (a, b, c) in zip(content, votes, strict=True):
        row["human"] = {"faithful:ann": a, "faithful:ben": b, "faithful:cy": c}
    content.append({**content[0], "id": "t", "human": {"faithful:ann": 1, "faithful:ben": 0}})
    entry = one(validate(content, metrics="k_precision", **FAST))
    assert (entry["n"], entry["positives"], entry["unused"]) == (6, 3, {"tied": 1})
    ceiling = entry["ceiling"]
    assert [each["annotator"] for each in ceiling["annotators"]] == ["ann", "ben", "cy"]
    # ann agrees with ben and cy where these agree, twice, and not with ben alone.
    assert ceiling["annotators"][0]["measures"]["raw_agreement"]["value"] == pytest.approx(2 / 3)
    worst = entry["metrics"]["k_precision"]["worst"]
    assert all(item["votes"].keys() == {"ann", "ben", "cy"} for item in worst)
    own = [
        {**row, "human": {**row["human"], "faithful": 1 - i % 2}} for i, row in enumerate(content)
    ]
    assert one(validate(own, metrics="k_precision", **FAST))["unused"] == {}
    assert one(validate(rows(), metrics="k_precision", **FAST))["ceiling"] is None


@pytest.mark.parametrize("people", [2, 4])
def test_votes_at_random_have_a_ceiling_of_chance(people: int) -> None:
    """Records on which everybody together is tied have no label, but tell of the annotators."""
    votes = np.random.default_rng(people).integers(0, 2, (600, people))
    content = [
        {**rows()[0], "id": f"r{i}", "human": {f"faithful:p{k}": int(v) for k, v in enumerate(row)}}
        for i, row in enumerate(votes)
    ]
    entry = one(validate(content, metrics="k_precision", worst=0, **FAST))
    tied = int((2 * votes.sum(axis=1) == people).sum())
    assert (entry["n"], entry["unused"]) == (600 - tied, {"tied": tied})
    for name in ("raw_agreement", "auroc", "balanced_accuracy"):
        assert entry["ceiling"]["mean"][name]["value"] == pytest.approx(0.5, abs=0.05)
    for each in entry["ceiling"]["annotators"]:
        assert each["measures"]["cohen_kappa"]["value"] == pytest.approx(0, abs=0.12)
    if people == 2:
        agree = float((votes[:, 0] == votes[:, 1]).mean())
        assert entry["ceiling"]["mean"]["raw_agreement"]["value"] == pytest.approx(agree)


def test_graded_labels() -> None:
    content = rows()
    for row, grade in zip(content, (1, 1, 0.5, 0.5, 0, 0), strict=True):
        row["human"] = {"faithful": grade}
    plain = one(validate(content, metrics="k_precision", **FAST))
    assert plain["positives"] == 2  # partially is not faithful
    ordinal = one(validate(content, metrics="k_precision", ordinal=True, **FAST))
    scores = tg.score(content, metrics="k_precision").items["k_precision"].to_numpy()
    grades = np.array([1, 1, 0.5, 0.5, 0, 0])
    told = ordinal["metrics"]["k_precision"]["measures"]["spearman"]["value"]
    assert told == pytest.approx(spearman(scores, grades))
    assert told != plain["metrics"]["k_precision"]["measures"]["spearman"]["value"]
    low = one(validate(content, metrics="k_precision", positive_above=0.25, **FAST))
    assert low["positives"] == 4


def test_several_sets_have_means_and_unlike_names(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first = write(tmp_path / "mill.jsonl", rows())
    second = write(tmp_path / "other" / "mill.jsonl", rows("b")[1:])
    found = validate([first, second], metrics="k_precision", **FAST)
    assert [entry["name"] for entry in found.raw["sets"]] == [first, second]
    values = [found.value("k_precision", of=path) for path in (first, second)]
    mean = found.raw["mean"]["k_precision"]["auroc"]
    assert mean["value"] == pytest.approx(np.mean([v for v in values if v is not None]))
    assert (mean["sets"], mean["ci"]) == (2, None)
    pooled = found.raw["pooled"]["k_precision"]["calibration_error"]
    assert (pooled["n"], pooled["value"] is not None) == (11, True)
    with pytest.raises(UsageError, match="given twice"):
        validate([first, first])
    text = validation_text(found.raw)
    assert "AUROC by set" in text
    assert text.startswith("Best by AUROC, mean over 2 sets: k_precision with 1.0000")
    assert "11 records that people have labeled faithful, in 2 sets" in " ".join(text.split())


def test_a_set_is_measured_alike_whatever_stands_beside_it(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", rows())
    second = write(tmp_path / "two.jsonl", rows("b"))
    alone = one(validate(first, **FAST))
    together = validate([second, first], **FAST).raw["sets"][1]
    assert together == alone


def test_the_same_bytes_with_any_number_of_workers(tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl", rows())
    found = [validate(path, workers=workers, **FAST).to_json() for workers in (1, 1, 2)]
    assert found[0] == found[1] == found[2]
    assert validate(path, seed=1, **FAST).to_json() != found[0]


def test_a_finished_run_is_not_judged_again(tmp_path: Path) -> None:
    content = rows()
    content.insert(2, {"id": "x", "response": "Elm.", "contexts": [TEXT]})
    path = write(tmp_path / "mill.jsonl", content)
    judge = tg.testing.FakeJudge()
    tg.score(path, judge=judge, out=tmp_path / "run", metrics="support,k_precision")
    asked = len(judge.requests)
    of_run = validate(tmp_path / "run", **FAST)
    assert len(judge.requests) == asked
    of_file = validate(path, judge=tg.testing.FakeJudge(), metrics="support,k_precision", **FAST)
    mine, theirs = one(of_run), one(of_file)
    assert mine["metrics"] == theirs["metrics"]
    assert (mine["name"], mine["sha256"]) == ("run", theirs["sha256"])
    for name in ("judge", "decomposer", "signatures", "mean", "pooled"):
        assert of_run.raw[name] == of_file.raw[name]
    only = one(validate(tmp_path / "run", metrics="k_precision", **FAST))
    assert list(only["metrics"]) == ["k_precision"]
    with pytest.raises(UsageError, match="unknown metric of the run"):
        validate(tmp_path / "run", metrics="f1")
    with pytest.raises(UsageError, match="judged already"):
        validate(tmp_path / "run", judge="lexical")
    with pytest.raises(InputError, match="support is not the same metric in all sets"):
        validate([str(tmp_path / "run"), write(tmp_path / "b.jsonl", rows("b"))], **FAST)
    (tmp_path / "run" / "records.jsonl.zst").unlink()
    with pytest.raises(InputError, match="kept no records"):
        validate(tmp_path / "run")


def pairs() -> Rows:
    better, worse = CLAIMS[0][0], CLAIMS[5][0]
    return [
        {"id": "0", "response": better, "response_b": worse, "human": {"preference": 1}},
        {"id": "1", "response": worse, "response_b": better, "human": {"preference": -2}},
        {"id": "2", "response": better, "response_b": worse, "human": {"preference": -1}},
        {"id": "3", "response": better, "response_b": better, "human": {"preference": 1}},
        {"id": "4", "response": better, "response_b": worse, "human": {"preference": 0}},
        {"id": "5", "response": better, "human": {"preference": 1}},
    ]


def test_pairs() -> None:
    content = [{**row, "contexts": [TEXT]} for row in pairs()]
    found = validate(content, pairs=True, metrics="k_precision,support", **FAST)
    (entry,) = found.raw["preferences"]
    assert (entry["n"], entry["ties"], entry["unused"]) == (5, 1, {"no_response_b": 1})
    told = entry["metrics"]["k_precision"]
    assert told["sign_agreement"]["value"] == pytest.approx(2.5 / 4)  # its tie counts half
    assert told["accuracy"]["value"] == pytest.approx(2 / 3)
    assert told["spearman"]["n"] == 5
    assert (found.raw["sets"], found.raw["label"]) == ([], "preference")
    assert "5 pairs, 1 of them even for people" in validation_text(found.raw)
    assert found.metrics == ["k_precision", "support"]


def test_pairs_by_annotators_and_what_is_no_pair(tmp_path: Path) -> None:
    content = [{**row, "contexts": [TEXT]} for row in pairs()[:4]]
    for row in content:
        value = row["human"]["preference"]
        row["human"] = {"preference:ann": value, "preference:ben": -1 if value < 0 else 1}
    (entry,) = validate(content, pairs=True, metrics="k_precision", **FAST).raw["preferences"]
    assert entry["annotators"] == 2
    assert entry["metrics"]["k_precision"]["sign_agreement"]["n"] == 4
    with pytest.raises(
        InputError, match=r"no record that can be used .*5 no_response_b.*; --pairs"
    ):
        validate(
            [{**row, "response_b": None} for row in content * 1]
            + [content[0] | {"id": "z", "response_b": 1}],
            pairs=True,
        )
    path = write(tmp_path / "a.jsonl", content)
    tg.score(path, out=tmp_path / "run", metrics="k_precision")
    with pytest.raises(InputError, match="one response only"):
        validate(tmp_path / "run", pairs=True)


def test_labels_of_annotate(tmp_path: Path) -> None:
    content = rows()
    for row in content:
        del row["human"]
    path = write(tmp_path / "plain.jsonl", content)
    export_tasks("support", [path], tmp_path / "tasks.jsonl", annotators=2, seed=0)
    answers = {"a0": "fully", "a1": "fully", "a2": "partially", "a3": "not", "a4": "not"}
    files = sorted(tmp_path.glob("tasks-[12].jsonl"))
    for number, file in enumerate(files):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for line in lines:
            line["annotator"] = "ann" if number else "ben"
            line["answer"]["support"] = answers.get(line["id"].partition("~")[0])
        write(file, lines)
    entry = one(validate(path, labels=files, metrics="k_precision", **FAST))
    assert (entry["n"], entry["positives"], entry["unused"]) == (5, 2, {"no_label": 1})
    assert entry["ceiling"]["mean"]["raw_agreement"]["value"] == 1.0
    merged = tmp_path / "labels.jsonl"
    from trueground.wings.labeling.operations import import_answers

    import_answers(files, merged)
    again = one(validate(path, labels=[merged], metrics="k_precision", **FAST))
    assert (again["n"], again["positives"]) == (5, 2)
    changed = write(tmp_path / "b.jsonl", [{**row, "response": "No."} for row in content])
    told = r"6 no_label.*; 5 labels are of another text than the answer has now, 'a0' the first: ex"
    with pytest.raises(InputError, match=told):  # a label is of what was shown
        validate(changed, labels=[merged], metrics="k_precision")
    content[2]["response"] = content[3]["response"] = content[4]["response"] = "No."
    few = write(tmp_path / "d.jsonl", content)
    with pytest.raises(InputError, match=r"2 of 2 .* positive .*; 3 labels are of another text"):
        validate(few, labels=[merged], metrics="k_precision")
    content[2]["response"], content[4]["response"] = rows()[2]["response"], rows()[4]["response"]
    some = write(tmp_path / "c.jsonl", content)
    found = validate(some, labels=[merged], metrics="k_precision", **FAST)
    assert one(found)["n"] == 4
    assert any(note.startswith("1 label is of another text than the") for note in found.notes)
    with pytest.raises(UsageError, match="gives the labels"):
        validate(path, labels=[merged], label="fluent")


def test_what_has_no_score_is_a_note(tmp_path: Path) -> None:
    found = validate(rows(), metrics="k_precision,f1", **FAST)
    assert list(one(found)["metrics"]) == ["k_precision"]
    [note] = [note for note in found.notes if "f1" in note]
    assert note.startswith("no score on any item of records (missing_field): f1; fill in the")
    assert "needed: response, references" in note or "needed: references" in note
    with pytest.raises(CoverageError, match=r"no score .* \(missing_field\): f1"):
        validate(rows(), metrics="f1", **FAST)


def test_sets_without_the_label_or_of_one_kind_are_told(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", rows())
    plain = write(tmp_path / "plain.jsonl", [{**row, "human": {"fine": 1}} for row in rows("b")])
    same = write(tmp_path / "same.jsonl", rows("c")[:3])
    found = validate([first, plain, same], metrics="k_precision", **FAST)
    assert [entry["name"] for entry in found.raw["sets"]] == ["one", "same"]
    assert "plain: no record has the label 'faithful' (6 no_label)" in found.notes
    assert any(note.startswith("same: all 3 labels are positive") for note in found.notes)
    area = found.raw["sets"][1]["metrics"]["k_precision"]["measures"]["auroc"]
    assert (area["value"], area["why"] is not None) == (None, True)
    assert found.raw["mean"]["k_precision"]["auroc"]["sets"] == 1


@pytest.mark.parametrize(
    ("content", "settings", "error", "told"),
    [
        ([{"response": "x"}], {}, InputError, "no record has a human label"),
        (rows(), {"label": "fluent"}, UsageError, "unknown label 'fluent'"),
        (rows()[:3], {}, InputError, "3 of 3 labeled records are positive"),
        (rows(), {"metrics": "k_precison"}, UsageError, "unknown metric 'k_precison'"),
        (rows(), {"level": 1.0}, UsageError, "--level 1.0: expected a number between 0 and 1"),
        (rows(), {"threshold": 2.0}, UsageError, "--threshold 2.0: expected a number from 0 to 1"),
        (rows(), {"resamples": 0}, UsageError, "--resamples 0: expected"),
        (rows(), {"worst": -1}, UsageError, "--worst -1: expected"),
        (rows(), {"fast": True}, TypeError, "unexpected keyword argument 'fast'"),
        (rows(), {"pairs": True, "ordinal": True}, UsageError, "ordinal is for labels"),
        (rows(), {"judge": "lexcial"}, UsageError, "Did you mean 'lexical'"),
        ([*rows(), {"id": "x"}], {}, BadRowsError, "response"),
        (
            [{"response": "x", "human": {"a": 1, "b": 0}}],
            {},
            UsageError,
            "several human labels: a, b",
        ),
    ],
)
def test_refused(content: Rows, settings: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        validate(content, **settings)


def test_skipped_rows_are_counted() -> None:
    entry = one(validate([*rows(), {"id": "x"}], on_bad_row="skip", metrics="k_precision", **FAST))
    assert (entry["n"], entry["unused"]) == (6, {"bad_row": 1})


def test_the_folder(tmp_path: Path) -> None:
    path, out = write(tmp_path / "one.jsonl", rows()), tmp_path / "out"
    found = tg.validate(path, out=out, **FAST)
    names = {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()}
    assert names == {"validation.json", "validation.html", "manifest.json", "items/one.jsonl"}
    assert (out / "validation.json").read_bytes() == found.to_json()
    lines = (out / "items" / "one.jsonl").read_text(encoding="utf-8").splitlines()
    item = json.loads(lines[5])
    assert (item["id"], item["label"]) == ("a5", 0.0)
    assert item["scores"].keys() >= {"k_precision", "support"}
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["kind"], manifest["input"][0]["n"]) == ("validate", 6)
    with pytest.raises(OutputError, match="not empty"):
        validate(path, out=out)
    page = (out / "validation.html").read_bytes()
    validate(path, out=out, overwrite=True, **FAST)
    assert (out / "validation.html").read_bytes() == page
    (tmp_path / "mine").mkdir()
    shutil.rmtree(out / "items")
    (tmp_path / "mine" / "letter.jsonl").touch()
    for link in ("items",):
        (out / link).symlink_to(tmp_path / "mine")
        with pytest.raises(WriteError, match="symbolic link, through which nothing is written"):
            validate(path, out=out, overwrite=True, **FAST)
        (out / link).unlink()
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["letter.jsonl"]
    (tmp_path / "mine" / "letter.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(OutputError, match="holds files but no validation"):
        validate(path, out=tmp_path / "mine", overwrite=True)


def test_single_files(tmp_path: Path) -> None:
    path = write(tmp_path / "one.jsonl", rows())
    found = validate(path, out=tmp_path / "v.json", **FAST)
    assert (tmp_path / "v.json").read_bytes() == found.to_json()
    with pytest.raises(OutputError, match="pass --overwrite"):
        validate(path, out=tmp_path / "v.json")
    with pytest.raises(OutputError, match="no validation file of ours"):
        validate(path, out=write(tmp_path / "other.json", [{}]), overwrite=True)
    validate(path, out=tmp_path / "v.html", **FAST)
    assert "<html" in (tmp_path / "v.html").read_text(encoding="utf-8")
    with pytest.raises(OutputError, match="pass --overwrite"):
        validate(path, out=tmp_path / "v.html")
    validate(path, out=tmp_path / "v.html", overwrite=True, **FAST)
    (tmp_path / "mine.html").write_text("<!doctype html><p>mine", encoding="utf-8")
    with pytest.raises(OutputError, match="no validation page of ours"):
        validate(path, out=tmp_path / "mine.html", overwrite=True)
    assert validate(path, **FAST).to_json() == found.to_json()


def test_metrics_beyond_one_have_no_default_threshold() -> None:
    """A rating from 1 to 5 is held against labels by its best threshold."""
    from trueground.labels.base import LabelRule
    from trueground.studies.validation.measures import MeasureSettings

    settings = MeasureSettings(LabelRule("faithful"), resamples=20)
    scores = {"fluency": np.array([1.0, 2, 4, 5, math.nan]), "f1": np.array([0, 0.2, 0.6, 1, 1])}
    found = settings.measure(scores, np.array([0.0, 0, 1, 1, 1]), None)
    assert found["fluency"].estimates["balanced_accuracy"].value is None
    assert found["fluency"].estimates["balanced_accuracy_best"].value == 1.0
    assert found["fluency"].reliability is None
    assert found["f1"].estimates["balanced_accuracy"].value == 1.0


def test_a_plan_scores_what_score_scores() -> None:
    plan = Plan.make(["contexts"], "k_precision,support", Components.make())
    records = [tg.Record(id=r["id"], response=r["response"]) for r in rows()]
    (scored,) = score_batches(plan, iter([records]), len(records), 1)
    assert scored.values[:, :2].shape == (6, 2)
    assert np.isnan(scored.values[:, :2]).all()  # no contexts
    assert plan.judge_signatures
    assert plan.decomposer_signature
    plain = Plan.make(["contexts"], "k_precision", Components.make())
    assert (plain.judge_signatures, plain.decomposer_signature) == ([], None)


@pytest.mark.skipif(not HUMAN.is_dir(), reason="needs the human-labeled sets in shared/data")
def test_real_sets() -> None:
    paths = [str(HUMAN / f"{name}.jsonl.gz") for name in ("true_q2", "evouna_tq")]
    found = validate(paths[:1], metrics="k_precision", **FAST)
    assert found.raw["sets"][0]["n"] == 1086
    assert found.value("k_precision") == pytest.approx(0.637, abs=0.01)
    correct = validate(paths, label="correct", metrics="recall,k_precision", **FAST)
    assert [entry["name"] for entry in correct.raw["sets"]] == ["evouna_tq"]
    area = correct.value("recall")
    assert area is not None
    assert area > 0.8


def test_default_metrics_that_some_set_scores_are_no_news(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", rows())
    second = write(tmp_path / "two.jsonl", rows("b", contexts=None, references=["1903"]))
    default = validate([first, second], **FAST)
    assert not any("no score" in note for note in default.notes)
    assert default.raw["mean"]["f1"]["auroc"]["sets"] == 1
    named = validate([first, second], metrics="f1,k_precision", **FAST)
    notes = "\n".join(named.notes)
    assert "no score on any item of one (missing_field): f1; fill in" in notes
    assert "no score on any item of two (missing_field): k_precision; fill in" in notes


def many(prefix: str, n: int, shift: int = 0) -> list[dict[str, Any]]:
    """Claims, every third wrong; groups of two by number."""
    return [
        {
            "id": f"{prefix}{k}",
            "group": f"text {k // 2 + shift}",
            "contexts": [f"House {k} of the street has {k + 2} rooms and a green door."],
            "response": f"House {k} has {k + 2 if k % 3 else k + 90} rooms"
            + (" and was sold twice by the sea." if k % 4 == 1 else "."),
            "human": {"faithful": int(k % 3 > 0)},
        }
        for k in range(n)
    ]


def test_differences_to_the_best_metric_are_paired() -> None:
    names = "k_precision,support,k_f1,grounding_precision"
    found = validate(many("a", 40), metrics=names, **FAST).raw
    over, own = found["differences"], one(Validation(found))["differences"]
    assert over.keys() == own.keys() == {"auroc", "spearman"}
    for measure in ("auroc", "spearman"):
        values = {key: of[measure]["value"] for key, of in found["mean"].items()}
        best = max(values, key=values.__getitem__)
        assert over[measure].keys() == values.keys() - {best}
        for key, apart in over[measure].items():
            assert apart["against"] == best
            assert apart["value"] == pytest.approx(values[key] - values[best])
            assert own[measure][key]["value"] == apart["value"]
            assert own[measure][key]["n"] == 40
            assert apart["ci"] is not None or apart["why"]


def test_differences_are_on_the_items_that_both_score() -> None:
    from trueground.stats.human.measure import Measured, measure

    random = np.random.default_rng(1)
    labels = (random.random(120) < 0.5).astype(float)
    good, other = labels + random.normal(size=120), labels / 2 + random.normal(size=120)
    other[::3] = np.nan
    plain: dict[str, Any] = {"threshold": None, "probability": False, "resamples": 200}
    scores = {"good": good, "other": other}
    measured = {name: measure(one, labels, **plain) for name, one in scores.items()}
    told = Measured.differences(measured, scores, labels, {"auroc": "good"}, resamples=200)
    apart = told["auroc"]["other"]
    masked = np.where(np.isnan(other), np.nan, good)
    both = [measure(scores, labels, **plain) for scores in (other, masked)]
    assert apart == both[0].minus(both[1], "auroc")
    expected = both[0].draws["auroc"] - both[1].draws["auroc"]
    np.testing.assert_array_equal(apart.draws["auroc"], expected)


def test_shared_groups_are_told(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", many("a", 24))
    second = write(tmp_path / "two.jsonl", many("b", 24, shift=10))
    told = [n for n in validate([first, second], metrics="support", **FAST).notes if "groups" in n]
    assert told == [
        "2 groups are in more than one set (one, two). Means over sets take the sets as "
        "independent, so their intervals may be too narrow"
    ]
    apart = write(tmp_path / "three.jsonl", many("c", 24, shift=30))
    assert not any(
        "groups" in note for note in validate([first, apart], metrics="support", **FAST).notes
    )


def test_calibration_errors_of_sets_do_not_cancel_out_in_the_mean(tmp_path: Path) -> None:
    first, second = (write(tmp_path / f"{name}.jsonl", many(name, 30)) for name in "ab")
    found = validate([first, second], metrics="k_precision", **FAST).raw
    pooled = found["pooled"]["k_precision"]
    assert pooled["calibration_error"]["n"] == 60
    assert 0 < pooled["by_chance"]["mean"] < pooled["by_chance"]["high"]
    own = [s["metrics"]["k_precision"] for s in found["sets"]]
    mean = found["mean"]["k_precision"]["calibration_error"]["value"]
    errors = [entry["measures"]["calibration_error"]["value"] for entry in own]
    assert mean == pytest.approx(np.mean(errors))
    assert all(entry["calibration_by_chance"]["mean"] > 0 for entry in own)


def test_the_number_of_workers_is_that_of_threads_too(monkeypatch: pytest.MonkeyPatch) -> None:
    import trueground.stats.human.weighing as resampling

    def no_pool(*_args: Any) -> None:
        raise AssertionError("one worker was asked for")

    monkeypatch.setattr(resampling, "ThreadPoolExecutor", no_pool)
    monkeypatch.setattr(resampling, "_WORTH_THREADS", 0)
    validate(many("a", 20), metrics="k_precision,support", workers=1, **FAST)
