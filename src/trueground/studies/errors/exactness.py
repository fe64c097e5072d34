"""Rules about times and places that one side tells more exactly than the other."""

from __future__ import annotations

from trueground.studies.errors.item import Item, Proposal
from trueground.studies.errors.questions import asks_for_a_place
from trueground.studies.errors.text import Text, coarser, same_value
from trueground.text.values import Value

_PARTS_OF_A_YEAR = frozenset(
    ("spring", "summer", "autumn", "fall", "winter", "early", "mid", "late", "end", "beginning")
)


def temporal(item: Item) -> Proposal | None:
    """The reference is a date, and the response has one that says less or more of it.

    Not where another reference stands in the response as exactly as it is.
    """
    if any(_stands(reference, item.response) for reference in item.references):
        return None
    for reference in item.references:
        for date in reference.values:
            for said in item.response.values:
                how = _exactness(date, reference, said, item.response)
                if how is not None:
                    why = f"the response dates {how} exactly than {reference.raw!r}"
                    shown = item.response.raw[said.start : said.end]
                    return Proposal("granularity/temporal", why, shown)
    return None


def _stands(reference: Text, response: Text) -> bool:
    """Whether a reference's dates and numbers, or else its words, stand in the response whole."""
    if not reference.values:
        return response.find(reference.words) is not None
    same = (any(same_value(v, other) for other in response.values) for v in reference.values)
    return all(same) and set(reference.beside_values) <= set(response.words)


def _exactness(date: Value, reference: Text, said: Value, response: Text) -> str | None:
    """Whether the response says less or more of the reference's date than it; None if neither."""
    beside = set(reference.beside_values)
    if beside - _PARTS_OF_A_YEAR or date.kind != "date":
        return None
    if any(same_value(date, other) for other in response.values):
        return "less" if beside - set(response.words) else None
    holds = coarser(said, date)
    return None if holds is None else "less" if holds else "more"


def chain_of_places(item: Item) -> Proposal | None:
    """Places as A, B, C, from small to large, of which one side has more than the other."""
    if not asks_for_a_place(item.question.raw):
        return None
    whole_ones = filter(None, (item.response.find(r.words) for r in item.references))
    if not all(_before(item.response, whole) for whole in whole_ones):
        return None  # a reference stands there as exactly as it is
    for reference in item.references:
        parts, whole = reference.items, item.response.find(reference.words)
        if not reference.is_name:
            continue
        if whole and (before := _before(item.response, whole)):
            why = f"the response names a smaller place in {reference.raw!r}"
            return Proposal("granularity/spatial", why, before)
        there = [part for part in parts[1:] if item.response.find(part.words)]
        if there and not item.response.find(parts[0].words):
            why = f"the response names the larger place of {reference.raw!r} alone"
            return Proposal("granularity/spatial", why, there[0].raw)
    return None


def _before(response: Text, whole: str) -> str | None:
    """`whole` with the names and the comma before it; None where there are none."""
    for (start, end), (after, last) in zip(response.names, response.names[1:], strict=False):
        if response.raw[end:after].strip() == "," and response.raw[after:last] == whole:
            return response.raw[start:last]
    return None


def other_places(item: Item) -> Proposal | None:
    """A place is asked for, and the two name different ones, so that one lies in the other."""
    names = [Text(item.response.raw[a:b]) for a, b in item.response.names]
    places = [name.raw for name in names if item.new(name)]
    if not asks_for_a_place(item.question.raw) or not places:
        return None
    if not any(reference.is_name for reference in item.references):
        return None
    why = "the question asks for a place, and the two name different ones"
    return Proposal("granularity/spatial", why, ", ".join(places))
