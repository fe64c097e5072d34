"""Step 1: sets of documents by popularity and by links (Truly-Ground, A.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from decimal import Decimal
from functools import partial
from itertools import islice

from trueground.builders.base import BatchStage, Rejected
from trueground.builders.checks import says
from trueground.builders.grounding import GroundingBuildOptions
from trueground.builders.grounding.documents import SourceDocument, cut_passages
from trueground.builders.grounding.items import Context, DocumentSet, Popularity
from trueground.builders.grounding.links import popularity_lists
from trueground.text.draws import draw, draw_key


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
        gives=DocumentSet,
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
        range(1, most + 1), key=partial(draw_key, draw_key(f"distance/{seed}", start))
    ):
        reached += islice(further, max(0, hops - len(reached)))
        there = among & reached[hops - 1]
        if there:
            return draw(f"end/{seed}", start, there), hops
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
    order = partial(draw_key, f"sets/{seed}")
    return {one for ids in classes.values() for one in sorted(ids, key=order)[:most]}


def choose_passage(document: SourceDocument, words: int, naming: str | None = None) -> Context:
    """The passage of a document that is asked about: its first one.

    With `naming`, the title of a document that it links to, the first passage that names that one,
    if any does.
    """
    found = cut_passages(document, words)
    if naming is not None:
        return next((one for one in found if says(one.text, naming)), found[0])
    return found[0]
