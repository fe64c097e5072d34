"""Any judge with a calibration: those that give no probability, and those of other packages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from trueground.components.specs import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.judges.base import Judge
from trueground.judges.calibrated import add_calibration_option, calibrated
from trueground.judges.registry import get_judge, judge, judges
from trueground.testing import FakeJudge
from trueground.types import JudgeRequest, Status, Usage, Verdict

TEXTS = ("The mill was built in 1903.",)
READ = JudgeRequest("It was built in 1903.", TEXTS)
UNREAD = [JudgeRequest(" ", TEXTS), JudgeRequest("It was built.", (" ",))]


class Cosine:
    """A score that is no probability: the length of a claim."""

    name = "cosine"
    threshold = 20.0
    signature = "cosine-1"
    closed = False

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        return [
            Verdict(status=Status.TOO_LONG)
            if "long" in r.claim
            else Verdict(len(r.claim) > 20, score=float(len(r.claim)))
            for r in requests
        ]

    def close(self) -> None:
        self.closed = True


def file(path: Path, own: Judge, **changes: Any) -> str:
    numbers = {"threshold": 10.0, "slope": 0.1, "intercept": -1.0, "of": "score"}
    told = {
        "format": "trueground-calibration-2",
        "judge": own.name,
        "signature": Judge.adapt(own).basis,
    }
    out = path / "c.json"
    out.write_text(json.dumps({**told, **numbers, "method": "platt", **changes}))
    return str(out)


@pytest.fixture
def registered() -> Iterator[None]:
    """The judge `cosine`, which knows nothing of calibrations; and one with a threshold."""

    def scaled(given: ComponentSpec | None = None) -> Judge:
        made = Cosine()
        if given is not None:
            given.check(("threshold",))
            made.threshold = given.number("threshold", 20.0) or 0.0
        return made

    judge("cosine")(Cosine)
    judge("scaled")(scaled)
    yield
    del judges["cosine"], judges["scaled"]


def test_a_score_becomes_a_probability_and_a_verdict(tmp_path: Path) -> None:
    found = calibrated(Cosine(), file(tmp_path, Cosine()))
    assert isinstance(found, Judge)
    claims = ("short", "ten letters and more", "too long")
    low, high, lost = found.answer_once([JudgeRequest(claim, TEXTS) for claim in claims])
    assert (low.supported, high.supported) == (False, True)
    assert low.probability == pytest.approx(1 / (1 + 2.718281828**0.5))
    assert high.probability == pytest.approx(1 / (1 + 2.718281828**-1))
    assert high.reasons == ("score 20.00, above 10",)
    assert (lost.status, lost.probability) == (Status.TOO_LONG, None)
    assert found.signature.startswith("cosine-1|threshold:10.0|calibration:")
    assert found.basis == "cosine-1"


def test_a_judge_of_another_package_takes_a_calibration(tmp_path: Path, registered: None) -> None:
    path = file(tmp_path, Cosine())
    found = get_judge(f"cosine(calibration={path})")
    assert (found.name, found.threshold) == ("cosine", 10.0)
    with pytest.raises(UsageError, match="takes no options, but has 'threshold'"):
        get_judge(f"cosine(calibration={path},threshold=3)")
    with pytest.raises(InputError, match=r"it is for the judge 'cosine', not 'fake'"):
        calibrated(FakeJudge(), path)


def test_its_own_threshold_wins(tmp_path: Path, registered: None) -> None:
    path = file(tmp_path, Cosine())
    found = get_judge(f"scaled(calibration={path},threshold=15)")
    assert found.threshold == 15.0
    assert [v.supported for v in found.judge([JudgeRequest("ten letters", TEXTS)])] == [False]


def test_calibrated_judge_forwards_only_members_of_inner_judge(tmp_path: Path) -> None:
    inner = Cosine()
    found = calibrated(inner, file(tmp_path, inner))
    found.close()
    assert inner.closed
    assert found.spent is None
    assert found.problem is None


LLM = "llm:fake:True"


def of_verdicts(path: Path, text: str = LLM, **changes: Any) -> str:
    rates = {"threshold": 0.5, "slope": 3.0, "intercept": -2.0, "of": "verdict"}
    return file(path, get_judge(text), **{**rates, **changes})


def test_a_language_models_verdicts_get_probabilities(tmp_path: Path) -> None:
    path = of_verdicts(tmp_path)
    plain, found = get_judge(LLM), get_judge(f"{LLM}(calibration={path})")
    (before,), (after,) = plain.judge([READ]), found.judge([READ])
    assert (before.supported, before.probability) == (True, None)
    assert (after.supported, after.score, after.reasons) == (True, None, before.reasons)
    assert after.probability == pytest.approx(1 / (1 + 2.718281828**-1))
    no = "llm:fake:False"
    deny: Any = get_judge(f"{no}(calibration={of_verdicts(tmp_path, no)})")
    (denied,) = deny.judge([READ])
    deny.close()
    assert (denied.supported, denied.probability) == (False, pytest.approx(0.1192, abs=1e-4))
    assert [v.probability for v in found.judge(UNREAD)] == [0.0, 0.0]
    spent: Any = found
    assert isinstance(spent.spent, Usage)
    assert spent.prompts == plain.prompts  # type: ignore[attr-defined]
    assert spent.in_one_process is True
    assert spent.scores is False
    assert found.basis == plain.signature
    spent.close()
    plain.close()  # type: ignore[attr-defined]


def test_an_isotonic_pair_of_rates(tmp_path: Path) -> None:
    knots = [[0.0, 0.25], [1.0, 0.8]]
    path = of_verdicts(tmp_path, method="isotonic", knots=knots, slope=None, intercept=None)
    with closing(get_judge(f"{LLM}(calibration={path})")) as judge:  # type: ignore[type-var]
        (found,) = judge.judge([READ])
    assert found.probability == 0.8


def test_a_file_of_another_model_or_of_scores_is_refused(tmp_path: Path) -> None:
    path = of_verdicts(tmp_path)
    with pytest.raises(InputError, match="their scores can't be compared"):
        get_judge(f"llm:fake:False(calibration={path})")
    with pytest.raises(InputError, match=r"--judge llm"):
        get_judge(f"llm:fake:False(calibration={path})")
    path = of_verdicts(tmp_path, of="score")
    with pytest.raises(InputError, match=r"for scores, but the judge .llm. returns only verdicts"):
        get_judge(f"{LLM}(calibration={path})")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("lexical", "c.json"),
        (" lexical ", "c.json"),
        ("lexical()", "c.json"),
        ("lexical(threshold=0.3)", "a, b (1).json"),
        ("bi-encoder:./model", "it's.json"),
        ('bi-encoder:"/models/m (1)"', "c.json"),
        ("nli:m(dtype=int8,label='a,b')", 'with "quotes".json'),
    ],
)
def test_the_option_is_written_so_that_it_is_read_again(text: str, path: str) -> None:
    before, after = (
        ComponentSpec.parse("judge", text),
        ComponentSpec.parse("judge", add_calibration_option(text, path)),
    )
    assert (after.name, after.model) == (before.name, before.model)
    assert after.options == {**before.options, "calibration": path}


def test_an_option_that_cannot_be_written() -> None:
    with pytest.raises(UsageError, match=r"has calibration='a\.json'; leave that or"):
        add_calibration_option("lexical(calibration=a.json)", "b.json")
    both = add_calibration_option("lexical", "a\"b'c.json")
    assert ComponentSpec.parse("judge", both).options == {"calibration": "a\"b'c.json"}
