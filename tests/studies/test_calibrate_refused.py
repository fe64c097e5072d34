"""`judge calibrate`: judges that have a calibration, bounds that there are not, Ctrl-C."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.texts import calibration_text

from trueground.errors import RunInterrupted, UsageError
from trueground.studies.calibration.study import calibrate
from trueground.testing import FakeJudge
from trueground.types import JudgeRequest, Usage, Verdict

START = "interrupted; nothing was written"
SCORES = {"a b c": 0.9, "d e f": 0.8, "g h i": 0.3, "j k l": 0.2}
ROWS = [
    {"id": c, "response": c, "contexts": ["a text"], "group": g, "human": {"faithful": y}}
    for (c, g, y) in (("a b c", "1", 1), ("d e f", "1", 1), ("g h i", "2", 0), ("j k l", "3", 0))
]


def test_a_judge_with_a_calibration() -> None:
    with pytest.raises(UsageError, match=r"'lexical' .*\(calibration=none.json\)\. .* leave that"):
        calibrate(ROWS, "lexical(calibration=none.json)")


def test_a_dash_for_the_bound_is_explained() -> None:
    found = calibrate(ROWS, FakeJudge(SCORES), precision=1.0, resamples=5).raw
    assert found["precision"]["lower"] is None
    why = "all 2 records above the threshold are of 1 group, and it takes 2"
    assert found["precision"]["lower_reason"] == why
    assert f"No bound on these records: {why}" in " ".join(calibration_text(found).split())
    held = found["precision"]["cross_validated"]
    assert (held["lower"] is None) == (held["lower_reason"] is not None)
    alone = calibrate(ROWS[1:], FakeJudge(SCORES), precision=1.0, resamples=5).raw
    assert "1 of the records is above the threshold" in alone["precision"]["lower_reason"]


class Interrupted(FakeJudge):
    """Ctrl-C at the first question."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Never answers."""
        raise KeyboardInterrupt


class Paid(Interrupted):
    """The same, with a bill."""

    spent = Usage()


@pytest.mark.parametrize(
    ("judge", "cache", "told"),
    [
        (Interrupted(), True, START),
        (
            Paid(),
            True,
            f"{START}; replies already paid for are kept in the cache",
        ),
        (
            Paid(),
            False,
            "interrupted; nothing was written; without the cache, replies are not kept",
        ),
    ],
)
def test_ctrl_c(judge: FakeJudge, cache: bool, told: str) -> None:
    with pytest.raises(RunInterrupted, match=f"^{told}$"):
        calibrate(ROWS, judge, cache=cache)
