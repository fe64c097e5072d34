"""The table of human-labeled sets: who trains, who is a relative, what is read."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec
import pytest
from training.offline_judge import sets

from trueground.errors import InputError

HUMAN = Path(__file__).parents[3] / "shared" / "data" / "human"


def test_only_permissive_licenses_train() -> None:
    for name in sets.permissive():
        assert sets.table()[name].license.startswith(("MIT", "Apache-2.0", "ODC-BY")), name
    assert sets.permissive("correct") == ("evouna_tq",)


def test_a_fold_has_neither_the_set_nor_a_relative() -> None:
    folds = sets.folds()
    assert set(folds) == set(sets.table())
    for left_out, training in folds.items():
        assert training, left_out
        assert left_out not in training
        assert not set(training) & set(sets.table()[left_out].relatives)
        assert set(training) <= set(sets.permissive())


def test_folds_of_one_label_hold_no_other_label() -> None:
    faithful = sets.folds("faithful")
    assert len(faithful) == 14
    assert all("evouna_tq" not in training for training in faithful.values())
    assert sets.folds("correct") == {"evouna_tq": (), "shroom": ("evouna_tq",)}


def test_reading_keeps_what_has_a_label(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "contexts": ["One."], "response": "1", "human": {"faithful": 1.0}},
        {"id": "b", "contexts": [], "response": "2", "human": {}},
    ]
    with gzip.open(tmp_path / "wice_claim.jsonl.gz", "wb") as file:
        file.write(b"\n".join(msgspec.json.encode(row) for row in rows))
    assert [(e.id, e.label, e.group) for e in sets.read(tmp_path, "wice_claim")] == [
        ("a", 1.0, "a")
    ]


def test_errors_name_the_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"wice_claim\.jsonl\.gz: not found"):
        next(sets.read(tmp_path, "wice_claim"))
    with gzip.open(tmp_path / "wice_claim.jsonl.gz", "wb") as file:
        file.write(b'{"id": "a"}\n')
    with pytest.raises(InputError, match="row 1"):
        next(sets.read(tmp_path, "wice_claim"))


def test_marks_ignore_case_punctuation_and_short_sentences() -> None:
    one = sets.marks(["The old mill by the river burned down in May. It was sad."])
    other = sets.marks(["the old mill, by the river, BURNED down in May!"])
    assert one == other
    assert len(one) == 1


@pytest.mark.skipif(not HUMAN.is_dir(), reason=f"the human-labeled sets are not in {HUMAN}")
def test_sets_that_share_texts_are_relatives() -> None:
    overlaps = sets.overlaps(HUMAN)
    assert overlaps["begin_v2", "faithdial_audit"].texts > 30
    for (one, other), shared in overlaps.items():
        if shared.really:
            assert other in sets.table()[one].relatives, (one, other, shared)
