"""N-Triples into a store on several cores.

The store's own loader reads a file on one core and sorts a million triples at once. Lines are
independent of each other but for blank nodes, so parts of the file are loaded beside each other.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.graph.base import Progress, no_progress

if TYPE_CHECKING:
    from pyoxigraph import RdfFormat, Store

_PART = 4_000_000  # bytes; a small part needs little memory while it is sorted
_LONGEST = 1 << 28
_THREADS = max(2, min(8, 2 * (os.cpu_count() or 1)))  # each waits for the disk at times


def load_parts(store: Store, parts: Iterable[bytes], format_: RdfFormat, threads: int) -> None:
    """Load parts that are whole by themselves, at most `threads` at a time.

    SyntaxError: one of them cannot be read; OSError: the store cannot be written.
    """
    with ThreadPoolExecutor(threads) as pool:
        under_way: deque[Future[None]] = deque()
        for part in parts:
            under_way.append(pool.submit(store.bulk_load, part, format_))
            if len(under_way) > threads:
                under_way.popleft().result()
        for one in under_way:
            one.result()


def load_lines(store: Store, path: Path, progress: Progress = no_progress) -> int | None:
    """Load a file of N-Triples, packed or not; how many triples it has.

    None, perhaps after some were loaded, where the file is not made for that: it has blank nodes,
    which belong to the whole file, or something in it is no triple. GraphError: it cannot be read;
    OSError: the store cannot be written.
    """
    from pyoxigraph import RdfFormat

    from trueground.graph.loading.streams import reading

    count = 0

    def parts(stream: BufferedReader) -> Iterator[bytes]:
        nonlocal count
        for part in _parts(stream):
            lines = sum(1 for line in part.split(b"\n") if line[:1] == b"<")
            if lines != part.count(b"\n"):
                raise _NotMadeForIt
            count += lines
            yield part
            progress("triples", count, None)

    try:
        with reading(path) as stream:
            load_parts(store, parts(stream), RdfFormat.N_TRIPLES, _THREADS)
    except (SyntaxError, _NotMadeForIt):
        return None
    return count


class _NotMadeForIt(Exception):  # noqa: N818 - no error, a way out
    """The file has lines that belong together, or that are no triples."""


def _parts(stream: BufferedReader) -> Iterator[bytes]:
    while part := stream.read(_PART):
        whole = part + (b"" if part.endswith(b"\n") else stream.readline(_LONGEST))
        if b"_:" in whole and _has_blank_nodes(whole):
            raise _NotMadeForIt
        yield whole if whole.endswith(b"\n") else whole + b"\n"


def _has_blank_nodes(part: bytes) -> bool:
    """Whether `_:` stands where a term begins, or may do so."""
    return b"> _:" in part or b"\n_:" in part or part.startswith(b"_:") or b">_:" in part
