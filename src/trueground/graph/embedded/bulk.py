"""Parts of N-Triples into a store on several cores.

The store's own loader reads a file on one core and sorts a million triples at once.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyoxigraph import NamedNode, Store

THREADS = max(2, min(8, os.cpu_count() or 1))
_ADDRESS = rb"<(?:https?://[a-z0-9.-]+/|urn:[a-z0-9-]+:)[A-Za-z0-9/_.~-]*+(?:#[A-Za-z0-9_-]*+)?>"
# Lines whose addresses and languages need no look to see that they are sound.
_SOUND = re.compile(
    rb'(?:%b %b (?:%b|"[^"\\\n\r]*+"(?:@[a-z]{2,3}|\^\^%b)?+) \.\n)*+' % ((_ADDRESS,) * 4)
)
# N-Triples that are whole by themselves, and the graph that they belong to (None: the default one).
Part = tuple[bytes, "NamedNode | None"]


def load_parts(store: Store, parts: Iterable[Part], threads: int = THREADS) -> None:
    """Load parts, at most `threads` at a time.

    SyntaxError: one of them cannot be read; OSError: the store cannot be written.
    """
    from pyoxigraph import RdfFormat

    def load(part: bytes, graph: NamedNode | None) -> None:
        # The store's own check of addresses takes a quarter of the time.
        sound = _SOUND.fullmatch(part) is not None
        store.bulk_load(part, RdfFormat.N_TRIPLES, to_graph=graph, lenient=sound)

    with ThreadPoolExecutor(threads) as pool:
        under_way: deque[Future[None]] = deque()
        for part, graph in parts:
            under_way.append(pool.submit(load, part, graph))
            if len(under_way) > threads:
                under_way.popleft().result()
        for one in under_way:
            one.result()
