"""Objects of entries: their members in order, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from trueground.errors import InputError
from trueground.wings.papers.user_files import read_entries


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "found no JSON object; expected a JSON object"),
        ("{}", "found an empty object"),
        ('{"a": 1, "a": 2}', "found the entry 'a' twice"),
        ('{"a": 1', "entry 1: found the file ends in the middle"),
    ],
)
def test_entries_of_one_object(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        read_entries(path)
    path.write_bytes(b'\xef\xbb\xbf {"b": [1], "a": {}}')
    assert list(read_entries(path).items()) == [("b", [1]), ("a", {})]
