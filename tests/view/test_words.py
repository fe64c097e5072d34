"""A search of the words finds what a search of the texts would find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueground.view.segments import SegmentWriter, find_rows

TEXTS = st.lists(st.text(alphabet="abİß1é \n\t\"*'", max_size=30), min_size=1, max_size=40)


@given(
    texts=TEXTS, word=st.text(alphabet="abİß1é\"*'", min_size=1, max_size=3), size=st.integers(1, 9)
)
def test_words_are_found_where_the_texts_have_them(
    tmp_path: Path, texts: list[str], word: str, size: int
) -> None:
    path, segments, end = tmp_path / "words", [], 0
    with path.open("wb") as out:
        for first in range(0, len(texts), size):
            writer = SegmentWriter(first)
            for text in texts[first : first + size]:
                writer.add(text)
            segment, end = writer.write(out, end)
            segments.append(segment)
    found = find_rows(path, segments, word, len(texts))
    assert found.tolist() == [word.lower() in text.lower() for text in texts]


@pytest.mark.parametrize("word", ["w", "w1", "w12", "nothing"])
def test_words_of_many_rows(tmp_path: Path, word: str) -> None:
    texts = [f"w{k} w{k + 1} same" for k in range(2_000)]
    writer = SegmentWriter(0)
    for text in texts:
        writer.add(text)
    with (tmp_path / "words").open("wb") as out:
        segment, _ = writer.write(out, 0)
    found = find_rows(tmp_path / "words", [segment], word, len(texts))
    assert np.flatnonzero(found).tolist() == [k for k, text in enumerate(texts) if word in text]
