"""Step 1: links between documents, their popularity, and sets of them (Truly-Ground, A.1)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

from trueground.errors import InputError
from trueground.wings.papers.builders.base import BatchStage, Rejected
from trueground.wings.papers.builders.checks import contains_phrase
from trueground.wings.papers.builders.grounding import LINKS, NUMBERS, GroundingBuildOptions
from trueground.wings.papers.builders.grounding.items import (
    Context,
    DocumentSet,
    Popularity,
    SourceDocument,
)
from trueground.wings.papers.builders.sampling import choose, shuffle_key
from trueground.wings.search import Document, page_key

PARAGRAPHS = "\n\n"  # stands between those of a document
# Between backticks, and where a name stands before the brackets ("rows[[0]]", "handlers[name](x)"),
# it is code that is meant.
_CODE = r"```.*?```|`[^`\n]*`"
_BARE = r"(?<![A-Za-z0-9_\])])"
# [[Title]], [[Title|words shown]]; no blank behind the brackets, so that no shell test is meant.
_WIKI = re.compile(rf"{_CODE}|{_BARE}\[\[(?=\S)([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]", re.DOTALL)
_TARGET = r"<?([^()<>\s]+(?:\([^()\s]*\)[^()<>\s]*)?)>?"
_LINK = re.compile(rf"{_CODE}|{_BARE}(?<!!)\[([^\[\]\n]+)\]\({_TARGET}\)", re.DOTALL)


def wiki_links(text: str) -> tuple[str, list[str]]:
    """(the text as a reader sees it, targets of its links [[Title]] and [[Title|shown]])."""
    targets = [match[1].strip() for match in _WIKI.finditer(text) if match[1]]
    return _WIKI.sub(lambda match: (match[2] or match[1] or match[0]).strip(), text), targets


def text_links(text: str) -> tuple[str, list[str]]:
    """The same for a text that may also have links of the form [shown](target)."""
    found = [(m.start(), m[1].strip()) for m in _WIKI.finditer(text) if m[1]]
    found += [(m.start(), m[2]) for m in _LINK.finditer(text) if m[1]]
    plain = _LINK.sub(lambda match: match[1] or match[0], wiki_links(text)[0])
    return plain, [target for _, target in sorted(found)]


def path_below(target: str, page: str) -> str:
    """What a link in the file `page` names, as a path below the folder; addresses stay."""
    try:
        parts = urlsplit(target)
    except ValueError:  # an address that is none
        return target
    if parts.scheme or parts.netloc or not parts.path:
        return target
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))


@dataclass
class RawDocument:
    """A document as it was read, before others are known: nothing of it is checked yet.

    `names` are all names by which others may link to it, `targets` what it links to: ids, titles,
    or paths relative to itself. `row` are the fields that may hold a number. `place` is for people.
    """

    place: str
    id: str
    title: str
    text: str
    names: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    row: dict[str, Any] = field(default_factory=dict)


def resolve_links(
    raws: Sequence[RawDocument], doubles: Mapping[str, Sequence[RawDocument]]
) -> dict[str, tuple[str, ...]]:
    """The ids of the documents that each links to, each once, without itself.

    An id counts before a title; the first before others. A document that was rejected as a double
    of another lends that one its names.
    """
    ids: dict[str, str] = {}
    others: dict[str, str] = {}
    for raw in raws:
        for double in (raw, *doubles.get(raw.id, ())):
            ids.setdefault(double.id, raw.id)
            for name in (double.id, double.title, *double.names):
                if name.strip():
                    others.setdefault(page_key(name), raw.id)

    def meant(target: str) -> str | None:
        names = (target, unquote(target.partition("#")[0]))
        found = (ids.get(name) or others.get(page_key(name)) for name in names)
        return next((one for one in found if one is not None), None)

    meanings = {raw.id: dict.fromkeys(map(meant, raw.targets)) for raw in raws}
    return {own: tuple(to for to in some if to and to != own) for own, some in meanings.items()}


# --- popularity


def popularity_field(rows: Iterable[Mapping[str, Any]], asked: str | None) -> str:
    """The field that holds the number; `links` where that is asked for. InputError: there is none.

    Without `asked` the first of NUMBERS that a row has.
    """
    if asked == LINKS:
        return LINKS
    known = list(dict.fromkeys(name for row in rows for name in row))
    wished = (asked,) if asked else NUMBERS
    if found := [one for one in wished if one in known]:
        return found[0]
    wanted = f"a field {asked!r}" if asked else f"a field {' or '.join(NUMBERS)}"
    shown = ", ".join(map(repr, known[:12])) or "no fields"
    raise InputError(
        f"no document has {wanted} with a number of its popularity (found: {shown}); name the "
        "field with --popularity-field, give numbers in a file with --meta, or count the documents "
        "that link to each with --popularity-field links"
    )


def check_popularity(numbers: Mapping[str, float]) -> None:
    """See that popular and unpopular can be told apart. `numbers` by id. InputError."""
    n = len(numbers)
    if n < 2:
        raise InputError(
            f"{n} of the documents have a number of popularity; two or more are needed to tell "
            "popular from unpopular ones"
        )
    if len(set(numbers.values())) == 1:
        raise InputError(
            f"all {n} documents have the popularity {next(iter(numbers.values())):g}; popular and "
            "unpopular ones cannot be told apart: name another field with --popularity-field"
        )


def popularity_lists(numbers: Mapping[str, float], share: Decimal) -> dict[str, Popularity]:
    """The top and bottom `share` of the documents as high and low, by id; others are left out.

    Each list has that share of all, rounded down, and one document at least. Where a list's border
    goes through documents with the same number, the order of their ids decides (Truly-Ground,
    A.1: 0.3 of the page views).
    """
    if len(numbers) < 2:
        return {}
    ordered = sorted(numbers, key=lambda one: (numbers[one], one))
    size = max(1, int(share * len(ordered)))
    found: dict[str, Popularity] = dict.fromkeys(ordered[:size], "low")
    return found | dict.fromkeys(ordered[-size:], "high")


# --- sets


def sets_stage(
    options: GroundingBuildOptions, seed: int
) -> BatchStage[SourceDocument, DocumentSet]:
    """Documents → sets: each popular or unpopular document alone, and with one it is linked to.

    The other one is drawn by the seed: first the number of links between them, then one of the
    documents of the same popularity at that distance.
    """

    def work(documents: Sequence[SourceDocument]) -> list[DocumentSet | Rejected]:
        return _choose_sets(documents, options, seed)

    return BatchStage(
        name="sets",
        doc="Choose documents by popularity, alone and with one that they are linked to",
        output_type=DocumentSet,
        work=work,
        reasons={
            "no_popularity": "the document has no number of its popularity",
            "middling": "the document is neither among the popular nor among the unpopular ones",
            "no_linked_document": "no document of the same popularity is linked to it near enough",
            "same_set": "the same documents are a set already",
            "not_drawn": "more sets of its class than --sets were there, and others were drawn",
        },
        fan_out=1.2,
    )


def _choose_sets(
    documents: Sequence[SourceDocument], options: GroundingBuildOptions, seed: int
) -> list[DocumentSet | Rejected]:
    by_id = {one.id: one for one in documents}
    numbers = {one.id: one.popularity for one in documents if one.popularity is not None}
    levels = popularity_lists(numbers, Decimal(str(options.popularity_share)))
    lists = {level: {one for one in levels if levels[one] == level} for level in ("high", "low")}
    links = {one.id: one.links for one in documents}
    found: list[DocumentSet] = []
    rejected: list[Rejected] = []
    pairs: dict[frozenset[str], str] = {}

    def add(level: Popularity, hops: int, first: SourceDocument, *others: SourceDocument) -> None:
        words, naming = options.context_words, others[0].title if hops == 1 else None
        contexts = [choose_passage(first, words, naming)]
        contexts += [choose_passage(one, words) for one in others]
        id_ = set_id(first.id, *(one.id for one in others))
        found.append(DocumentSet(id_, tuple(contexts), level, hops))

    for one in sorted(documents, key=lambda one: one.id):
        level = levels.get(one.id)
        if one.popularity is None:
            rejected.append(Rejected("no_popularity", one.title, id=one.id))
            continue
        if level is None:
            detail = f"{one.title}: {one.popularity:g}"
            rejected.append(Rejected("middling", detail, id=one.id))
            continue
        add(level, 0, one)
        drawn = _draw_linked(one.id, links, lists[level], options.hops, seed)
        if drawn is None:
            rejected.append(Rejected("no_linked_document", one.title, id=one.id))
            continue
        other, hops = drawn
        id_ = set_id(one.id, other)
        first = pairs.setdefault(frozenset((one.id, other)), id_)
        if first == id_:
            add(level, hops, one, by_id[other])
        else:
            rejected.append(Rejected("same_set", f"as {first}", id=id_))
    drawn_sets = _draw_sets(found, options.sets, seed)
    undrawn = [Rejected("not_drawn", id=one.id) for one in found if one.id not in drawn_sets]
    return [*(one for one in found if one.id in drawn_sets), *rejected, *undrawn]


def set_id(*documents: str) -> str:
    """The set's id: those of its documents with + between; % and + in them are written %25, %2B."""
    return "+".join(one.replace("%", "%25").replace("+", "%2B") for one in documents)


def _draw_linked(
    start: str, links: Mapping[str, Sequence[str]], among: Set[str], most: int, seed: int
) -> tuple[str, int] | None:
    """(one of the documents that are near, how many links lie between); None: there is none.

    The distance is drawn before the document: those far away are many more.
    """
    reached: list[set[str]] = []
    further = reach_by_hops(start, links)
    for hops in sorted(
        range(1, most + 1), key=partial(shuffle_key, shuffle_key(f"distance/{seed}", start))
    ):
        reached += islice(further, max(0, hops - len(reached)))
        there = among & reached[hops - 1]
        if there:
            return choose(f"end/{seed}", start, there), hops
    return None


def reach_by_hops(start: str, links: Mapping[str, Sequence[str]]) -> Iterator[set[str]]:
    """The documents that 1 link leads to, those that no less than 2 do, and so on, without end.

    Links lead one way, from the document whose text has them. Targets that do not exist are passed
    over, and so is the first document itself.
    """
    seen, edge = {start}, {start}
    while True:
        edge = {target for one in edge for target in links[one] if target in links} - seen
        seen |= edge
        yield edge


def _draw_sets(sets: Sequence[DocumentSet], most: int | None, seed: int) -> set[str]:
    """The ids of at most so many sets of each class."""
    classes: dict[tuple[str, int], list[str]] = {}
    for one in sets:
        classes.setdefault((one.popularity, len(one.contexts)), []).append(one.id)
    order = partial(shuffle_key, f"sets/{seed}")
    return {one for ids in classes.values() for one in sorted(ids, key=order)[:most]}


def choose_passage(document: SourceDocument, words: int, naming: str | None = None) -> Context:
    """The passage of a document that is asked about: its first one.

    With `naming`, the title of a document that it links to, the first passage that names that one,
    if any does.
    """
    found = cut_passages(document, words)
    named = (one for one in found if naming is not None and contains_phrase(one.text, naming))
    return next(named, found[0])


def cut_passages(document: SourceDocument, words: int) -> list[Context]:
    """All passages of a document, in order: whole sentences, about `words` words each."""
    passages = Document.of_paragraphs(document.text.split(PARAGRAPHS)).cut(document.title, words)
    return [Context(document.id, document.title, text) for _, text in passages]
