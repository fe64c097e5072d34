"""Rules about lists: in the response, in the reference, or spread over the references."""

from __future__ import annotations

import re

from trueground.studies.errors.item import Item, Proposal
from trueground.studies.errors.questions import asks_for_a_list
from trueground.studies.errors.text import Text

_AND = re.compile(r"\b(?:and|or)\b|[&;]")
_AFTER = len(", and")
_PHRASE = 5  # words of one piece of a list


def enumeration(item: Item) -> Proposal | None:
    """Each reference is one of several right answers, and the response names more than one."""
    if len(item.named) < 2:
        return None
    return Proposal(
        "enumeration_of_references",
        f"the response names {len(item.named)} of {len(item.different)} different references",
        " | ".join(item.named),
    )


def subset(item: Item) -> Proposal | None:
    """The reference is a list, and the response is shorter and names some of it."""
    wants = asks_for_a_list(item.question.raw)
    for reference in item.references:
        parts = reference.items
        joined = bool(_AND.search(reference.raw))
        if len(parts) < (2 if wants and joined else 3) or not (wants or joined or len(parts) > 3):
            continue
        if any(part.values and not part.beside_values for part in parts):
            continue
        if len(item.response.words) >= len(reference.words):
            continue
        found = [part.raw for part in parts if item.response.find(part.words)]
        if 0 < len(found) < len(parts):
            why = f"the reference lists {len(parts)}, of which the response names {len(found)}"
            return Proposal("satisfactory_subset", why, " | ".join(found))
    return None


def names(item: Item) -> Proposal | None:
    """The response lists names of which the references have only some."""
    response, wants = item.response, asks_for_a_list(item.question.raw)
    spans = response.longest_list
    names = [response.raw[a:b] for a, b in spans]
    # Commas alone are between the parts of a place, too.
    joined = spans and _AND.search(response.raw, spans[0][0], spans[-1][1] + _AFTER)
    whole = joined and any(r.words == Text(n).words for r in item.references for n in names)
    if wants and len(names) < 2 and all(len(i.words) <= _PHRASE for i in response.items):
        names = [part.raw for part in response.items]
    if len(names) < (2 if wants else 3) or not (wants or whole):
        return None
    known = {word for reference in item.references for word in reference.words}
    beyond = [name for name in names if not known.issuperset(Text(name).words)]
    if not beyond:
        return None
    why = f"{len(beyond)} of the {len(names)} names that the response lists are in no reference"
    return Proposal("incomplete_reference/list_of_named_entities", why, " | ".join(beyond))
