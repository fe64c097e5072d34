"""Calibrating judges against labels: what is judged, what is counted, what the numbers are of."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueground.claims import RuleDecomposer
from trueground.errors import InputError, OutputError, UnreachableError, UsageError
from trueground.judges import LexicalJudge, get_judge
from trueground.reports.calibration import render
from trueground.stats.logistic import fit
from trueground.stats.thresholds import auroc, best_threshold
from trueground.studies.calibrate import calibrate
from trueground.testing import FakeJudge
from trueground.types import Claim, Failure, JudgeRequest, Status, Verdict

Rows = list[dict[str, Any]]


class Scripted:
    """Scores a claim by the number that stands in it: "it is 0.7"."""

    name = "scripted"
    threshold = 0.5
    signature = "scripted-1|threshold:0.5"
    basis = "scripted-1"

    def __init__(self, verdict: Callable[[float], Verdict] | None = None) -> None:
        self.asked: list[JudgeRequest] = []
        self._verdict = verdict or (lambda score: Verdict(score > 0.5, score=score))

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        self.asked += requests
        return [self._verdict(float(request.claim.split()[-1])) for request in requests]


class ByBar:
    """One claim between bars; a text with "lost" cannot be had."""

    name = "bar"
    signature = "bar-1"

    def decompose(self, texts: Sequence[str]) -> list[list[Claim] | Failure]:
        return [
            Failure(Status.UNPARSEABLE, "lost")
            if "lost" in text
            else [Claim(part, 0, 0) for part in text.split("|") if part.strip()]
            for text in texts
        ]


def row(score: object, label: float | None, **more: Any) -> dict[str, Any]:
    human = {} if label is None else {"human": {"faithful": label}}
    return {"response": f"it is {score}", "contexts": ["A text."], **human, **more}


def drawn(seed: int, n: int, **more: Any) -> Rows:
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.5
    scores = random.normal(0.4 + 0.2 * truth, 0.2).round(4)
    return [row(float(s), float(t), **more) for s, t in zip(scores, truth, strict=True)]


def write(path: Path, rows: Rows) -> Path:
    text = "".join(json.dumps({"id": f"{path.name}-{i}", **r}) + "\n" for i, r in enumerate(rows))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_the_numbers_are_those_of_scores_and_labels() -> None:
    rows = drawn(0, 200)
    scores = np.array([float(r["response"].split()[-1]) for r in rows])
    truth = np.array([r["human"]["faithful"] == 1 for r in rows])
    found = calibrate(rows, Scripted(), resamples=50)
    assert found.auroc == auroc(scores, truth)
    assert found.threshold == best_threshold(scores, truth)
    assert (found.slope, found.intercept) == fit(scores, truth)
    raw = found.raw
    assert (raw["format"], raw["judge"]) == ("trueground-calibration-1", "scripted")
    assert raw["signature"] == "scripted-1"
    assert (raw["n"], raw["positives"], raw["groups"]) == (200, int(truth.sum()), None)
    assert raw["default"]["threshold"] == 0.5
    assert raw["chosen"]["balanced_accuracy"] >= raw["default"]["balanced_accuracy"]
    low, high = raw["chosen"]["balanced_accuracy_ci"]
    assert low < raw["chosen"]["balanced_accuracy"] < high
    assert raw["chosen"]["cross_validated"]["folds"] == 5
    assert raw["calibration_error"]["before"] is None
    assert raw["calibration_error"]["after"] < 0.15
    assert calibrate(rows, Scripted(), resamples=50).raw == raw


def test_the_curve_has_at_most_200_points_and_both_thresholds() -> None:
    found = calibrate(drawn(1, 900), Scripted(), resamples=1).raw
    assert 150 < len(found["curve"]) <= 200
    shares = [point["share_positive"] for point in found["curve"]]
    assert (shares[0], shares[-1]) == (1, 0)
    assert shares == sorted(shares, reverse=True)
    for told in (found["default"], found["chosen"]):
        nearest = [p for p in found["curve"] if p["share_positive"] == told["share_positive"]]
        assert nearest[0]["balanced_accuracy"] == told["balanced_accuracy"]


def test_what_cannot_be_judged_is_counted_and_left_out() -> None:
    judge = Scripted()
    rows = [
        row(0.9, 1),
        row(0.1, 0),
        row(0.2, None),
        row(0.3, 1, contexts=[]),
        row(0.3, 1, contexts=[" "]),
        {**row(0.4, 1), "response": " "},
    ]
    found = calibrate(rows, judge, resamples=1).raw
    assert found["n"] == 2
    assert found["unscored"] == {"missing_field": 2, "no_claims": 1, "no_label": 1}
    assert [r.claim for r in judge.asked] == ["it is 0.9", "it is 0.1"]
    assert judge.asked[0].texts == ("A text.",)
    assert "2 missing_field, 1 no_claims, 1 no_label" in render(found)


def test_verdicts_that_are_not_scored_are_counted_by_status() -> None:
    def verdict(score: float) -> Verdict:
        if score == 0.3:
            return Verdict(status=Status.TOO_LONG)
        if score == 0.4:
            return Verdict(True)
        return Verdict(score > 0.5, score=score)

    rows = [row(0.9, 1), row(0.1, 0), row(0.3, 1), row(0.4, 1)]
    found = calibrate(rows, Scripted(verdict), resamples=1).raw
    assert (found["n"], found["unscored"]) == (2, {"not_applicable": 1, "too_long": 1})


def test_a_judge_without_any_score_has_no_threshold() -> None:
    judge = Scripted(lambda score: Verdict(score > 0.5))
    with pytest.raises(UsageError, match="verdicts without a score or a probability"):
        calibrate(drawn(0, 10), judge)
    assert len(judge.asked) == 1
    lost = Scripted(lambda _score: Verdict(status=Status.ERROR))
    with pytest.raises(InputError, match="could score no record: 10 error"):
        calibrate(drawn(0, 10), lost)


def test_a_judge_that_cannot_be_reached_is_not_hidden() -> None:
    def gone(_score: float) -> Verdict:
        raise UnreachableError("nobody answers")

    with pytest.raises(UnreachableError, match="nobody answers"):
        calibrate(drawn(0, 10), Scripted(gone))


def test_with_a_decomposer_the_weakest_claim_counts() -> None:
    rows = [
        {**row(0, 1), "response": "a 0.9 | b 0.7"},
        {**row(0, 0), "response": "a 0.9 | b 0.2 | c 0.8"},
        {**row(0, 0), "response": "a 0.4"},
        {**row(0, 1), "response": "lost"},
        {**row(0, 1), "response": " | "},
    ]
    found = calibrate(rows, Scripted(), decomposer=ByBar(), resamples=1).raw
    assert (found["n"], found["unscored"]) == (3, {"no_claims": 1, "unparseable": 1})
    assert found["threshold"] == pytest.approx((0.4 + 0.7) / 2)
    assert found["decomposer"] == "bar-1"
    named = calibrate(rows[:3], Scripted(), decomposer="rules", resamples=1).raw
    assert named["decomposer"] == RuleDecomposer.signature


@pytest.mark.parametrize("objective", ["f1", "accuracy", "matthews", "correlation"])
def test_objectives(objective: str) -> None:
    rows = drawn(7, 60)
    scores = np.array([float(r["response"].split()[-1]) for r in rows])
    truth = np.array([r["human"]["faithful"] == 1 for r in rows])
    found = calibrate(rows, Scripted(), objective=objective, resamples=1)
    assert found.threshold == best_threshold(scores, truth, objective)


def test_label_is_the_only_one_else_faithful_else_asked_for() -> None:
    def with_labels(*names: str) -> Rows:
        return [{**row(s, 1), "human": dict.fromkeys(names, int(s > 0.5))} for s in (0.2, 0.8)]

    assert calibrate(with_labels("right"), Scripted(), resamples=1).raw["label"] == "right"
    both = with_labels("faithful", "fluent")
    assert calibrate(both, Scripted(), resamples=1).raw["label"] == "faithful"
    assert calibrate(both, Scripted(), label="fluent", resamples=1).raw["label"] == "fluent"
    with pytest.raises(UsageError, match="several human labels: a, b; choose one with --label"):
        calibrate(with_labels("a", "b"), Scripted())
    judge = Scripted()
    with pytest.raises(UsageError, match=r"unknown label 'faitful'.*'faithful'"):
        calibrate(both, judge, label="faitful")
    with pytest.raises(InputError, match="no record has a human label"):
        calibrate([row(0.1, None)], judge)
    assert judge.asked == []


def test_graded_labels_and_labels_of_one_kind() -> None:
    rows = [row(0.1, 1), row(0.5, 2), row(0.9, 3)]
    found = calibrate(rows, Scripted(), positive_above=2, resamples=1).raw
    assert (found["positives"], found["positive_above"]) == (1, 2)
    judge = Scripted()
    with pytest.raises(InputError, match=r"3 of 3 records.* 1 missing_field; expected"):
        calibrate([*rows, row(0.1, 1, contexts=[])], judge)
    assert judge.asked == []


def test_groups_are_clusters_of_intervals_and_folds() -> None:
    rows = [{**r, "group": f"g{i}"} for i, r in enumerate(drawn(2, 60))]
    copies = [dict(r) for r in rows for _ in range(6)]
    found = calibrate(copies, Scripted(), resamples=200).raw
    alone = calibrate(drawn(2, 60), Scripted(), resamples=200).raw
    assert (found["groups"], alone["groups"]) == (60, None)
    loose = calibrate([{**r, "group": None} for r in copies], Scripted(), resamples=200).raw

    def width(raw: dict[str, Any]) -> float:
        low, high = raw["auroc"]["ci"]
        return float(high - low)

    assert width(found) == pytest.approx(width(alone), rel=0.25)
    assert width(loose) < 0.6 * width(found)


def test_several_files_are_pooled_and_each_is_told(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / "one.jsonl", drawn(3, 50)),
        write(tmp_path / "two.jsonl.gz", [*drawn(4, 40), row(0.5, 1, contexts=[])]),
        write(tmp_path / "yes.jsonl", [row(0.9, 1)] * 3),
    ]
    found = calibrate([str(p) for p in paths], Scripted(), resamples=20).raw
    assert (found["n"], [f["n"] for f in found["files"]]) == (93, [50, 40, 3])
    assert [f["path"] for f in found["files"]] == [str(p) for p in paths]
    assert [f["unscored"] for f in found["files"]] == [{}, {"missing_field": 1}, {}]
    one, two, yes = found["files"]
    assert len(one["sha256"]) == 64
    only = calibrate(str(paths[0]), Scripted(), resamples=20).raw
    assert (only["auroc"]["value"], "left_out" in only["files"][0]) == (one["auroc"], False)
    others = calibrate([str(p) for p in paths[1:]], Scripted(), resamples=20)
    assert one["left_out"]["threshold"] == others.threshold
    assert two["left_out"]["threshold"] != others.threshold
    assert (yes["auroc"], yes["chosen"]) == (None, None)
    assert "3 of 3 labels are positive" in yes["reason"]
    shown = render(found)
    assert "two.jsonl.gz" in shown
    with pytest.raises(UsageError, match="given twice"):
        calibrate([str(paths[0]), str(paths[0])], Scripted())


def test_limit_takes_the_first_of_each_file(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / f"{i}.jsonl", drawn(i, 30))) for i in (5, 6)]
    found = calibrate(paths, Scripted(), limit=10, resamples=1).raw
    assert [f["n"] for f in found["files"]] == [10, 10]


def test_notes_say_when_the_numbers_are_no_use() -> None:
    against = [row(s, 1 - r) for s, r in ((0.1, 0), (0.2, 0), (0.8, 1), (0.9, 1))] * 5
    notes = calibrate(against, Scripted(), resamples=1).notes
    assert any("AUROC is 0.000" in note for note in notes)
    good = [row(s, s > 0.5) for s in (0.1, 0.2, 0.8, 0.9)] * 5
    notes = calibrate(good, Scripted(), resamples=1).notes
    assert [note.rpartition(": ")[2] for note in notes] == ["keep the default"]
    two = calibrate([row(0.1, 0), row(0.9, 1)], Scripted(), resamples=1)
    assert any(note.startswith("no cross-validation") for note in two.notes)
    assert two.raw["auroc"]["ci"] is None
    assert "–" in render(two.raw)


def test_scores_that_are_all_equal_allow_no_threshold() -> None:
    with pytest.raises(InputError, match=r"all 4 scores are 0.5"):
        calibrate([row(0.5, i % 2) for i in range(4)], Scripted())


@pytest.mark.parametrize("wrong", [{"objective": "auc"}, {"resamples": 0}, {"level": 1.0}])
def test_settings_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        calibrate(drawn(0, 10), Scripted(), **wrong)


def test_the_file_is_whole_and_never_replaces_another_unasked(tmp_path: Path) -> None:
    found = calibrate(drawn(0, 30), Scripted(), resamples=5)
    path = tmp_path / "c.json"
    found.write(path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(found.raw))
    with pytest.raises(OutputError, match="pass --overwrite"):
        found.write(path)
    found.write(path, overwrite=True)
    with pytest.raises(OutputError, match="is a folder"):
        found.write(tmp_path)
    with pytest.raises(OutputError, match="does not exist"):
        found.write(tmp_path / "no" / "c.json")
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]


def test_the_lexical_judge_from_file_to_verdicts(tmp_path: Path) -> None:
    """Calibrate, write, and read the file into a judge that then decides by it."""
    text = "The old mill was built in 1903 by two brothers and it stands by the river Elm."
    partly = "The mill was built in 1903 by two sisters from the nearby town of Oakham."
    rows = [
        {"response": claim, "contexts": [text], "human": {"faithful": label}}
        for claim, label in (
            ("The mill was built in 1903.", 1),
            ("It stands by the river Elm.", 1),
            ("Brothers built the mill by the river.", 1),
            (partly, 0),
            ("The mill was built in 1930.", 0),
            ("Bread is baked there every morning.", 0),
        )
    ]
    found = calibrate(rows, "lexical", resamples=20)
    assert found.raw["calibration_error"]["before"] is not None
    path = tmp_path / "lexical.json"
    found.write(path)
    judge = get_judge(f"lexical(calibration={path})")
    assert judge.threshold == found.threshold
    requests = [JudgeRequest(r["response"], tuple(r["contexts"])) for r in rows]
    plain = LexicalJudge().judge(requests)
    for before, after in zip(plain, judge.judge(requests), strict=True):
        score = before.probability
        assert score is not None
        assert after.supported == (score > found.threshold)
        odds = found.slope * score + found.intercept
        assert after.probability == pytest.approx(1 / (1 + np.exp(-odds)))


def test_a_judge_that_says_the_opposite_is_told_so_with_its_file() -> None:
    rows = [
        {"response": c, "contexts": ["x"], "human": {"faithful": y}}
        for c, y in [("a", 0), ("b", 0), ("c", 1), ("d", 1)]
    ]
    judge = FakeJudge({"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1})
    notes = calibrate(rows, judge, resamples=10).notes
    assert any("judges refuse a file" in note for note in notes)
