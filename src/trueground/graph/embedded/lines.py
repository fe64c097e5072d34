"""Files of N-Triples: parts of them are loaded beside each other, and their names are gathered.

Lines are independent of each other but for blank nodes. To read the names from the store afterwards
takes a third as long as the loading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.graph.embedded.bulk import THREADS, Part, load_parts
from trueground.graph.embedded.names import KEY, KEYS
from trueground.graph.folding import name_key
from trueground.graph.literals import fits
from trueground.graph.rdf import ALIAS, LABELS, names_no_entity
from trueground.options import Progress, no_progress

if TYPE_CHECKING:
    from pyoxigraph import Store

# Bytes that are loaded at once by all threads: a small part needs little memory while it is sorted,
# and of many small files the store makes few large ones, which takes as long as loading did.
_BYTES = 48_000_000
_HELD = 32_000_000  # bytes of lines with names that wait to be indexed
_LONGEST = 1 << 28
_PREDICATES = tuple(f"<{iri}>".encode() for iri in (*LABELS, ALIAS))
# Most lines have neither, which is quickly seen.
_ENDING, _OTHER_ENDING = sorted({one[-5:] for one in _PREDICATES})
_NAME = re.compile(
    rb'<([^<>\\]+)> (?:%s) "([^"\\]*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*))? ?\.[ \t\r]*'
    % b"|".join(map(re.escape, _PREDICATES))
)
_PREDICATE = re.compile(rb"<[^>]*>[ \t]*(<[^>]*>)")
# Where a term begins, or may do so; in texts `_:` is nothing but text.
_BLANK_NODE = re.compile(rb"(?:\A|[>(\r\n])[ \t]*_:")
_NUL = (b"\0", b"\\u0000", b"\\U00000000")


class NameLines:
    """Names in `lang` of what was read; `whole` tells whether each of them could be read so.

    What is written otherwise than most programs write it (escapes, types, other white space) is
    left to those who read the store.
    """

    def __init__(self, lang: str) -> None:
        self.whole = True
        self.count = 0
        self._lang = lang.lower()
        self._fits: dict[bytes | None, bool] = {}
        self._lines: list[bytes] = []
        self._size = 0

    def read(self, lines: Iterable[bytes], escapes: bool) -> None:
        """Gather the names of some lines; `escapes` tells whether there may be escapes in them."""
        if escapes:
            some = [x for x in lines if _ENDING in x or _OTHER_ENDING in x or b"\\" in x]
        else:
            some = [x for x in lines if _ENDING in x or _OTHER_ENDING in x]
        if self.whole:
            self._lines += some
            self._size += sum(map(len, some))

    def index(self, least: int = 1) -> Iterator[Part]:
        """The index of what was gathered since, if that has so many bytes."""
        from pyoxigraph import NamedNode

        if self._size >= least:
            found = "".join(self._entries())
            self._lines, self._size = [], 0
            yield found.encode(), NamedNode(KEYS)

    def _entries(self) -> Iterator[str]:
        for line in self._lines:
            if match := _NAME.fullmatch(line):
                if entry := self._entry(*match.groups()):
                    self.count += 1
                    yield entry
            elif _may_name(line):
                self.whole = False
                return

    def _entry(self, subject: bytes, text: bytes, tag: bytes | None) -> str | None:
        fit = self._fits.get(tag)
        if fit is None:
            fit = fits(tag.decode().lower() if tag else None, self._lang) is not None
            self._fits[tag] = fit
        if not fit:
            return None
        try:
            iri, key = subject.decode(), name_key(text.decode())
        except UnicodeDecodeError:  # the loader tells where
            return None
        return f'<{iri}> <{KEY}> "{key}" .\n' if key and not names_no_entity(iri) else None


def _may_name(line: bytes) -> bool:
    """Whether the predicate is one of names, or is written so that it may be one."""
    predicate = _PREDICATE.match(line)
    return predicate is None or b"\\" in predicate[1] or predicate[1] in _PREDICATES


def load_lines(
    store: Store, path: Path, names: NameLines, progress: Progress = no_progress
) -> int | None:
    """Load a file of N-Triples, packed or not, and gather its names; how many triples it has.

    None, perhaps after some were loaded, where the file is not made for that: it has blank nodes,
    which belong to the whole file, or something in it is no triple or no text. GraphError: it
    cannot be read; OSError: the store cannot be written.
    """
    from trueground.graph.loading.streams import reading

    count = 0

    def parts() -> Iterator[Part]:
        nonlocal count
        # Here, so that what the store cannot write is not taken for a fault of the file.
        with reading(path) as stream:
            for part in _parts(stream):
                lines = part.split(b"\n")
                triples = sum(1 for line in lines if line[:1] == b"<")
                if triples != len(lines) - 1:
                    raise _NotMadeForIt
                count += triples
                yield part, None
                # The part before is loaded meanwhile.
                names.read(lines, escapes=b"\\" in part)
                yield from names.index(_HELD)
                progress("triples", count, None)

    try:
        load_parts(store, parts())
    except (SyntaxError, _NotMadeForIt):
        return None
    return count


class _NotMadeForIt(Exception):  # noqa: N818 - no error, a way out
    """The file has lines that belong together, or that are no triples."""


def _parts(stream: BufferedReader) -> Iterator[bytes]:
    while part := stream.read(_BYTES // THREADS):
        whole = part + (b"" if part.endswith(b"\n") else stream.readline(_LONGEST))
        if b"_:" in whole and _BLANK_NODE.search(whole):
            raise _NotMadeForIt
        if any(one in whole for one in _NUL):
            raise _NotMadeForIt  # which line has it is told by those who read it otherwise
        yield whole if whole.endswith(b"\n") else whole + b"\n"
