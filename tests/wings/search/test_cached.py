"""Hits that are kept: exact, asked once, and never those of another search."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from trueground.errors import ProtocolError
from trueground.net.cache import ResponseCache
from trueground.wings.search import index
from trueground.wings.search.base import Hit, SearchQuery
from trueground.wings.search.index import CachedRetriever


class Counted:
    """Finds passages 0, 1, 2 … of five, with scores that have no short decimal form."""

    name = "counted"

    def __init__(self, signature: str = "counted") -> None:
        self.signature = signature
        self.asked: list[tuple[list[str], int]] = []

    def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
        self.asked.append((list(queries), top))
        return [[Hit(i, len(q) / 3 - i / 7) for i in range(min(top, 5))] for q in queries]


class Deeper(Counted):
    nested = False


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ResponseCache]:
    with ResponseCache(tmp_path / "searches.sqlite") as opened:
        yield opened


def test_what_was_found_once_is_not_searched_again(cache: ResponseCache) -> None:
    inner = Counted()
    first = CachedRetriever(inner, "p", cache).search(["a", "bb", "a"], 3)
    assert inner.asked == [(["a", "bb"], 3)]
    again = CachedRetriever(inner, "p", cache)
    assert again.search(["bb", "a", "ccc"], 3)[:2] == [first[1], first[0]]
    assert inner.asked[1:] == [(["ccc"], 3)]
    assert first == Counted().search(["a", "bb", "a"], 3)
    assert (again.name, again.signature) == ("counted", "counted")


def test_a_conversation_is_no_plain_text_of_the_same_words(cache: ResponseCache) -> None:
    """A model's separator may stand between its turns; its id makes no difference."""
    inner = Counted()
    made = CachedRetriever(inner, "p", cache)
    asked = [
        SearchQuery("a", "b"),
        "a b",
        SearchQuery("a b", id="7"),
        SearchQuery("a", "b", id="8"),
    ]
    assert made.search(asked, 1) == [[Hit(0, 1.0)]] * 4
    assert inner.asked == [(["a b", "a b"], 1)]
    assert (
        made.search([SearchQuery("a b", id="9"), SearchQuery("a", "b")], 1) == [[Hit(0, 1.0)]] * 2
    )
    assert len(inner.asked) == 1


def test_more_hits_serve_a_search_for_fewer(cache: ResponseCache) -> None:
    inner = Counted()
    made = CachedRetriever(inner, "p", cache)
    deep = made.search(["a"], 4)
    assert made.search(["a"], 2) == [deep[0][:2]]
    assert len(inner.asked) == 1
    assert len(made.search(["a"], 9)[0]) == 5
    # Fewer came than were asked for: there are no more, however many are asked for.
    assert len(made.search(["a"], 1_000)[0]) == 5
    assert [top for _, top in inner.asked] == [4, 9]


def test_a_retriever_that_finds_others_when_asked_deeper_is_asked_for_each(
    cache: ResponseCache,
) -> None:
    inner = Deeper()
    made = CachedRetriever(inner, "p", cache)
    for top in (4, 2, 4, 2):
        assert made.search(["a"], top) == Counted().search(["a"], top)
    assert [top for _, top in inner.asked] == [4, 2]


def test_other_passages_and_other_retrievers_share_nothing(cache: ResponseCache) -> None:
    inner, other = Counted(), Counted("counted:2")
    CachedRetriever(inner, "p", cache).search(["a"], 2)
    CachedRetriever(inner, "p2", cache).search(["a"], 2)
    CachedRetriever(other, "p", cache).search(["a"], 2)
    assert (len(inner.asked), len(other.asked)) == (2, 1)


def test_batches_are_kept_as_they_are_finished(
    cache: ResponseCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_QUERIES_PER_BATCH", 2)

    class Failing(Counted):
        def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
            if "5" in queries:
                raise KeyboardInterrupt
            return super().search(queries, top)

    told: list[tuple[str, int, int | None]] = []
    queries = [str(number) for number in range(6)]
    failing = Failing()
    with pytest.raises(KeyboardInterrupt):
        CachedRetriever(failing, "p", cache, progress=lambda *step: told.append(step)).search(
            queries, 1
        )
    assert told == [("search", 0, 6), ("search", 2, 6), ("search", 4, 6)]
    inner = Counted()
    assert len(CachedRetriever(inner, "p", cache).search(queries, 1)) == 6
    assert inner.asked == [(["4", "5"], 1)]


def test_without_a_cache_nothing_is_kept() -> None:
    inner = Counted()
    made = CachedRetriever(inner, "p", None)
    assert made.search(["a", "a"], 2) == made.search(["a", "a"], 2)
    assert inner.asked == [(["a"], 2), (["a"], 2)]
    assert made.search(["a"], 0) == [[]]


def test_an_entry_that_is_none_is_searched_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with ResponseCache(path) as cache:
        CachedRetriever(Counted(), "p", cache, label="mine").search(["a"], 2)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT model FROM reply").fetchall() == [("mine",)]
    connection.execute("UPDATE reply SET value = X'00', packed = 0")
    connection.commit()
    connection.close()
    with ResponseCache(path) as cache:
        inner = Counted()
        assert CachedRetriever(inner, "p", cache).search(["a"], 2) == Counted().search(["a"], 2)
        assert len(inner.asked) == 1


def test_a_retriever_that_answers_another_number_of_queries() -> None:
    class Short(Counted):
        def search(self, queries: Sequence[str], top: int) -> list[list[Hit]]:
            return super().search(queries[:-1], top)

    with pytest.raises(ProtocolError, match="'counted' returned 1 lists of hits for 2 queries"):
        CachedRetriever(Short(), "p", None).search(["a", "b"], 2)
