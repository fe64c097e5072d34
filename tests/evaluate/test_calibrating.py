"""--judge-calibration: the judge that a file is of, among one or several."""

from __future__ import annotations

import json
import math
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import KEY, ChaosServer
from tests.judges.rule_endpoint import contains

import trueground as tg
from trueground.errors import InputError, UsageError
from trueground.evaluate.components import Components
from trueground.judges.calibrated import CalibratedJudge
from trueground.judges.calibrations import with_calibration
from trueground.judges.registry import get_judge
from trueground.studies.calibration.study import calibrate
from trueground.testing import FakeDecomposer, FakeJudge, synthetic_records

TEXT = "The old mill was built in 1903 by two brothers. It stands by the river Elm."
CLAIMS = {
    "The mill was built in 1903.": 1,
    "It stands by the river Elm.": 1,
    "Two brothers built the mill.": 1,
    "The mill was built in 1930.": 0,
    "It stands by the river Oak.": 0,
    "Bread is baked there every morning.": 0,
}
ROWS = [
    {"id": str(i), "response": claim, "contexts": [TEXT], "human": {"faithful": label}}
    for i, (claim, label) in enumerate(CLAIMS.items())
]


@pytest.fixture(scope="module")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("calibrations") / "lexical.json"
    calibrate(ROWS, "lexical", resamples=10).write(path)
    return path


def llm(path: Path, text: str) -> Path:
    """A calibration of verdicts (a fake that says one thing only could not be calibrated)."""
    told = {"judge": "llm", "signature": get_judge(text).signature, "of": "verdict"}
    numbers = {"threshold": 0.5, "slope": 3.0, "intercept": -2.0, "method": "platt"}
    out = path / "llm.json"
    out.write_text(json.dumps({"format": "trueground-calibration-2", **told, **numbers}))
    return out


def test_it_goes_to_the_judge_that_it_is_of(lexical: Path, tmp_path: Path) -> None:
    option = f"calibration={lexical}"
    assert with_calibration(["lexical"], [str(lexical)]) == [f"lexical({option})"]
    assert with_calibration(["llm:fake:True", "lexical(threshold=0.2)"], [str(lexical)]) == [
        "llm:fake:True",
        f"lexical(threshold=0.2,{option})",
    ]
    says_false = llm(tmp_path, "llm:fake:False")
    both = with_calibration(["llm:fake:True", "llm:fake:False"], [str(says_false)])
    assert both == ["llm:fake:True", f"llm:fake:False(calibration={says_false})"]


def test_a_judge_of_ones_own_is_wrapped(tmp_path: Path) -> None:
    table = {claim: 0.9 if label else 0.2 for claim, label in CLAIMS.items()}
    judge = FakeJudge({k: v - i / 100 for i, (k, v) in enumerate(table.items())})
    path = tmp_path / "fake.json"
    calibrate(ROWS, judge, resamples=10).write(path)
    (found,) = with_calibration([judge], [str(path)])
    assert isinstance(found, CalibratedJudge)
    raw = tg.score(ROWS, metrics="support", judge=judge, judge_calibration=path).summary
    plain = tg.score(ROWS, metrics="support", judge=judge).summary
    assert raw["support"].mean != plain["support"].mean


@pytest.mark.parametrize(
    ("judges", "told"),
    [
        (
            ["llm:fake:True"],
            "it is for the judge 'lexical', but the judges here are llm; add --jud",
        ),
        ([FakeJudge(), "nli:x"], "the judges here are fake, nli"),
    ],
)
def test_no_judge_that_it_is_of(lexical: Path, judges: list[Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        with_calibration(judges, [str(lexical)])


def test_several_of_the_name_and_none_is_meant(tmp_path: Path) -> None:
    path = llm(tmp_path, "llm:fake:False")
    with pytest.raises(
        InputError, match=r"it was made with 'llm-2/.*, but the judges llm here are"
    ):
        with_calibration(["llm:fake:True", "llm:fake:Yes"], [str(path)])
    with pytest.raises(InputError, match="their scores can't be compared"):
        Components.make("llm:fake:True", calibration=path)


def test_two_calibrations_of_one_judge(lexical: Path) -> None:
    with pytest.raises(UsageError, match="leave that or --judge-calibration out"):
        Components.make(f"lexical(calibration={lexical})", calibration=lexical)


@pytest.mark.long
def test_processes_find_it_too(lexical: Path) -> None:
    rows = list(synthetic_records(300))
    found = [
        tg.score(rows, metrics="support", judge_calibration=lexical, workers=n).summary.raw
        for n in (1, 2)
    ]
    assert found[0]["metrics"] == found[1]["metrics"]
    named = tg.score(rows, metrics="support", judge=f"lexical(calibration={lexical})")
    assert named.summary.raw["metrics"] == found[0]["metrics"]


def test_support_needs_probabilities_and_a_calibration_gives_them(tmp_path: Path) -> None:
    path = llm(tmp_path, "llm:fake:True")
    settings: dict[str, Any] = {"metrics": "support,grounding_precision", "judge": "llm:fake:True"}
    plain = tg.score(ROWS, **settings).summary
    assert plain.raw["metrics"]["support"]["unscored"] == {"not_applicable": 6}
    found = tg.score(ROWS, **settings, judge_calibration=path).summary
    assert found["support"].mean == pytest.approx(0.7311, abs=1e-4)
    assert found["grounding_precision"].mean == plain["grounding_precision"].mean == 1.0


def test_a_language_model_from_labels_to_support(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP: an endpoint that says True where the statement stands in the context."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = [*CLAIMS.items(), ("Two brothers.", 0)]
    said += [("It stands by the river Elm. ", 1), ("The old mill was built in 1903 by two", 1)]
    rows = [
        {"id": str(i), "response": claim, "contexts": [TEXT], "human": {"faithful": label}}
        for i, (claim, label) in enumerate(said)
    ]
    with ChaosServer(lambda _text, _call: "ok", answer=contains) as server:
        text = f"llm:m(base_url={server.base_url},max_attempts=1)"
        found = calibrate(rows, text, resamples=5)
        raw = found.raw
        assert (raw["of"], raw["n"], raw["method"]) == ("verdict", 9, "platt")
        path = tmp_path / "llm.json"
        found.write(path)
        calls = len(server.bodies)
        whole: dict[str, Any] = {"metrics": "support", "decomposer": FakeDecomposer()}
        scored = tg.score(rows, judge=text, judge_calibration=path, **whole)
    values = {item["scores"]["support"] for item in scored.evidence}
    assert len(values) == 2
    assert 0 < min(values) < max(values) < 1
    assert found.slope is not None
    assert found.intercept is not None
    assert max(values) == pytest.approx(1 / (1 + math.exp(-found.slope - found.intercept)))
    assert len(server.bodies) == calls  # its replies had been kept


def test_several_files_each_to_its_judge(lexical: Path, tmp_path: Path) -> None:
    other = llm(tmp_path, "llm:fake:False")
    judges = ["llm:fake:False", "lexical"]
    both = [f"llm:fake:False(calibration={other})", f"lexical(calibration={lexical})"]
    assert with_calibration(judges, [str(lexical), str(other)]) == both
    assert with_calibration(judges, [str(other), str(lexical)]) == both
    assert with_calibration(judges, []) == judges
    with closing(Components.make(judges, calibration=[lexical, other])) as parts:
        assert all("|calibration:" in judge.signature for judge in parts.judges)


def test_two_files_for_one_judge(lexical: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(lexical.read_bytes())
    told = f"--judge-calibration {lexical} and {copy} are both for the judge lexical"
    for use in (tg.score, tg.validate):
        with pytest.raises(UsageError, match=re.escape(told)):
            use(ROWS, metrics="support", judge_calibration=[lexical, copy])


def test_a_calibration_that_nothing_uses_is_told(lexical: Path) -> None:
    told = f"--judge-calibration {lexical} was not used: none of the metrics asks a judge"
    assert tg.score(ROWS, metrics="k_precision", judge_calibration=lexical).note == told
    found = tg.validate(ROWS, metrics="k_precision", judge_calibration=[lexical], resamples=5)
    assert told in found.raw["notes"]
    assert tg.score(ROWS, metrics="support", judge_calibration=lexical).note is None
