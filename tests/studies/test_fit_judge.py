"""Judges weighed by labels: what is fitted, what is left out, and when it is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.commands import trueground
from tests.encoders import tiny
from tests.texts import stack_text

import trueground as tg
from trueground.errors import InputError, OutputError, UsageError
from trueground.judges.lexical.judge import LexicalJudge
from trueground.judges.registry import get_judge, judges
from trueground.types import JudgeRequest, Status, Verdict

TEXT = "The mill was built in 1903 by two brothers. It stands by the river Elm."


class Reads:
    """Scores a claim by one of the numbers in it: "Item 0.70 0.20."; below 0 it fails."""

    threshold = 0.5

    def __init__(self, name: str, place: int) -> None:
        self.name, self.place = name, place
        self.signature = f"{name}-1"
        self.asked = 0

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        self.asked += len(requests)
        found = [float(r.claim.rstrip(".").split()[self.place]) for r in requests]
        return [
            Verdict(status=Status.TRUNCATED) if one < 0 else Verdict(one > 0.5, one)
            for one in found
        ]


@pytest.fixture(autouse=True)
def _judges(monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in enumerate(("one", "two"), 1):
        factory: Callable[[], Reads] = lambda name=name, place=place: Reads(name, place)  # type: ignore[misc]  # noqa: E731
        monkeypatch.setitem(judges, name, factory)  # type: ignore[arg-type]


def labeled(n: int, seed: int = 0, **more: Any) -> list[dict[str, Any]]:
    """Supported where both numbers together are high: neither judge alone sees it."""
    draw = random.Random(seed)
    rows = []
    for number in range(n):
        a, b = draw.random(), draw.random()
        label = a + b + draw.gauss(0, 0.1) > 1
        rows.append(
            {
                "id": str(number),
                "response": f"Item {a:.2f} {b:.2f}.",
                "contexts": [TEXT],
                "human": {"faithful": int(label)},
                **more,
            }
        )
    return rows


def fitted(rows: Any, **options: Any) -> Any:
    return tg.fit_judge(rows, "one,two", **{"resamples": 300, **options})


def test_two_that_see_half_see_the_whole_together(tmp_path: Path) -> None:
    found = fitted(labeled(300))
    raw = found.raw
    assert found.refused is raw["needed"] is None
    assert raw["left_out"]["auroc"]["value"] > 0.95
    assert all(one["auroc"]["value"] < 0.9 for one in raw["alone"].values())
    assert all(one["difference"]["ci"][0] > 0 for one in raw["alone"].values())
    assert raw["left_out"]["brier"] < min(one["brier"] for one in raw["alone"].values())
    assert [list(one["weights"]) for one in raw["judges"]] == [["log_odds"], ["log_odds"]]
    found.write(tmp_path / "both.json")
    judge = get_judge(str(tmp_path / "both.json"))
    requests = [JudgeRequest(f"Item {a} {b}.", (TEXT,)) for a, b in ((0.9, 0.9), (0.9, 0), (0, 0))]
    high, middle, low = (v.probability or 0 for v in judge.judge(requests))
    assert high > middle > low
    assert judge.threshold == raw["threshold"]
    shown = stack_text(raw)
    assert "stack less this" in shown
    assert "one log_odds" in shown


def test_a_judge_that_knows_nothing_does_no_harm() -> None:
    rows = labeled(400)
    for row in rows:
        row["human"]["faithful"] = int(
            float(row["response"].split()[1]) > random.Random(row["id"]).random()
        )
    raw = fitted(rows).raw
    assert raw["best"] == "one"
    assert abs(raw["alone"]["one"]["difference"]["value"]) < 0.02
    assert raw["refused"] is not None


def test_few_labels_are_refused_with_how_many_it_would_take(tmp_path: Path) -> None:
    rows = labeled(40, seed=3)
    for row in rows:  # the second judge knows hardly more than the first
        first = row["response"].split()[1]
        row["response"] = (
            f"Item {first} {min(1, float(first) + random.Random(row['id']).random() / 9):.2f}."
        )
    found = fitted(rows)
    assert found.refused is not None
    assert "do not show that the stack is better than" in found.refused
    assert "trueground judge calibrate" in found.refused
    with pytest.raises(InputError, match="do not show"):
        found.write(tmp_path / "no.json")
    assert not list(tmp_path.iterdir())


def test_the_number_of_labels_that_it_would_take() -> None:
    rows = labeled(60, seed=1)
    raw = fitted(rows, level=0.9999).raw
    if raw["needed"] is not None:
        assert raw["needed"] > 60
        assert f"about {raw['needed']:,} labels" in raw["refused"]


def test_labels_are_of_whole_answers() -> None:
    rows = labeled(200)
    for row, other in zip(rows, labeled(200, seed=9), strict=True):
        row["response"] += " " + other["response"]
    assert fitted(rows).raw["claims"] == 400
    assert fitted(rows).raw["n"] == 200


def test_what_a_judge_cannot_score_is_counted_and_left_out() -> None:
    rows = labeled(200)
    rows[3]["response"] = "Item -1 0.5."
    rows[4]["contexts"] = []
    raw = fitted(rows).raw
    assert raw["unscored"] == {"missing_field": 1, "truncated": 1}
    assert raw["n"] == 198


def test_groups_stay_whole() -> None:
    with pytest.raises(InputError, match="one group"):
        fitted(labeled(100, group="g"))
    rows = [{**row, "group": f"g{i % 20}"} for i, row in enumerate(labeled(200))]
    assert fitted(rows).raw["groups"] == 20


def test_what_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="rarer kind"):
        fitted(labeled(12))
    with pytest.raises(UsageError, match="named twice"):
        tg.fit_judge(labeled(50), "one,one")
    with pytest.raises(UsageError, match="Did you mean"):
        tg.fit_judge(labeled(50), "one,lexicel")


def test_an_encoder_and_the_lexical_judge_give_their_features(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    pytest.importorskip("transformers", reason="the hf extra is not installed")
    model = f"bi-encoder:{tiny.tiny_text_encoder(tmp_path / 'model')}"
    rows = labeled(60)
    raw = tg.fit_judge(rows, ["lexical", model, "one"], resamples=100, cache=False).raw
    lexical, encoder, one = (list(judge["weights"]) for judge in raw["judges"])
    assert lexical == ["log_odds", *LexicalJudge.feature_names]
    assert encoder == ["cosine", "late", "late20", "least"]
    assert one == ["log_odds"]
    assert all(w >= 0 for judge in raw["judges"] for w in judge["weights"].values())


def test_as_a_user_types_it(tmp_path: Path) -> None:
    claims = ("The mill was built in 1903.", "It was built in 1930.", "Two brothers built it.")
    rows = [
        {"response": claims[n % 3], "contexts": [TEXT], "human": {"faithful": int(n % 3 != 1)}}
        for n in range(60)
    ]
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("judge", "fit", "l.jsonl", "--judges", "lexical", "--resamples", "50")
    done = trueground(*words, "--out", "my.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "do not show that the stack is better than lexical alone" in done.stderr
    assert "stack less this" in done.stdout
    assert not (tmp_path / "my.json").exists()
    told = trueground(*words, "--format", "json", cwd=tmp_path)
    assert json.loads(told.stdout)["refused"] in told.stderr


def test_only_a_stack_is_replaced(tmp_path: Path) -> None:
    found = fitted(labeled(300))
    path = tmp_path / "both.json"
    found.write(path)
    with pytest.raises(OutputError, match="exists"):
        found.write(path)
    found.write(path, overwrite=True)
    path.write_text("{}")
    with pytest.raises(OutputError, match="stack of judges"):
        found.write(path, overwrite=True)
