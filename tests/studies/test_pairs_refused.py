"""Pairs that cannot be compared are refused before any judging, with the next step."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

import trueground as tg
from trueground.errors import InputError

TEXT = "The old mill was built in 1903 by two brothers."


def write(path: Path, values: list[dict[str, Any]]) -> str:
    rows = [
        {"id": str(i), "response": TEXT, "contexts": [TEXT], **own} for i, own in enumerate(values)
    ]
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return str(path)


def test_no_second_response(tmp_path: Path) -> None:
    bad = write(tmp_path / "bad.jsonl", [{"human": {"preference": 1}}] * 6)
    told = (
        "bad: no record that can be used has the label 'preference' (6 no_response_b); --pairs "
        "compares `response` with `response_b`; name your column with --map response_b=COLUMN"
    )
    with pytest.raises(InputError, match=f"^{re.escape(told)}$"):
        tg.validate(bad, pairs=True)
    good = write(tmp_path / "good.jsonl", [{"human": {"preference": 1}, "response_b": "No."}])
    found = tg.validate([bad, good], pairs=True, metrics="k_precision", resamples=5)
    assert told in found.raw["notes"]


def test_second_responses_only_without_a_preference(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"human": {"preference": 1}}, {"response_b": "No."}])
    told = "no record that can be used has the label 'preference' (1 no_label, 1 no_response_b); --"
    with pytest.raises(InputError, match=re.escape(told)):
        tg.validate(path, pairs=True)


def test_ties_only(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"human": {"preference": 0}, "response_b": "No."}] * 6)
    told = "a.jsonl: 6 of 6 preferences are 0 (neither is better); expected some that are not"
    with pytest.raises(InputError, match=re.escape(told)):
        tg.validate(path, pairs=True, judge="llm:fake:none")


@pytest.mark.parametrize(("pairs", "label"), [(True, "preference"), (False, "faithful")])
def test_no_label_tells_of_columns(tmp_path: Path, pairs: bool, label: str) -> None:
    path = write(tmp_path / "a.jsonl", [{"response_b": "No."}])
    with pytest.raises(InputError, match=f"--map human.{label}=COLUMN"):
        tg.validate(path, pairs=pairs)
