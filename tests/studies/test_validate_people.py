"""People beside the numbers: ceilings of pairs, means over sets, grades; and what is undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reports.payload import words
from tests.texts import validation_text

from trueground.errors import RunInterrupted, UsageError
from trueground.studies.validation.page import validation_page
from trueground.studies.validation.result import Validation
from trueground.studies.validation.study import validate

TEXT = "The old mill was built in 1903 by two brothers. It stands by the river Elm."
GOOD, BAD = "The mill was built in 1903.", "Bread is baked there every morning."
FAST: dict[str, Any] = {"resamples": 50, "metrics": "k_precision"}
Rows = list[dict[str, Any]]


def labeled(human: list[dict[str, float]]) -> Rows:
    return [
        {"id": str(i), "response": GOOD if i % 2 else BAD, "contexts": [TEXT], "human": one}
        for i, one in enumerate(human)
    ]


def pairs(people: list[tuple[float, ...]]) -> Rows:
    names = ("ann", "ben", "cleo")
    return [
        {
            "id": str(i),
            "response": GOOD,
            "response_b": BAD,
            "contexts": [TEXT],
            "human": {f"preference:{who}": v for who, v in zip(names, votes, strict=False)},
        }
        for i, votes in enumerate(people)
    ]


def write(path: Path, content: Rows) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return str(path)


def test_annotators_of_pairs_have_a_ceiling() -> None:
    found = validate(pairs([(1, 1, 1)] * 6 + [(1, 1, -1)] * 2 + [(0, 1, 1)]), pairs=True, **FAST)
    (entry,) = found.raw["preferences"]
    people = {one["annotator"]: one["measures"] for one in entry["ceiling"]["annotators"]}
    # The rest of ann are even on the two pairs on which ben and cleo differ.
    assert people["ann"]["sign_agreement"]["value"] == pytest.approx(6.5 / 7)
    assert people["ann"]["sign_agreement"]["n"] == 7
    assert people["cleo"]["sign_agreement"]["value"] == pytest.approx(7 / 9)
    mean = entry["ceiling"]["mean"]["sign_agreement"]
    each = [one["sign_agreement"]["value"] for one in people.values()]
    assert mean["value"] == pytest.approx(sum(each) / 3)
    assert "one annotator against the others" in validation_text(found.raw)
    page = words(validation_page(found.raw).to_html())
    assert "What people reach" in page
    assert "9 pairs; each is two answers to the same question" in page


def test_one_annotator_of_pairs_has_none() -> None:
    (entry,) = validate(pairs([(1,), (-1,)]), pairs=True, **FAST).raw["preferences"]
    assert entry["ceiling"] is None


def test_several_sets_of_pairs_have_a_mean(tmp_path: Path) -> None:
    first = write(tmp_path / "one.jsonl", pairs([(1,)] * 6 + [(-1,)] * 2))
    second = write(tmp_path / "two.jsonl", pairs([(1,)] * 5 + [(-1,)] * 5))
    found = validate([first, second], pairs=True, **FAST)
    mean = found.raw["mean"]["k_precision"]["sign_agreement"]
    assert mean["value"] == pytest.approx((0.75 + 0.5) / 2)
    assert mean["sets"] == 2
    assert mean["ci"][0] < mean["value"] < mean["ci"][1]
    assert found.value("k_precision") == mean["value"]
    assert found.value("k_precision", of="two") == 0.5
    assert "Preferences, mean over sets" in validation_text(found.raw)
    assert "Preferences, mean over sets" in words(validation_page(found.raw).to_html())


def test_annotators_who_share_no_record_are_told_of_in_words() -> None:
    human = [{f"faithful:{'ab'[i % 2]}": float(i // 2 % 2)} for i in range(12)]
    found = validate(labeled(human), **FAST)
    assert "no number, for no item has a label of one annotator" in validation_text(found.raw)
    page = words(validation_page(found.raw).to_html())
    assert "no number, for no item has a label of one annotator" in page
    assert "mean of the annotators" not in page


def test_grades_on_one_side_of_the_limit_are_told_and_have_no_verdicts() -> None:
    content = labeled([{"faithful": 1.0 + i % 5} for i in range(20)])
    found = validate(content, ordinal=True, **FAST)
    [note] = [note for note in found.notes if "--positive-above" in note]
    assert "labels run from 1 to 5, and all 20 are above --positive-above 0.5" in note
    (entry,) = found.raw["sets"]
    told = entry["metrics"]["k_precision"]
    for name in ("auroc", "raw_agreement", "cohen_kappa", "false_negative_rate"):
        assert told["measures"][name]["value"] is None
        assert told["measures"][name]["why"]
    assert told["measures"]["calibration_error"]["value"] is None
    assert told["measures"]["spearman"]["value"] is not None
    assert (told["confusion"], told["reliability"], told["worst"]) == (None, None, [])
    assert "labels run from 1 to 5" in words(validation_page(found.raw).to_html())
    parted = validate(content, ordinal=True, positive_above=3, **FAST)
    assert not any("--positive-above" in note for note in parted.notes)
    assert parted.value("k_precision", "raw_agreement") is not None


def test_means_over_fewer_sets_are_marked(tmp_path: Path) -> None:
    both = write(tmp_path / "both.jsonl", labeled([{"faithful": i % 2} for i in range(12)]))
    same = write(tmp_path / "same.jsonl", labeled([{"faithful": 1} for _ in range(12)]))
    found = validate([both, same], **FAST)
    text = validation_text(found.raw)
    means = found.raw["mean"]["k_precision"]
    assert (means["auroc"]["sets"], means["false_negative_rate"]["sets"]) == (1, 2)
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("k_precision"))
    assert lines[first].split()[1] == f"{means['auroc']['value']:.4f}"
    # The cell goes on in the next lines.
    assert lines[first + 1].split("  ")[-1].endswith("; 1")
    assert "of 2 sets" in lines[first + 2]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    content = labeled([{"faithful": i % 2} for i in range(12)])

    def stop(what: str, _done: int, _total: int | None) -> None:
        if what == "measure":
            raise KeyboardInterrupt

    out = tmp_path / "deep" / "out"
    with pytest.raises(RunInterrupted, match=r"nothing was written; replies already paid for are"):
        validate(content, out=out, progress=stop, **FAST)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RunInterrupted, match=r"nothing was written$"):
        validate(content, out=out, progress=stop, cache=False, **FAST)

    def last(what: str, done: int, _total: int | None) -> None:
        if what == "measure" and done == 1:
            raise KeyboardInterrupt

    made = validate(content, out=out, **FAST)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(RunInterrupted):
        validate(content, out=out, overwrite=True, progress=last, **FAST)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    assert isinstance(made, Validation)
    with pytest.raises(UsageError):
        validate(content, out=tmp_path / "other", resamples=50, metrics="support", judge="nobody:x")
    assert not (tmp_path / "other").exists()


def test_a_name_of_another_kind_of_file_is_no_folder(tmp_path: Path) -> None:
    content = labeled([{"faithful": i % 2} for i in range(12)])
    with pytest.raises(UsageError, match=r"\.csv is no kind of file that is written"):
        validate(content, out=tmp_path / "x.csv", **FAST)
    assert list(tmp_path.iterdir()) == []
    validate(content, out=tmp_path / "v1.2", **FAST)
    assert (tmp_path / "v1.2" / "validation.json").exists()
