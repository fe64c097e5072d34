"""Distractors: what is left out, how deep the search goes, and how they fill a room."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trueground.errors import UsageError
from trueground.wings.papers.truly_ground.mining import Gold, fill, mine
from trueground.wings.search.base import Hit, OpenedRetriever
from trueground.wings.search.bm25 import BM25
from trueground.wings.search.corpus import read_title
from trueground.wings.search.memory import MemoryCorpus
from trueground.wings.search.store import PassageEntry, PassageStore, page_key

for library in ("bm25s", "Stemmer"):
    pytest.importorskip(library, reason="the retrieval extra is not installed")

SHARED = Path(__file__).parents[4] / "shared" / "data" / "truly-ground"


class InOrder:
    """Finds the passages in corpus order, and notes how deep it was asked."""

    name = "in-order"
    signature = "in-order"

    def __init__(self, corpus: MemoryCorpus) -> None:
        self.size = len(corpus.passages)
        self.asked: list[tuple[int, int]] = []

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        self.asked.append((len(queries), top))
        return [[Hit(i, -float(i)) for i in range(min(top, self.size))] for _ in queries]


def corpus_of(*passages: tuple[str, str | None]) -> MemoryCorpus:
    entries = (
        PassageEntry(text, str(i), title, title and f"https://host/{title}")
        for i, (text, title) in enumerate(passages)
    )
    return MemoryCorpus(PassageStore(None, entries))


def test_all_passages_of_a_gold_page_are_left_out_by_title_or_address() -> None:
    corpus = corpus_of(("a", "Gold Page"), ("b", "Other"), ("c", "Gold Page"), ("d", None))
    for page in ("gold_page", "https://host/Gold Page", "Gold Page "):
        assert mine(corpus, OpenedRetriever(InOrder(corpus)), ["?"], [Gold((page,))]) == [[1, 3]]
    assert mine(corpus, OpenedRetriever(InOrder(corpus)), ["?"], [Gold()]) == [[0, 1, 2, 3]]


def test_a_text_comes_once_and_never_that_of_a_gold_context() -> None:
    corpus = corpus_of(("The  sea.", "A"), ("the SEA.", "B"), ("The lake.", "C"), ("The sky.", "D"))
    assert mine(corpus, OpenedRetriever(InOrder(corpus)), ["?"], [Gold((), ("the\nlake.",))]) == [
        [0, 3]
    ]


def test_the_search_goes_deeper_only_where_it_must() -> None:
    passages = [(f"text {i}", "Gold" if i < 90 else "Other") for i in range(100)]
    corpus = corpus_of(*passages)
    retriever = InOrder(corpus)
    found = mine(corpus, OpenedRetriever(retriever), ["a", "b"], [Gold(("Gold",)), Gold()], top=5)
    assert found == [[90, 91, 92, 93, 94], [0, 1, 2, 3, 4]]
    assert retriever.asked == [(2, 10), (1, 40), (1, 100)]


def test_the_corpus_may_end_before_there_are_enough() -> None:
    corpus = corpus_of(*((f"text {i}", "P") for i in range(30)))
    retriever = InOrder(corpus)
    assert mine(corpus, OpenedRetriever(retriever), ["a"], [Gold()], top=40) == [list(range(30))]
    assert retriever.asked == [(1, 80)]
    bm25 = OpenedRetriever(BM25(corpus.passages.texts))
    assert mine(corpus, bm25, ["nothing shared", "text 7"], [Gold(), Gold()], top=3) == [
        [],
        [7, 0, 1],
    ]
    assert mine(corpus_of(), OpenedRetriever(BM25([])), ["a"], [Gold()]) == [[]]


def test_one_gold_for_each_query() -> None:
    corpus = corpus_of(("a", None))
    with pytest.raises(UsageError, match=r"2 queries, 1 golds.*one gold for each query"):
        mine(corpus, OpenedRetriever(InOrder(corpus)), ["a", "b"], [Gold()])
    with pytest.raises(UsageError, match="a top of 1 or more"):
        mine(corpus, OpenedRetriever(InOrder(corpus)), ["a"], [Gold()], top=0)


def test_fill() -> None:
    ranked, lengths = [7, 3, 9, 1], [40, 30, 50, 10]
    assert fill(ranked, lengths, 0) == []
    assert fill(ranked, lengths, 70) == [7, 3]
    assert fill(ranked, lengths, 80) == [7, 3]
    assert fill(ranked, lengths, 80, skip=True) == [7, 3, 1]
    assert fill(ranked, lengths, 130) == ranked
    assert fill([], [], 100) == []


@given(st.lists(st.integers(0, 50), max_size=12), st.integers(0, 200), st.integers(0, 200))
def test_a_larger_room_only_adds(lengths: list[int], small: int, more: int) -> None:
    ranked = list(range(len(lengths)))
    less, all_ = fill(ranked, lengths, small), fill(ranked, lengths, small + more)
    assert all_[: len(less)] == less
    assert sum(lengths[i] for i in all_) <= small + more


@pytest.mark.skipif(not SHARED.exists(), reason="the published Truly-Ground files are not here")
def test_real_questions_get_forty_each() -> None:
    import orjson

    corpus = MemoryCorpus.read(
        SHARED / "localDocId2localDocText.json", SHARED / "localDocId2title.json"
    )
    items = list(orjson.loads((SHARED / "original_version.json").read_bytes()).values())
    gold = [
        Gold(
            tuple(read_title(c.split("\n", 1)[0])[0] or "" for c in item["context_list"]),
            tuple(c.split("\n", 1)[1].strip() for c in item["context_list"]),
        )
        for item in items
    ]
    found = mine(
        corpus,
        OpenedRetriever(BM25(corpus.passages.texts, stem=True)),
        [item["qText"] for item in items],
        gold,
    )
    assert all(len(numbers) == 40 for numbers in found)
    for numbers, own in zip(found, gold, strict=True):
        pages = {page_key(page) for page in own.pages}
        assert pages.isdisjoint(key for n in numbers for key in corpus.passages.page_keys(n))
        assert len({corpus.passages.texts[n].casefold() for n in numbers}) == 40
