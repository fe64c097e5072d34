"""Which edges of a graph say the relation of a source's triple."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trueground.builders.kalma.wording import read_json_object, relation_words
from trueground.errors import UsageError
from trueground.graph.folding import name_key

_EXPECTED = '{"relation": ["property of the graph", …], …}'


@dataclass(frozen=True)
class Relations:
    """`known` has the properties that a relation may be called by, folded, by the folded relation.

    With `any_edge` every property says every relation.
    """

    known: Mapping[str, Sequence[str]] = field(default_factory=dict)
    any_edge: bool = False

    def align(self, relation: str, name: str) -> bool:
        """Whether a property of this name says the relation: they are equal, or it is mapped."""
        if self.any_edge:
            return True
        asked, found = folded(relation), folded(name)
        return found == asked or found in self.known.get(asked, ())


def folded(relation: str) -> str:
    """Equal for `place of birth`, `Place_of_birth` and `placeOfBirth`."""
    return name_key(" ".join(relation_words(relation)))


def read_relations(path: Path | None, any_edge: bool) -> Relations:
    """The user's map of relations to properties. InputError, UsageError."""
    if path is None:
        return Relations(any_edge=any_edge)
    known = {}
    for relation, names in read_json_object(path, "the map of relations", _EXPECTED).items():
        several = [names] if isinstance(names, str) else names
        if not isinstance(several, list) or not all(
            isinstance(name, str) and name.strip() for name in several
        ):
            raise UsageError(
                f"the map of relations {path}, {relation!r}: expected names of properties, as in "
                f"{_EXPECTED}"
            )
        known[folded(relation)] = tuple(folded(name) for name in several)
    return Relations(known, any_edge)
