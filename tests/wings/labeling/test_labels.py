"""Files of labels beside records: what they may hold, and what is said where they cannot."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from trueground.errors import InputError
from trueground.labels.files import LabelFiles


def write(path: Path, *lines: dict[str, Any]) -> Path:
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_merged_labels_may_be_packed(tmp_path: Path, ending: str) -> None:
    label = {"kind": "support", "id": "a~01234567", "values": {"support": "partially"}}
    files = LabelFiles([write(tmp_path / f"labels.{ending}", label)], None)
    assert (files.label, files.ids, files.of_parts) == ("faithful", {"a"}, False)


@pytest.mark.parametrize("value", ["mostly", 1, ["fully"], {"fully": 1}])
def test_labels_unknown_value_raises(tmp_path: Path, value: Any) -> None:
    label = {"kind": "support", "id": "a~01234567", "values": {"support": value}}
    with pytest.raises(InputError, match=r"'a~01234567' says support: .*; expected fully or part"):
        LabelFiles([write(tmp_path / "labels.jsonl", label)], None)
