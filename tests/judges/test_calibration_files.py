"""Calibration files as judges read them, and the lexical judge with another threshold."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from trueground.errors import InputError, UsageError
from trueground.judges.calibrated import CalibrationFile, open_calibration, read_calibration
from trueground.judges.lexical.judge import LexicalJudge
from trueground.judges.registry import get_judge, kinds
from trueground.types import JudgeRequest

BASIS = LexicalJudge.basis
GOOD = {
    "format": "trueground-calibration-1",
    "judge": "lexical",
    "signature": BASIS,
    "threshold": 0.7,
    "slope": 4.0,
    "intercept": -2.0,
    "n": 100,
    "auroc": 0.9,
}
REQUESTS = [
    JudgeRequest("The mill was built in 1903.", ("The mill was built in 1903 by two sisters.",)),
    JudgeRequest("The mill by the river is old.", ("The mill is near the river Elm.",)),
    JudgeRequest("Kings play chess.", ("The mill is old.",)),
    JudgeRequest("Kings play chess.", (" ",)),
]


def written(path: Path, **changes: object) -> str:
    file = path / "calibration.json"
    file.write_text(json.dumps({**GOOD, **changes}))
    return str(file)


def test_it_is_read_whole(tmp_path: Path) -> None:
    found = read_calibration(written(tmp_path), "lexical", BASIS)
    assert (found.threshold, found.slope, found.intercept, found.n) == (0.7, 4.0, -2.0, 100)
    other = read_calibration(written(tmp_path, slope=5.0), "lexical", BASIS)
    assert len(found.digest) == 16
    assert found.digest != other.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "another-1"}, "format 'another-1'; expected 'trueground-calibration-1' or"),
        ({"judge": "nli"}, "it is for the judge 'nli', not 'lexical'"),
        ({"signature": "lexical-0"}, f"made with 'lexical-0', but this judge is '{BASIS}'"),
        ({"slope": "steep"}, "slope"),
        ({"slope": math.inf}, "Infinity|malformed|finite|inf"),
        ({"threshold": None}, "threshold"),
        ({"slope": None}, "threshold, slope and intercept are"),
        ({"method": "spline"}, "spline"),
        ({"method": "isotonic"}, "the threshold or the knots are invalid"),
        ({"method": "isotonic", "knots": []}, "the threshold or the knots are invalid"),
        (
            {"method": "isotonic", "knots": [[0, 0.5], [1, 0.4]]},
            "the threshold or the knots are invalid",
        ),
        (
            {"method": "isotonic", "knots": [[1, 0.2], [1, 0.4]]},
            "the threshold or the knots are invalid",
        ),
        (
            {"method": "isotonic", "knots": [[0, 0.2], [1, 1.4]]},
            "the threshold or the knots are invalid",
        ),
        ({"method": "isotonic", "knots": [[0, 0.2], [1]]}, "knots"),
    ],
)
def test_read_calibration_invalid_file_raises(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_calibration(written(tmp_path, **changes), "lexical", BASIS)
    assert "trueground judge calibrate FILE --judge lexical" in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    for name, why in (("absent.json", "No such file"), (".", "directory")):
        with pytest.raises(InputError, match=why):
            read_calibration(str(tmp_path / name), "lexical", BASIS)
    (tmp_path / "list.json").write_text("[1]")
    with pytest.raises(InputError, match="it isn't valid JSON"):
        read_calibration(str(tmp_path / "list.json"), "lexical", BASIS)


@pytest.mark.parametrize(("score", "expected"), [(0.5, 0.5), (1e9, 1.0), (-1e9, 0.0)])
def test_probabilities_stay_within_bounds(score: float, expected: float) -> None:
    calibration = CalibrationFile("x", "y", 0.5, 4.0, -2.0)
    assert calibration.probability(score) == pytest.approx(expected)


def test_the_lexical_judge_takes_a_threshold() -> None:
    plain, lenient = get_judge("lexical"), get_judge("lexical(threshold=0.05)")
    assert plain.signature == BASIS
    assert lenient.signature == f"{BASIS}|threshold:0.05"
    for before, after in zip(plain.judge(REQUESTS), lenient.judge(REQUESTS), strict=True):
        assert after.supported == ((before.probability or 0.0) > 0.05)
        assert after.probability == before.probability
        assert after.reasons
    assert [v.supported for v in lenient.judge(REQUESTS)] != [
        v.supported for v in plain.judge(REQUESTS)
    ]


def test_the_lexical_judge_takes_a_calibration(tmp_path: Path) -> None:
    path = written(tmp_path)
    judge = get_judge(f"lexical(calibration={path})")
    assert judge.threshold == 0.7
    assert judge.signature.startswith(f"{BASIS}|threshold:0.7|calibration:")
    plain = get_judge("lexical").judge(REQUESTS)
    for before, after in zip(plain[:3], judge.judge(REQUESTS)[:3], strict=True):
        assert after.score == before.probability
        assert after.probability == pytest.approx(1 / (1 + math.exp(2 - 4 * after.score)))
    assert judge.judge(REQUESTS)[3] == plain[3]
    assert get_judge(f"lexical(calibration={path},threshold=0.6)").threshold == 0.6


def test_the_lexical_judge_takes_nothing_else() -> None:
    for text in ("lexical(dtype=int8)", "lexical:model", "lexical(threshold=high)"):
        with pytest.raises(UsageError):
            get_judge(text)
    for number in ("-0.5", "1", "1.5"):
        with pytest.raises(UsageError, match=f"{number}.*expected a probability"):
            get_judge(f"lexical(threshold={number})")
    assert get_judge("lexical(threshold=0)").threshold == 0


def test_kinds_creates_no_judge() -> None:
    shown = {kind["name"].partition("[")[0].partition(":")[0]: kind for kind in kinds()}
    assert set(shown) >= {"lexical", "bi-encoder", "cross-encoder", "nli", "minicheck", "hhem"}
    assert shown["lexical"]["extra"] is shown["lexical"]["model"] is None
    assert shown["bi-encoder"]["model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert all(kind["doc"].strip() for kind in kinds())


VERSION_2 = {"format": "trueground-calibration-2", "of": "score"}
RISING = {"method": "isotonic", "knots": [[0.2, 0.1], [0.4, 0.1], [0.8, 0.9]], "slope": None}


def test_both_versions_are_read_and_the_first_has_platts_curve(tmp_path: Path) -> None:
    first = open_calibration(written(tmp_path))
    assert (first.method, first.of, first.probability(0.5)) == ("platt", "score", 0.5)
    second = open_calibration(written(tmp_path, **VERSION_2, **RISING, intercept=None))
    assert (second.method, second.slope) == ("isotonic", None)
    found = [second.probability(score) for score in (-1, 0.3, 0.6, 0.8, 5)]
    assert found == pytest.approx([0.1, 0.1, 0.5, 0.9, 0.9])
    assert second.digest != first.digest


@pytest.mark.parametrize(
    "changes",
    [{"slope": 0.0}, {"slope": -1.0}, {"method": "isotonic", "knots": [[0.1, 0.4], [0.9, 0.4]]}],
)
def test_a_curve_that_does_not_rise_is_of_no_use(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    with pytest.raises(InputError, match="this judge is useless for them"):
        open_calibration(written(tmp_path, **changes))


def test_the_lexical_judge_takes_an_isotonic_curve(tmp_path: Path) -> None:
    path = written(tmp_path, **VERSION_2, **RISING)
    plain = get_judge("lexical").judge(REQUESTS)
    after_it = get_judge(f"lexical(calibration={path})").judge(REQUESTS)[:3]
    for before, after in zip(plain[:3], after_it, strict=True):
        assert after.probability == open_calibration(path).probability(before.probability or 0.0)
        assert after.supported == ((before.probability or 0.0) > 0.7)
