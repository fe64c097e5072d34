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
    from pyoxigraph import NamedNode, Store

    from trueground.graph.embedded.lines import NameLines

# Bytes. A small part needs little memory while it is sorted; of small files the store makes few
# large ones, which costs more than loading them did.
PART = 8_000_000
_LONGEST = 1 << 28
_THREADS = max(2, min(8, os.cpu_count() or 1))
# N-Triples that are whole by themselves, and the graph that they belong to (None: the default one).
Part = tuple[bytes, "NamedNode | None"]


def load_parts(store: Store, parts: Iterable[Part], threads: int = _THREADS) -> None:
    """Load parts, at most `threads` at a time.

    SyntaxError: one of them cannot be read; OSError: the store cannot be written.
    """
    from pyoxigraph import RdfFormat

    def load(part: bytes, graph: NamedNode | None) -> None:
        store.bulk_load(part, RdfFormat.N_TRIPLES, to_graph=graph)

    with ThreadPoolExecutor(threads) as pool:
        under_way: deque[Future[None]] = deque()
        for part, graph in parts:
            under_way.append(pool.submit(load, part, graph))
            if len(under_way) > threads:
                under_way.popleft().result()
        for one in under_way:
            one.result()


def load_lines(
    store: Store, path: Path, names: NameLines, progress: Progress = no_progress
) -> int | None:
    """Load a file of N-Triples, packed or not, and the index of its names; how many triples it has.

    None, perhaps after some were loaded, where the file is not made for that: it has blank nodes,
    which belong to the whole file, or something in it is no triple. GraphError: it cannot be read;
    OSError: the store cannot be written.
    """
    from trueground.graph.loading.streams import reading

    count = 0

    def parts(stream: BufferedReader) -> Iterator[Part]:
        nonlocal count
        for part in _parts(stream):
            lines = part.split(b"\n")
            triples = sum(1 for line in lines if line[:1] == b"<")
            if triples != len(lines) - 1:
                raise _NotMadeForIt
            count += triples
            yield part, None
            # The part before is loaded meanwhile.
            names.read(lines, escapes=b"\\" in part)
            yield from names.written(PART)
            progress("triples", count, None)
        yield from names.written()

    try:
        with reading(path) as stream:
            load_parts(store, parts(stream))
    except (SyntaxError, _NotMadeForIt):
        return None
    return count


class _NotMadeForIt(Exception):  # noqa: N818 - no error, a way out
    """The file has lines that belong together, or that are no triples."""


def _parts(stream: BufferedReader) -> Iterator[bytes]:
    while part := stream.read(PART):
        whole = part + (b"" if part.endswith(b"\n") else stream.readline(_LONGEST))
        if b"_:" in whole and _has_blank_nodes(whole):
            raise _NotMadeForIt
        yield whole if whole.endswith(b"\n") else whole + b"\n"


def _has_blank_nodes(part: bytes) -> bool:
    """Whether `_:` stands where a term begins, or may do so."""
    return b"> _:" in part or b"\n_:" in part or part.startswith(b"_:") or b">_:" in part
