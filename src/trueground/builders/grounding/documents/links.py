"""Links between documents: as they stand in a text, as they are meant, and how far they lead."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote, urlsplit

from trueground.builders.grounding.documents.document import Raw, SourceDocument
from trueground.retrieval.corpora.corpus import page_key

# Between backticks, and where a name stands before the brackets ("rows[[0]]", "handlers[name](x)"),
# it is code that is meant.
_CODE = r"```.*?```|`[^`\n]*`"
_BARE = r"(?<![A-Za-z0-9_\])])"
# [[Title]], [[Title|words shown]]; no blank behind the brackets, so that no shell test is meant.
_WIKI = re.compile(rf"{_CODE}|{_BARE}\[\[(?=\S)([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]", re.DOTALL)
_TARGET = r"<?([^()<>\s]+(?:\([^()\s]*\)[^()<>\s]*)?)>?"
_MARKDOWN = re.compile(rf"{_CODE}|{_BARE}(?<!!)\[([^\[\]\n]+)\]\({_TARGET}\)", re.DOTALL)


def wiki_links(text: str) -> tuple[str, list[str]]:
    """(the text as a reader sees it, targets of its links [[Title]] and [[Title|shown]])."""
    targets = [match[1].strip() for match in _WIKI.finditer(text) if match[1]]
    return _WIKI.sub(lambda match: (match[2] or match[1] or match[0]).strip(), text), targets


def text_links(text: str) -> tuple[str, list[str]]:
    """The same for a text that may also have links of the form [shown](target)."""
    found = [(m.start(), m[1].strip()) for m in _WIKI.finditer(text) if m[1]]
    found += [(m.start(), m[2]) for m in _MARKDOWN.finditer(text) if m[1]]
    plain = _MARKDOWN.sub(lambda match: match[1] or match[0], wiki_links(text)[0])
    return plain, [target for _, target in sorted(found)]


def from_file(target: str, page: str) -> str:
    """What a link in the file `page` (a path below the folder) names: a path below the folder.

    Targets that bear an address stay as they are.
    """
    try:
        parts = urlsplit(target)
    except ValueError:  # an address that is none
        return target
    if parts.scheme or parts.netloc or not parts.path:
        return target
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))


class DocumentNames:
    """By which names documents are linked to. An id counts before a title; the first before others.

    A document that fell as a double of another lends that one its names.
    """

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._others: dict[str, str] = {}

    def add(self, raw: Raw, stands_for: str) -> None:
        """`stands_for` is the id of the document that is meant by its names."""
        self._ids.setdefault(raw.id, stands_for)
        for name in (raw.id, raw.title, *raw.names):
            if name.strip():
                self._others.setdefault(page_key(name), stands_for)

    def meant(self, target: str) -> str | None:
        """The id of the document that a link's target names; None if there is none."""
        bare = unquote(target.partition("#")[0])
        for name in (target, bare):
            found = self._ids.get(name) or self._others.get(page_key(name))
            if found is not None:
                return found
        return None


def resolved(raw: Raw, own: str, names: DocumentNames) -> tuple[str, ...]:
    """The ids of the documents that it links to, each once, without itself."""
    meant = dict.fromkeys(names.meant(target) for target in raw.targets)
    return tuple(one for one in meant if one is not None and one != own)


def in_degrees(links: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """How many others link to each document."""
    counts = dict.fromkeys(links, 0)
    for own, targets in links.items():
        for target in set(targets):
            if target != own and target in counts:
                counts[target] += 1
    return counts


def by_hops(start: str, links: Mapping[str, Sequence[str]]) -> Iterator[set[str]]:
    """The documents that 1 link leads to, those that no less than 2 do, and so on, without end.

    Links lead one way, from the document whose text has them. Targets that do not exist are passed
    over, and so is the first document itself.
    """
    seen, edge = {start}, {start}
    while True:
        reached = {target for one in edge for target in links[one] if target in links}
        edge = reached - seen
        seen |= edge
        yield edge


def links_of(documents: Iterable[SourceDocument]) -> dict[str, tuple[str, ...]]:
    """The links of each document by its id."""
    return {one.id: one.links for one in documents}
