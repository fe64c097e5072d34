"""Which candidates are of the right type."""

from __future__ import annotations

from collections.abc import Sequence

from trueground.graph.base import NamedEntity

# What a label of named-entity recognition says of the entity's class (KaLMA, section 3.1).
LABEL_TYPES = {"PERSON": ("human", "Q5"), "PER": ("human", "Q5")}


def of_types(named: NamedEntity, types: Sequence[str]) -> bool:
    """Whether one of its classes, by name or id, is among `types`; case does not count."""
    wanted = {one.casefold() for one in types}
    return any(own.casefold() in wanted for own in named.types)


def may_be(named: NamedEntity, types: Sequence[str]) -> bool:
    """The same, but what the graph gives no class may be anything."""
    return not types or not named.types or of_types(named, types)
