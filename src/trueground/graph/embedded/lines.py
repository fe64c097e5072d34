"""The names in lines of N-Triples, gathered while the lines are loaded.

To read them from the store afterwards takes as long as a third of the loading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trueground.graph.base import name_key
from trueground.graph.embedded.literals import fits
from trueground.graph.embedded.names import KEY, KEYS, names_no_entity
from trueground.graph.rdf import ALIAS, LABELS

if TYPE_CHECKING:
    from trueground.graph.embedded.bulk import Part

_PREDICATES = tuple(f"<{iri}>".encode() for iri in (*LABELS, ALIAS))
# Most lines have neither, which is quickly seen.
_ENDING, _OTHER_ENDING = sorted({one[-5:] for one in _PREDICATES})
_NAME = re.compile(
    rb'<([^<>\\]+)> (?:%s) "([^"\\]*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*))? ?\.[ \t\r]*'
    % b"|".join(map(re.escape, _PREDICATES))
)
_PREDICATE = re.compile(rb"<[^>]*>[ \t]*(<[^>]*>)")


class NameLines:
    """Names in `lang` of what was read; `whole` tells whether each of them could be read so.

    What is written otherwise than most programs write it (escapes, types, other white space) is
    left to those who read the store.
    """

    def __init__(self, lang: str) -> None:
        self.whole = True
        self.count = 0
        self._lang = lang
        self._fits: dict[bytes | None, bool] = {}
        self._lines: list[str] = []
        self._size = 0

    def read(self, lines: Iterable[bytes], escapes: bool) -> None:
        """Gather the names of some lines; `escapes` tells whether there may be escapes in them."""
        if escapes:
            some = [x for x in lines if _ENDING in x or _OTHER_ENDING in x or b"\\" in x]
        else:
            some = [x for x in lines if _ENDING in x or _OTHER_ENDING in x]
        for line in some:
            if match := _NAME.fullmatch(line):
                self._add(*match.groups())
            elif self.whole and _may_name(line):
                self.whole = False

    def written(self, least: int = 1) -> Iterator[Part]:
        """The index of what was gathered since, as triples, if it has so many bytes."""
        from pyoxigraph import NamedNode

        if self._size >= least:
            yield "".join(self._lines).encode(), NamedNode(KEYS)
            self._lines, self._size = [], 0

    def _add(self, subject: bytes, text: bytes, tag: bytes | None) -> None:
        if tag not in self._fits:
            self._fits[tag] = fits(tag.decode().lower() if tag else None, self._lang) is not None
        if not self._fits[tag]:
            return
        try:
            iri, key = subject.decode(), name_key(text.decode())
        except UnicodeDecodeError:  # the loader tells where
            return
        if key and not names_no_entity(iri):
            line = f'<{iri}> <{KEY}> "{key}" .\n'
            self._lines.append(line)
            self._size += len(line)
            self.count += 1


def _may_name(line: bytes) -> bool:
    """Whether the predicate is one of names, or is written so that it may be one."""
    predicate = _PREDICATE.match(line)
    return predicate is None or b"\\" in predicate[1] or predicate[1] in _PREDICATES
