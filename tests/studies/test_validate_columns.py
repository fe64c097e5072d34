"""A table with a column of labels, as people have it, under `validate`."""

from __future__ import annotations

from pathlib import Path

import trueground as tg

LABELED = """docs,output,ok,anna,ben
Ada wrote it.,Ada wrote it.,1,1,true
Ada wrote it.,Ada wrote.,1,1,0
Ada wrote it.,Cats fly.,0,0,false
Ada wrote it.,Dogs swim.,0,0,0
Ada wrote it.,It was written.,,,
"""
PAIRS = """docs,a,b,better
Ada wrote it.,Ada wrote it.,Cats fly.,1
Ada wrote it.,Dogs swim.,Ada wrote it.,-1
Ada wrote it.,Birds sing.,Ada wrote it.,
Ada wrote it.,Birds sing.,,1
"""
TEXTS = {"contexts": "docs", "response": "output"}


def test_a_column_of_labels(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(LABELED)
    mapping = TEXTS | {"human.faithful": "ok"}
    found = tg.validate(path, metrics="k_precision", mapping=mapping, resamples=50).raw
    [one] = found["sets"]
    assert (found["label"], one["n"], one["positives"]) == ("faithful", 4, 2)
    assert one["unused"] == {"no_label": 1}
    assert one["metrics"]["k_precision"]["measures"]["auroc"]["value"] == 1.0


def test_columns_of_annotators(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(LABELED)
    mapping = TEXTS | {"human.faithful:anna": "anna", "human.faithful:ben": "ben"}
    found = tg.validate(path, metrics="k_precision", mapping=mapping, resamples=50).raw
    [one] = found["sets"]
    assert one["unused"] == {"no_label": 1, "tied": 1}
    assert [a["annotator"] for a in one["ceiling"]["annotators"]] == ["anna", "ben"]


def test_columns_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(PAIRS)
    mapping = {"contexts": "docs", "response": "a", "response_b": "b"}
    mapping |= {"human.preference": "better"}
    found = tg.validate(path, metrics="k_precision", mapping=mapping, pairs=True, resamples=50).raw
    [one] = found["preferences"]
    assert one["n"] == 2
    assert one["unused"] == {"no_label": 1, "no_response_b": 1}
    assert one["metrics"]["k_precision"]["sign_agreement"]["value"] == 1.0
