"""How names of properties, classes and values stand in a one-hop subgraph, whatever holds it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trueground.graph.base import PropertyValue, id_order
from trueground.graph.rdf import UNKNOWN, property_name

_TAKEN = ("qid", "name")  # what a graph of a record calls other things


def called(predicate: str, labels: Iterable[str | None]) -> str:
    """The name of a property: its first label, else its address' end; never "qid" or "name"."""
    own = property_name(predicate)
    name = next((label for label in labels if label), own)
    return f"{name} ({own if own != name else predicate})" if name in _TAKEN else name


def called_classes(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Names and ids of classes, by id; each pair is an id and a name, one of which may be ""."""
    ordered = sorted(set(pairs), key=lambda pair: (id_order(pair[0]), pair[1]))
    both = (text for qid, name in ordered for text in (name, qid))
    return tuple(dict.fromkeys(text for text in both if text.strip() and UNKNOWN not in text))


def in_order(values: Collection[PropertyValue]) -> tuple[PropertyValue, ...]:
    """The values of a property, each once, by their texts."""
    return tuple(values) if len(values) == 1 else tuple(sorted(set(values), key=_place))


def _place(value: PropertyValue) -> tuple[str, str, str]:
    return value.text, value.id or "", value.kind
