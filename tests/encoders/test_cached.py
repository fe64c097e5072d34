"""Numbers computed once: kept in memory within a bound, and on disk for other processes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from trueground.encoders.base import Floats
from trueground.encoders.cache import Store
from trueground.errors import UsageError
from trueground.net.cache import ResponseCache
from trueground.net.cache_contents import CacheStats


class Counting:
    """Rows made of a text's length and first letter; knows what it was asked."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.asked: list[str] = []

    def __call__(self, places: list[int]) -> Floats:
        self.asked += [self.texts[place] for place in places]
        return np.array(
            [[len(self.texts[p]), ord((self.texts[p] or " ")[0])] for p in places], np.float32
        )


def rows(store: Store, *texts: str) -> tuple[Floats, list[str]]:
    compute = Counting(list(texts))
    found = store.rows([(text,) for text in texts], 2, compute)
    return found, compute.asked


def test_equal_texts_are_computed_once_in_order() -> None:
    store = Store("m", "s", disk=False)
    found, asked = rows(store, "bb", "a", "bb", "", "a")
    assert asked == ["bb", "a", ""]
    assert found.tolist() == [[2, 98], [1, 97], [2, 98], [0, 32], [1, 97]]
    again, asked = rows(store, "a", "new")
    assert asked == ["new"]
    assert again.tolist() == [[1, 97], [3, 110]]


def test_many_texts_go_in_blocks_and_a_failure_keeps_what_was_done() -> None:
    store = Store("m", "s", disk=False)
    texts = [str(number) for number in range(5_000)]
    sizes: list[int] = []
    compute = Counting(texts)

    def fails_in_the_last_block(places: list[int]) -> Floats:
        sizes.append(len(places))
        if 4_999 in places:
            raise RuntimeError("the power failed")
        return compute(places)

    with pytest.raises(RuntimeError):
        store.rows([(text,) for text in texts], 2, fails_in_the_last_block)
    assert max(sizes) == 2048
    found, asked = rows(store, *texts)
    assert len(asked) == 5_000 - 2 * 2048
    assert found[:, 0].tolist() == [len(text) for text in texts]


def test_memory_is_bounded_and_the_oldest_go_first() -> None:
    store = Store("m", "s", disk=False, memory_bytes=10_000)
    rows(store, *(f"text {number}" for number in range(1_000)))
    assert 5_000 < store.held_bytes <= 10_000
    assert rows(store, "text 999")[1] == []
    assert rows(store, "text 0")[1] == ["text 0"]
    for number in range(1_000, 1_020):
        rows(store, f"text {number}", "text 0")
    assert rows(store, "text 0")[1] == []
    store.close()
    assert store.held_bytes == 0


def test_another_store_reads_the_file() -> None:
    first = Store("m", "s", disk=True)
    found, _ = rows(first, "one", "two")
    first.close()
    second = Store("m", "s", disk=True)
    again, asked = rows(second, "two", "one", "three")
    assert asked == ["three"]
    assert again[:2].tolist() == found[::-1].tolist()
    second.close()
    assert [m.model for m in CacheStats.count(ResponseCache.path_of("vectors")).models] == ["m"]
    assert CacheStats.count(ResponseCache.path_of("vectors")).entries == 3


def test_another_signature_or_boundary_is_another_input() -> None:
    store = Store("m", "s", disk=True)
    rows(store, "one")
    other = Store("m", "s+int8", disk=True)
    assert rows(other, "one")[1] == ["one"]
    pairs = [("a", "bc"), ("ab", "c"), ("abc",)]
    compute = Counting(["a", "ab", "abc"])
    assert store.rows(pairs, 2, compute)[:, 0].tolist() == [1, 2, 3]
    store.close()
    other.close()


def test_a_process_that_closes_nothing_has_written(tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "from trueground.encoders.cache import Store\n"
        "Store('m', 's', True).rows([('one',)], 2, lambda p: np.ones((1, 2), np.float32))\n"
        "store = Store('m', 's', True)\n"
        "store.rows([('two',)], 2, lambda p: np.ones((1, 2), np.float32))\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
    assert CacheStats.count(ResponseCache.path_of("vectors")).entries == 2


def test_without_disk_there_is_no_file() -> None:
    rows(Store("m", "s", disk=False), "one")
    assert not ResponseCache.path_of("vectors").exists()


def test_a_value_of_another_width_is_computed_anew() -> None:
    store = Store("m", "s", disk=True)
    rows(store, "one")
    store.close()
    again = Store("m", "s", disk=True)
    found = again.rows([("one",)], 3, lambda _places: np.ones((1, 3), np.float32))
    assert found.tolist() == [[1, 1, 1]]
    again.close()


def test_cache_file_of_another_program_is_reported() -> None:
    ResponseCache.path_of("vectors").parent.mkdir()
    ResponseCache.path_of("vectors").write_bytes(b"no database at all " * 300)
    with pytest.raises(UsageError, match="trueground cache clear"):
        rows(Store("m", "s", disk=True), "one")


def test_a_hit_costs_little() -> None:
    texts = [f"a text of some words, number {number}" for number in range(2_000)]
    store = Store("m", "s", disk=True)
    wide = np.random.default_rng(0).standard_normal((2_000, 384)).astype(np.float32)
    store.rows([(t,) for t in texts], 384, lambda places: wide[places])
    store.close()
    begun = time.process_time()
    again = Store("m", "s", disk=True)
    found = again.rows([(t,) for t in texts], 384, lambda _places: wide[:0])
    took = time.process_time() - begun
    again.close()
    assert np.array_equal(found, wide)
    # About 15 microseconds each where nothing else runs; encoding takes a hundred times as long.
    assert took / 2_000 < 500e-6


def test_cache_problem_is_reported_after_close() -> None:
    store = Store("m", "s", disk=True)
    rows(store, "one")
    assert store.problem is None
    assert store._cache is not None
    store._cache.problem = "the disk is full"
    assert store.problem == "the disk is full"
    store.close()
    assert store.problem == "the disk is full"
