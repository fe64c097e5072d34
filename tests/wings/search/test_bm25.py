"""BM25 against its formula, and the laws of a retriever."""

from __future__ import annotations

import math
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from trueground.errors import MissingExtraError, UsageError
from trueground.wings.search import bm25 as module, search_words as words_module
from trueground.wings.search.base import Hit, Retriever
from trueground.wings.search.bm25 import BM25
from trueground.wings.search.search_words import words

for library in ("bm25s", "Stemmer"):
    pytest.importorskip(library, reason="the retrieval extra is not installed")

TEXTS = [
    "The harbour of Lund was built in 1871.",
    "Lund has two harbours, and each harbour has a crane.",
    "A crane is a bird.",
    "",
    "The harbour of Lund was built in 1871.",
    "Über den Kränen: 東京の港。",
]


def by_formula(texts: list[str], query: str, k1: float = 1.5, b: float = 0.75) -> list[float]:
    rows = [words(text) for text in texts]
    mean = sum(map(len, rows)) / len(rows)
    scores = []
    for row in rows:
        counts, score = Counter(row), 0.0
        for word in words(query):
            df = sum(word in other for other in rows)
            tf = counts[word]
            if tf:
                idf = math.log(1 + (len(rows) - df + 0.5) / (df + 0.5))
                score += idf * tf / (tf + k1 * (1 - b + b * len(row) / mean))
        scores.append(score)
    return scores


def found(hits: list[Hit]) -> list[int]:
    return [hit.index for hit in hits]


def test_it_is_a_retriever_and_its_name_says_how() -> None:
    retriever: Retriever = BM25(TEXTS, stem=True, k1=0.9, b=0.4)
    assert retriever.name == "bm25"
    for piece in ("k1=0.9", "b=0.4", "bm25s-", "PyStemmer-", "words-1"):
        assert piece in retriever.signature
    assert "PyStemmer" not in BM25(TEXTS).signature


@pytest.mark.parametrize("query", ["the harbour", "crane crane lund", "東京 über", "1871?"])
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.0, 0.0), (2.0, 1.0)])
def test_scores_are_those_of_the_formula(query: str, k1: float, b: float) -> None:
    expected = by_formula(TEXTS, query, k1, b)
    (hits,) = BM25(TEXTS, k1=k1, b=b).search([query], len(TEXTS))
    assert {hit.index: hit.score for hit in hits} == pytest.approx(
        {i: score for i, score in enumerate(expected) if score > 0}, rel=1e-5
    )
    assert len(hits) >= 1
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.index))


def test_equal_scores_come_in_corpus_order_at_every_depth() -> None:
    texts = ["red", "blue", "red", "red", "red red blue"] * 5
    whole = found(BM25(texts).search(["red"], 100)[0])
    for top in range(1, 22):
        assert found(BM25(texts).search(["red"], top)[0]) == whole[:top]


def test_stems_and_their_absence() -> None:
    assert found(BM25(TEXTS).search(["harbours"], 9)[0]) == [1]
    assert found(BM25(TEXTS, stem=True).search(["harbours"], 9)[0]) == [1, 0, 4]
    assert found(BM25(TEXTS, stem=True).search(["Cranes BUILT"], 9)[0]) == [2, 0, 4, 1]


def test_nothing_asked_nothing_there_nothing_known() -> None:
    assert BM25(TEXTS).search([], 5) == []
    assert BM25(TEXTS).search(["", " ?! ", "zebra"], 5) == [[], [], []]
    assert BM25(TEXTS).search(["lund"], 0) == [[]]
    for texts in ([], [""], ["…", " "]):
        assert BM25(texts).search(["lund", ""], 5) == [[], []]


def test_unknown_words_change_nothing() -> None:
    plain, odd = BM25(TEXTS).search(["harbour crane", "harbour zebra crane quux"], 9)
    assert plain == odd


@given(
    st.lists(st.text(alphabet="ab é東-_1", max_size=12), min_size=1, max_size=8),
    st.lists(st.text(alphabet="ab é東-_1", max_size=6), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_query_is_answered_the_same_alone_and_among_others(
    texts: list[str], queries: list[str], stem: bool
) -> None:
    together = BM25(texts, stem=stem).search(queries, 3)
    assert together == [BM25(texts, stem=stem).search([query], 3)[0] for query in queries]
    assert all(0 <= hit.index < len(texts) and hit.score > 0 for hits in together for hit in hits)


def test_words() -> None:
    assert words("The U.S. navy's No. 1,000") == ["the", "u", "s", "navy", "s", "no", "1", "000"]
    assert words("“Straße” – ﬁve") == ["strasse", "five"]
    assert words("東京12号") == ["東", "京", "12", "号"]


@pytest.mark.parametrize("wrong", [{"k1": -1}, {"k1": math.nan}, {"b": 1.5}, {"b": math.nan}])
def test_numbers_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="k1 of 0 or more and b from 0 to 1"):
        BM25(TEXTS, **wrong)


def test_without_the_library_the_install_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> str:
        raise module.PackageNotFoundError(package)

    monkeypatch.setattr(module, "version", absent)
    with pytest.raises(MissingExtraError, match=r"pip install \"trueground\[retrieval\]\""):
        BM25(TEXTS)


def test_the_quick_way_to_words_finds_the_same() -> None:
    quick = [c for c in map(chr, range(sys.maxunicode + 1)) if words_module._PLAIN.fullmatch(c)]
    assert len(quick) > 1_500
    for character in quick:
        for text in (character, f"a{character}b", f"{character}1 {character}"):
            plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
            assert words(text) == [match[0] for match in words_module._WORDS.finditer(plain)]
