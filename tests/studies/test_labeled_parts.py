"""Labels of parts of records: a fact and a text, a sentence and what it cites; papers' numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.reports.payload import words
from tests.texts import validation_text
from tests.wings.labeling.filling import fill

from trueground.errors import InputError, UsageError
from trueground.studies.calibration.study import calibrate
from trueground.studies.validation.page import validation_page
from trueground.studies.validation.study import validate
from trueground.wings.labeling.operations import export_tasks, import_answers

BRIDGE: dict[str, Any] = {
    "id": "bridge",
    "question": "Who built the bridge?",
    "contexts": ["The bridge at Umber has seven arches. The guild of masons built it in 1644."],
    "gold_facts": [
        "The bridge at Umber has seven arches.",
        "The guild of masons built the bridge.",
    ],
    "response": "The guild of masons built the bridge.",
    "human": {"relevant": 1},
}
TOWER: dict[str, Any] = {
    "id": "tower",
    "question": "When was it put up?",
    "contexts": ["The clock tower of Senn was put up in 1877. It is of brick."],
    "gold_facts": ["The tower was put up in 1877.", "The clock tower is of brick."],
    "response": "The clock tower is of brick. It was put up in 1999.",
    "human": {"relevant": 0},
}
CELLIST: dict[str, Any] = {
    "id": "cellist",
    "response": "Ansa Mirel was a cellist [Q1, occupation: cellist]. "
    "She died in Oslo [Q1, place of death: Lorne].",
    "knowledge": [
        {"qid": "Q1", "name": "Ansa Mirel", "occupation": "cellist", "place of death": "Lorne"}
    ],
}
SAID = {  # by what stands before the last ~ in a task's id
    "bridge#gold-1": "no",
    "bridge#gold-2": "yes",
    "tower#gold-1": "no",
    "tower#gold-2": "yes",
    "cellist#sentence-1-citation-1": "yes",
    "cellist#sentence-2-citation-1": "no",
}
Labeled = Callable[..., tuple[str, list[Path]]]


@pytest.fixture
def labeled(tmp_path: Path) -> Labeled:
    """A file of records and what two people said of a kind of task: in `split` one says no."""

    def make(kind: str, *records: dict[str, Any], split: str = "") -> tuple[str, list[Path]]:
        path = tmp_path / "records.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        export_tasks(kind, [str(path)], tmp_path / "tasks.jsonl")
        (field,) = ("aligned",) if kind == "alignment" else ("contains",)

        def said(line: dict[str, Any], second: bool) -> dict[str, str]:
            item = line["id"].rpartition("~")[0]
            return {field: "no" if second and item == split else SAID[item]}

        files = [
            fill(tmp_path / f"tasks-{n}.jsonl", lambda line, n=n: said(line, n == 2))
            for n in (1, 2)
        ]
        return str(path), files

    return make


@pytest.mark.parametrize("kind", ["contains", "contains-list"])
def test_facts_are_judged_one_by_one(labeled: Labeled, tmp_path: Path, kind: str) -> None:
    """Lee et al. 2024, figure 11: verdicts on a fact and a text against people's."""
    path, files = labeled(kind, BRIDGE, TOWER)
    found = validate(path, labels=files, metrics="grounding_precision", resamples=50)
    (one,) = found.raw["sets"]
    assert (found.raw["label"], one["n"], one["positives"]) == (kind, 4, 2)
    assert one["groups"] == 2  # the facts of one answer belong together
    assert found.value("grounding_precision", "matthews") == 1.0
    assert (one["people_mean"], one["metrics"]["grounding_precision"]["mean"]) == (0.5, 0.5)
    import_answers(files, tmp_path / "labels.jsonl")
    merged = validate(path, labels=[tmp_path / "labels.jsonl"], metrics="support", resamples=50)
    assert merged.value("support") == 1.0
    assert calibrate(path, "lexical", labels=files, resamples=50).raw["n"] == 4


def test_a_run_is_a_holder_of_records_for_parts(labeled: Labeled, tmp_path: Path) -> None:
    import trueground as tg

    path, files = labeled("contains", BRIDGE, TOWER)
    tg.score(path, metrics="k_precision", out=tmp_path / "run")
    found = validate(tmp_path / "run", labels=files, metrics="grounding_precision", resamples=50)
    assert found.raw["sets"][0]["n"] == 4


def test_a_sentence_and_what_it_cites(labeled: Labeled) -> None:
    """Li et al. 2024, table 6: people's mean has all that anybody said, ties too."""
    path, files = labeled("alignment", CELLIST, split="cellist#sentence-1-citation-1")
    with pytest.raises(InputError, match=r"0 of 1 labeled records are positive .*1 tied"):
        validate(path, labels=files, resamples=50)
    found = validate(path, labels=files[:1], metrics="alignment", resamples=50, label="aligned")
    (one,) = found.raw["sets"]
    assert (one["n"], one["people_mean"], one["metrics"]["alignment"]["mean"]) == (2, 0.5, 0.5)
    found = validate(path, labels=files, metrics="alignment", resamples=50, ordinal=True)
    assert found.raw["sets"][0]["people_mean"] == 0.25
    assert calibrate(path, "lexical", labels=files[:1], resamples=50).raw["label"] == "aligned"


def test_only_records_with_another_label(labeled: Labeled) -> None:
    """Adlakha et al. 2023, section 5.2: samples whose passage is not relevant are left out."""
    path, files = labeled("contains", BRIDGE, TOWER)
    kept = {"metrics": "support", "resamples": 50, "labels": files}
    found = validate(path, keep={"relevant": 1}, **kept)
    assert found.raw["sets"][0]["n"] == 2
    assert found.raw["sets"][0]["unused"] == {"not_relevant=1": 2}
    with pytest.raises(InputError, match="not_relevant=2"):
        validate(path, keep={"relevant": 2}, **kept)


def test_labels_of_another_kind_are_named(labeled: Labeled) -> None:
    path, files = labeled("contains", BRIDGE, TOWER)
    with pytest.raises(UsageError, match="gives the labels faithful, correct, contains"):
        validate(path, labels=files, label="nice")
    with pytest.raises(InputError, match="no labels of the kind alignment"):
        validate(path, labels=files, label="aligned")


CORRECT = [
    {"id": str(i), "response": text, "references": ["x y"], "human": {"correct": label}}
    for i, (text, label) in enumerate((("x y", 1), ("y z", 1), ("z y", 0), ("w", 0), ("y x", 1)))
]


def test_half_is_a_yes_where_a_paper_has_it(tmp_path: Path) -> None:
    """Adlakha et al. 2023, section 4.2: an F1 of 0.5 or more. `y z` and `z y` have 0.5."""
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in CORRECT), "utf-8")

    def rates(**settings: Any) -> tuple[Any, ...]:
        found = validate(path, metrics="f1", resamples=50, **settings)
        entry = found.raw["sets"][0]["metrics"]["f1"]
        rate = (found.value("f1", f"false_{side}_rate") for side in ("negative", "positive"))
        return found.raw["verdict"], entry["threshold"], entry["confusion"], *rate

    strict = {"tp": 2, "fp": 0, "fn": 1, "tn": 2}
    loose = {"tp": 3, "fp": 1, "fn": 0, "tn": 1}
    assert rates() == ("above", 0.5, strict, pytest.approx(1 / 3), 0)
    assert rates(verdict="at-least") == ("at-least", 0.5, loose, 0, 0.5)
    assert rates(with_published=True) == ("at-least", 0.5, loose, 0, 0.5)
    assert rates(with_published=True, verdict="above")[2] == strict
    found = validate(path, metrics="f1", resamples=50, with_published=True)
    assert [item["id"] for item in found.raw["sets"][0]["metrics"]["f1"]["worst"]] == ["2"]
    with pytest.raises(UsageError, match="verdict"):
        validate(path, verdict="over")  # type: ignore[arg-type]


def test_papers_tables_stand_beside(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in CORRECT), "utf-8")
    found = validate(path, metrics="f1,recall", resamples=50, with_published=True)
    tables = {told["id"]: told for told in found.raw["published"]}
    assert list(tables) == ["2", "3", "text"]
    rows = {row["name"]: row for row in tables["3"]["rows"]}
    assert rows["Recall"]["paper"] == {"spearman": 0.60048, "kendall": 0.55622}
    assert rows["Recall"]["here"]["spearman"] == found.value("recall", "spearman")
    assert rows["EM"]["here"] == {"spearman": None, "kendall": None}
    by_label = {row["name"]: row for row in tables["2"]["rows"]}
    assert by_label["F1, label 0"]["paper"] == {"mean": 0.1, "median": 0, "sd": 0.16}
    assert by_label["F1, label 0"]["here"]["mean"] == 0.25
    errors = {row["name"]: row for row in tables["text"]["rows"]}
    assert errors["f1"]["here"] == {"false_positive_rate": 0.5}
    for text in (validation_text(found.raw), words(validation_page(found.raw).to_html())):
        assert "Table 3: correlation with human labels of correctness" in text
        assert "0.6005" in text
    path.write_text(path.read_text().replace('"correct"', '"nice"'))
    with pytest.raises(InputError, match=r"no paper prints .*'nice'; expected one of aligned"):
        validate(path, metrics="f1", resamples=50, with_published=True)
