"""Calibrating judges against labels: what is judged, what is counted, what the numbers are of."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reports.payload import words
from tests.texts import calibration_text

import trueground as tg
from trueground.claims.rules import RuleDecomposer
from trueground.errors import CoverageError, InputError, OutputError, UnreachableError, UsageError
from trueground.judges.calibrated import CalibrationFile, calibrated
from trueground.judges.lexical.judge import LexicalJudge
from trueground.judges.registry import get_judge
from trueground.stats.calibration import IsotonicCurve, LogisticCurve
from trueground.stats.rates import lower_bound
from trueground.stats.thresholds import ScoredLabels, folds
from trueground.studies.calibration.page import calibration_page
from trueground.studies.calibration.study import calibrate
from trueground.testing import FakeJudge
from trueground.types import Claim, Failure, JudgeRequest, Status, Verdict
from trueground.wings.labeling.operations import export_tasks

METHODS = CalibrationFile.METHODS

Rows = list[dict[str, Any]]
KEPT = ("score", "platt")


class Scripted:
    """Scores a claim by the number that stands in it: "it is 0.7"."""

    name = "scripted"
    threshold = 0.5
    scores = True
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
    assert found.auroc == ScoredLabels(scores, truth).auroc()
    assert found.threshold == ScoredLabels(scores, truth).best_threshold()
    assert (found.slope, found.intercept) == LogisticCurve.fit(scores, truth)
    raw = found.raw
    assert (raw["format"], raw["judge"]) == ("trueground-calibration-2", "scripted")
    assert raw["signature"] == "scripted-1"
    assert (raw["n"], raw["positives"], raw["groups"]) == (200, int(truth.sum()), None)
    assert raw["default"]["threshold"] == 0.5
    assert raw["chosen"]["balanced_accuracy"] >= raw["default"]["balanced_accuracy"]
    low, high = raw["chosen"]["balanced_accuracy_ci"]
    assert low < raw["chosen"]["balanced_accuracy"] < high
    assert raw["chosen"]["cross_validated"]["folds"] == 5
    assert raw["calibration_error"]["before"] is None
    assert raw["calibration_error"]["after"] < 0.15
    assert (raw["of"], raw["method"], raw["knots"], raw["precision"]) == (*KEPT, None, None)
    at = ScoredLabels(scores, truth).measures_at(found.threshold)
    assert {name: raw["chosen"][name] for name in at} == at
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
    assert "2 missing_field, 1 no_claims, 1 no_label" in " ".join(calibration_text(found).split())


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
    for asked in ({"objective": "kappa"}, {"precision": 0.9}):
        judge = Scripted(lambda score: Verdict(score > 0.5))
        with pytest.raises(UsageError, match="verdicts without a score or a probability"):
            calibrate(drawn(0, 10), judge, **asked)
        assert len(judge.asked) == 1
        judge.scores = False
        with pytest.raises(UsageError, match="leave --objective and --precision out"):
            calibrate(drawn(0, 10), judge, **asked)
        assert len(judge.asked) == 1
    lost = Scripted(lambda _score: Verdict(status=Status.ERROR))
    with pytest.raises(CoverageError, match="could score no record: 10 error"):
        calibrate(drawn(0, 10), lost)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize("told", [True, False])
def test_verdicts_alone_get_the_shares_of_true_and_false(method: str, told: bool) -> None:
    judge = Scripted(lambda score: Verdict(score > 0.5))
    if told:
        judge.scores = False
    rows = drawn(8, 300)
    truth = np.array([r["human"]["faithful"] == 1 for r in rows])
    verdict = np.array([float(r["response"].split()[-1]) > 0.5 for r in rows])
    found = calibrate(rows, judge, method=method, resamples=50)
    raw = found.raw
    assert (raw["of"], raw["threshold"], raw["objective"]) == ("verdict", 0.5, None)
    low, high = (truth[verdict == kind].mean() for kind in (False, True))
    if method == "isotonic":
        assert found.knots is not None
        assert [p for _, p in found.knots] == pytest.approx([low, high], abs=0.01)
    else:
        assert found.slope is not None
        assert found.intercept is not None
        odds = np.array([found.intercept, found.intercept + found.slope])
        assert 1 / (1 + np.exp(-odds)) == pytest.approx([low, high], abs=0.01)
    assert raw["chosen"]["balanced_accuracy"] == raw["auroc"]["value"]
    assert raw["chosen"]["cross_validated"]["balanced_accuracy"] is None
    assert raw["calibration_error"]["before"] is None
    assert raw["calibration_error"]["cross_validated"] < 0.1
    assert raw["notes"] == []
    assert f"Probability of True {high:.2f}"[:-1] in calibration_text(raw)
    page = words(calibration_page(raw).to_html())
    assert "What each threshold would give" not in page  # there is none to choose
    assert "Scores by label" in page


def test_verdicts_that_are_all_alike_tell_nothing() -> None:
    judge = Scripted(lambda _score: Verdict(True))
    with pytest.raises(InputError, match="all 10 verdicts are True: they tell nothing apart"):
        calibrate(drawn(0, 10), judge)


def test_of_verdicts_alone_an_unsupported_claim_is_the_weakest() -> None:
    def verdict(score: float) -> Verdict:
        return Verdict(status=Status.ERROR) if score == 0.3 else Verdict(score > 0.5)

    rows = [
        {**row(0, 1), "response": "a 0.9 | b 0.7"},
        {**row(0, 0), "response": "a 0.9 | b 0.2 | c 0.8"},
        {**row(0, 0), "response": "a 0.9 | b 0.2 | c 0.3"},
    ]
    found = calibrate(rows, Scripted(verdict), decomposer=ByBar(), resamples=1).raw
    assert (found["n"], found["unscored"]) == (2, {"error": 1})
    assert found["chosen"]["accuracy"] == 1


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


@pytest.mark.parametrize("objective", ["f1", "accuracy", "matthews", "correlation", "kappa"])
def test_objectives(objective: str) -> None:
    rows = drawn(7, 60)
    scores = np.array([float(r["response"].split()[-1]) for r in rows])
    truth = np.array([r["human"]["faithful"] == 1 for r in rows])
    found = calibrate(rows, Scripted(), objective=objective, resamples=1)
    assert found.threshold == ScoredLabels(scores, truth).best_threshold(objective)


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
    with pytest.raises(InputError, match=r"3 of 3 labeled .* 1 missing_field; expected"):
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
    shown = calibration_text(found)
    assert "two.jsonl.gz" in shown
    with pytest.raises(UsageError, match="given twice"):
        calibrate([str(paths[0]), str(paths[0])], Scripted())


def test_limit_takes_the_first_of_each_file(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / f"{i}.jsonl", drawn(i, 30))) for i in (5, 6)]
    found = calibrate(paths, Scripted(), limit=10, resamples=1).raw
    assert [f["n"] for f in found["files"]] == [10, 10]


def test_a_file_without_the_label_is_told_wherever_it_stands(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.jsonl", [{**row(0.5, 1), "human": {"fluent": 1}}])
    full = [write(tmp_path / f"{i}.jsonl", drawn(i, 40)) for i in (5, 6)]
    for paths in ([plain, *full], [*full, plain]):
        found = calibrate([str(p) for p in paths], Scripted(), resamples=1)
        [told] = [f for f in found.raw["files"] if f["path"] == str(plain)]
        assert (told["n"], told["unscored"]) == (0, {"no_label": 1})
        assert told["left_out"]["balanced_accuracy"] is None
        assert "plain: no record has the label 'faithful' (1 no_label)" in found.notes
        assert "plain.jsonl" in calibration_text(found.raw)


def test_annotators_decide_by_majority_as_in_validate() -> None:
    rows = drawn(14, 90)
    votes = np.random.default_rng(1).integers(0, 2, (90, 4))
    for one, four in zip(rows, votes, strict=True):
        one["human"] = {f"faithful:p{k}": int(v) for k, v in enumerate(four)}
    found = calibrate(rows, Scripted(), resamples=1).raw
    [entry] = tg.validate(rows, metrics="k_precision", resamples=1).raw["sets"]
    tied = int((votes.sum(axis=1) == 2).sum())
    assert (found["label"], found["unscored"]) == ("faithful", {"tied": tied})
    assert (found["n"], found["positives"]) == (entry["n"], entry["positives"])
    assert found["positives"] == int((votes.sum(axis=1) > 2).sum())


def test_labels_of_annotate_are_those_of_validate(tmp_path: Path) -> None:
    rows = drawn(15, 12, question="How much is it?")
    for one in rows:
        del one["human"]
    path = str(write(tmp_path / "plain.jsonl", rows))
    export_tasks("support", [path], tmp_path / "tasks.jsonl", annotators=2, seed=0)
    files = sorted(tmp_path.glob("tasks-[12].jsonl"))
    for number, file in enumerate(files):
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        lines.sort(key=lambda line: line["id"])
        for i, line in enumerate(lines):
            line["annotator"] = "ann" if number else "ben"
            line["answer"]["support"] = "fully" if i % 3 == 0 or (i == 1 and number) else "not"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = calibrate(path, Scripted(), labels=files, resamples=1).raw
    assert (found["n"], found["positives"], found["unscored"]) == (11, 4, {"tied": 1})
    with pytest.raises(UsageError, match="gives the labels"):
        calibrate(path, Scripted(), labels=files, label="fluent")


@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_are_those_of_validate(grouped: bool) -> None:
    """One bootstrap: the same scores, labels, groups and seed have the same intervals."""
    texts = [f"it is {i / 10}" for i in range(10)]
    judge = FakeJudge({text: i / 10 for i, text in enumerate(texts)})
    random = np.random.default_rng(3)
    place = random.integers(0, 10, 120)
    rows = [
        {
            "id": f"r{i}",
            "response": texts[k],
            "contexts": ["A text."],
            "human": {"faithful": int(random.random() < k / 10)},
            "group": f"g{i // 3}" if grouped else None,
        }
        for i, k in enumerate(place)
    ]
    manner = {"judge": judge, "resamples": 300, "seed": 5, "level": 0.9}
    found = calibrate(rows, **manner).raw
    [entry] = tg.validate(rows, metrics="support", decomposer="rules", **manner).raw["sets"]
    measures = entry["metrics"]["support"]["measures"]
    assert found["groups"] == entry["groups"]
    assert found["auroc"]["value"] == pytest.approx(measures["auroc"]["value"])
    assert found["auroc"]["ci"] == measures["auroc"]["ci"]
    assert found["default"]["balanced_accuracy_ci"] == measures["balanced_accuracy"]["ci"]


def test_notes_say_when_the_numbers_are_no_use() -> None:
    against = [row(s, 1 - r) for s, r in ((0.1, 0), (0.2, 0), (0.8, 1), (0.9, 1))] * 5
    notes = calibrate(against, Scripted(), resamples=1).notes
    assert any("AUROC is 0.000" in note for note in notes)
    good = [row(s, s > 0.5) for s in (0.1, 0.2, 0.8, 0.9)] * 10
    notes = calibrate(good, Scripted(), resamples=1).notes
    notes = [note for note in notes if not note.startswith("cross-validated, the Brier")]
    assert [note.rpartition(": ")[2] for note in notes] == ["keep the default"]
    two = calibrate([row(0.1, 0), row(0.9, 1)], Scripted(), resamples=1)
    assert any(note.startswith("no cross-validation") for note in two.notes)
    assert two.raw["auroc"]["ci"] is None
    assert "–" in calibration_text(two.raw)


def test_scores_that_are_all_equal_allow_no_threshold() -> None:
    with pytest.raises(InputError, match=r"all 4 scores are 0.5"):
        calibrate([row(0.5, i % 2) for i in range(4)], Scripted())


@pytest.mark.parametrize(
    "wrong",
    [
        {"objective": "auc"},
        {"method": "spline"},
        {"precision": 0.0},
        {"precision": 1.5},
        {"precision": 0.9, "objective": "f1"},
        {"resamples": 0},
        {"level": 1.0},
    ],
)
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
    with pytest.raises(OutputError, match="does not exist"):
        found.write(tmp_path / "no" / "c.json")
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]
    found.write(tmp_path)
    assert json.loads((tmp_path / "calibration.json").read_text()) == json.loads(path.read_text())


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


def test_a_judge_that_says_the_opposite_has_no_file(tmp_path: Path) -> None:
    rows = [
        {"response": c, "contexts": ["x"], "human": {"faithful": y}}
        for c, y in [("a", 0), ("b", 0), ("c", 1), ("d", 1)]
    ]
    judge = FakeJudge({"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1})
    found = calibrate(rows, judge, resamples=10)
    assert any("judges refuse a file" in note for note in found.notes)
    assert any("fitted to 4 labels, 2 of the rarer kind" in note for note in found.notes)
    with pytest.raises(InputError, match=r"c\.json is not written: the curve falls, and judges"):
        found.write(tmp_path / "c.json")
    assert not (tmp_path / "c.json").exists()
    found.write(tmp_path / "c.html")


def test_a_file_from_few_labels_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"response": c, "contexts": ["x"], "human": {"faithful": y}}
        for c, y in zip("abcdefgh", (0, 0, 0, 0, 1, 1, 1, 1), strict=True)
    ]
    judge = FakeJudge({c: (i + 1) / 10 for i, c in enumerate("abcdefgh")})
    calibrate(rows, judge, resamples=10).write(tmp_path / "c.json")
    assert "WARNING: " in (said := capsys.readouterr().err)
    assert "c.json: fitted to 8 labels, 4 of the rarer kind" in said


def columns(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The scores of Scripted, and the labels."""
    return (
        np.array([float(r["response"].split()[-1]) for r in rows]),
        np.array([r["human"]["faithful"] == 1 for r in rows]),
    )


def test_both_methods_are_told_and_the_kept_one_is_that_which_was_asked_for() -> None:
    rows = drawn(9, 400)
    scores, truth = columns(rows)
    parts = folds(400)
    platt, isotonic_ = (calibrate(rows, Scripted(), method=m, resamples=1) for m in METHODS)
    assert platt.raw["methods"] == isotonic_.raw["methods"]
    assert isotonic_.knots == [
        tuple(knot) for knot in IsotonicCurve.fit(scores, truth).knots.tolist()
    ]
    assert (isotonic_.slope, isotonic_.intercept, platt.knots) == (None, None, None)
    held = np.empty(400)
    for part in range(5):
        inside = parts == part
        curve = IsotonicCurve.fit(scores[~inside], truth[~inside])
        held[inside] = curve.probabilities(scores[inside])
    told = isotonic_.raw["methods"]["isotonic"]
    assert (
        told["cross_validated"]["calibration_error"]
        == ScoredLabels(held, truth).calibration_error()
    )
    assert told["cross_validated"]["brier"] == ScoredLabels(held, truth).brier()
    assert (
        isotonic_.raw["reliability"]["cross_validated"] == ScoredLabels(held, truth).reliability()
    )
    # Fitted on these very records it flatters itself.
    assert told["calibration_error"] < told["cross_validated"]["calibration_error"]
    assert told["brier"] < told["cross_validated"]["brier"]
    other = platt.raw["other_method"]
    assert other["name"] == "isotonic"
    brier_of = {m: platt.raw["methods"][m]["cross_validated"]["brier"] for m in METHODS}
    worse = brier_of["platt"] - brier_of["isotonic"]
    assert other["brier_difference"] == pytest.approx(worse)
    assert isotonic_.raw["other_method"]["brier_difference"] == pytest.approx(-worse)
    assert any("an isotonic curve over 400 records" in note for note in isotonic_.notes)
    shown = calibration_text(isotonic_.raw)
    assert "isotonic (kept)" in shown
    assert f"isotonic, {len(isotonic_.knots)} knots" in shown


def test_few_records_have_no_isotonic_curve() -> None:
    with pytest.raises(InputError, match=r"records of the rarer kind; expected 20 or more of each"):
        calibrate(drawn(1, 30), Scripted(), method="isotonic")
    calibrate(drawn(1, 60), Scripted(), method="isotonic", resamples=1)


def test_the_better_method_is_named_where_it_is_clearly_better() -> None:
    """A judge whose scores are right in the middle and level elsewhere: no logistic curve."""
    random = np.random.default_rng(0)
    scores = random.random(2_000)
    chance = np.where(scores < 0.2, 0.02, np.where(scores < 0.3, 0.9, 0.95))
    rows = [row(float(s), float(random.random() < c)) for s, c in zip(scores, chance, strict=True)]
    found = calibrate(rows, Scripted(), resamples=1)
    assert any("the Brier score of the method isotonic is better" in note for note in found.notes)


def test_a_wanted_precision_is_told_with_what_it_is_at_least() -> None:
    rows = drawn(10, 800)
    scores, truth = columns(rows)
    found = calibrate(rows, Scripted(), precision=0.8, resamples=20)
    assert found.threshold == ScoredLabels(scores, truth).threshold_for_precision(0.8)
    raw = found.raw
    assert raw["objective"] == "precision"
    told = raw["precision"]
    above = scores > found.threshold
    assert (told["wanted"], told["n"]) == (0.8, int(above.sum()))
    assert told["value"] == raw["chosen"]["precision"] >= 0.8
    assert told["lower"] == lower_bound(truth[above])
    held = told["cross_validated"]
    assert held["value"] == raw["chosen"]["cross_validated"]["precision"]
    assert held["lower"] < held["value"] < 0.9
    assert any("0.8 is not certain on other records" in note for note in found.notes)
    assert not any("keep the default" in note for note in found.notes)
    assert "on records held out" in calibration_text(raw)
    easy = calibrate(rows, Scripted(), precision=0.2, resamples=1)
    assert easy.raw["chosen"]["share_positive"] == 1
    assert any("one verdict for all" in note for note in easy.notes)


def test_a_precision_that_holds_has_no_note() -> None:
    rows = [row(0.8, 1)] * 100 + [row(0.2, i % 10 == 0) for i in range(100)]
    found = calibrate(rows, Scripted(), precision=0.9, resamples=1)
    assert found.raw["precision"]["cross_validated"]["lower"] > 0.95
    assert not any("certain" in note for note in found.notes)


def test_a_precision_out_of_reach_is_refused() -> None:
    against = [row(s, 1 - r) for s, r in ((0.1, 0), (0.2, 0), (0.8, 1), (0.9, 1))] * 5
    with pytest.raises(InputError, match=r"no threshold reaches a precision of 1: the best is 0\."):
        calibrate(against, Scripted(), precision=1.0)


def test_a_precision_that_some_fold_cannot_reach_is_told() -> None:
    """The three records above all others are in one fold: without them nothing reaches 1."""
    rows = [{**row(0.95, 1), "group": "top"} for _ in range(3)]
    rows += [{**row(round(0.1 + i / 100, 2), i % 2), "group": f"g{i // 2}"} for i in range(60)]
    rows += [{**row(0.7, 0), "group": f"high{i}"} for i in range(8)]
    found = calibrate(rows, Scripted(), precision=1.0, resamples=1)
    assert found.raw["precision"]["n"] == 3
    reason = found.raw["precision"]["cross_validated"]["reason"]
    assert "no threshold reaches a precision of 1" in reason
    assert any("no cross-validated precision" in note for note in found.notes)
    assert "–" in calibration_text(found.raw)


def test_groups_widen_the_bound_of_a_precision() -> None:
    rows = drawn(11, 100)
    copies = [{**r, "group": f"g{i}"} for i, r in enumerate(rows) for _ in range(6)]
    loose = [{**r, "group": None} for r in copies]
    bounds = [
        calibrate(some, Scripted(), precision=0.7, resamples=1).raw["precision"]
        for some in (copies, loose)
    ]
    assert bounds[0]["value"] == bounds[1]["value"]
    assert bounds[0]["lower"] < bounds[1]["lower"]


def test_few_groups_make_the_bound_of_a_precision_rough() -> None:
    for number in (12, 120):
        rows = [{**r, "group": f"g{i % number}"} for i, r in enumerate(drawn(11, 600))]
        found = calibrate(rows, Scripted(), precision=0.6, resamples=1)
        assert found.raw["precision"]["groups"] == number
        assert any("are of 12 groups" in note for note in found.notes) == (number == 12)


def test_each_file_has_the_calibration_error_of_the_others_curve(tmp_path: Path) -> None:
    paths = [str(write(tmp_path / f"{i}.jsonl", drawn(20 + i, 60))) for i in range(3)]
    found = calibrate(paths, Scripted(), method="isotonic", resamples=1).raw
    others = [columns(drawn(20 + i, 60)) for i in (1, 2)]
    curve = IsotonicCurve.fit(*(np.concatenate(column) for column in zip(*others, strict=True)))
    mine, truth = columns(drawn(20, 60))
    expected = ScoredLabels(curve.probabilities(mine), truth).calibration_error()
    assert found["files"][0]["left_out"]["calibration_error"] == expected


def test_a_file_of_the_first_version_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"format": "trueground-calibration-1", "judge": "scripted"}')
    calibrate(drawn(0, 30), Scripted(), resamples=5).write(path, overwrite=True)
    assert json.loads(path.read_text())["format"] == "trueground-calibration-2"


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_from_labels_to_verdicts_for_any_judge(tmp_path: Path, method: str) -> None:
    rows = drawn(12, 200)
    found = calibrate(rows, Scripted(), method=method, resamples=5)
    path = tmp_path / "c.json"
    found.write(path)
    judge = calibrated(Scripted(), str(path))
    scores, _ = columns(rows)
    verdicts = judge.judge([JudgeRequest(r["response"], ("A text.",)) for r in rows])
    assert [v.supported for v in verdicts] == (scores > found.threshold).tolist()
    error = found.raw["calibration_error"]["after"]
    probabilities = np.array([v.probability for v in verdicts])
    assert ScoredLabels(probabilities, columns(rows)[1]).calibration_error() == pytest.approx(error)
    again = calibrate(rows, judge, method=method, resamples=5).raw
    assert again["threshold"] == found.threshold
    assert again["signature"] == found.raw["signature"]
    assert again["calibration_error"]["before"] == pytest.approx(error)


def test_verdicts_alone_from_labels_to_support(tmp_path: Path) -> None:
    rows = drawn(13, 100)
    judge = Scripted(lambda score: Verdict(score > 0.5))
    path = tmp_path / "c.json"
    calibrate(rows, judge, resamples=5).write(path)
    settings = {"metrics": "support", "judge": judge, "decomposer": "rules"}
    plain = tg.score(rows, **settings).summary
    assert plain["support"].mean is None
    whole = tg.score(rows, **settings, judge_calibration=path).summary
    share = columns(rows)[1].mean()
    assert whole["support"].mean == pytest.approx(share, abs=0.03)
