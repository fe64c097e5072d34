"""What every reader of graph files is told, and what it tells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from trueground.errors import UsageError, unknown_name
from trueground.graph.sparql.terms import is_language

FORMATS = ("rdf", "wikidata-rdf", "wikidata-json", "kalma", "graphs", "csv")
_CLASS = re.compile(r"Q[1-9]\d{0,17}")
_EXAMPLES = 5


@dataclass(frozen=True)
class Loading:
    """How files are read.

    `lang` is the language of names taken from Wikidata dumps; a thing without a name in it is
    called as its `mul` or English label says. `classes` (ids such as "Q5") keep the entities of a
    Wikidata dump that are direct instances of one of them; none keep all. `format` is one of
    FORMATS, None finds it out. `identifiers` keeps values that only computers use: external ids,
    web addresses, names of media files. UsageError: a value that cannot be meant.
    """

    lang: str = "en"
    classes: tuple[str, ...] = ()
    format: str | None = None
    identifiers: bool = False

    def __post_init__(self) -> None:
        if not is_language(self.lang):
            raise UsageError(f"language {self.lang!r}; expected a tag such as 'en' or 'pt-br'")
        # Tags have no case (BCP 47); stores and Wikidata write them small.
        object.__setattr__(self, "lang", self.lang.lower())
        for one in self.classes:
            if not _CLASS.fullmatch(one):
                raise UsageError(
                    f"class {one!r}; expected the id of a Wikidata class, such as 'Q5' for humans"
                )
        if self.format is not None and self.format not in FORMATS:
            raise unknown_name("graph format", self.format, FORMATS)


@dataclass
class LoadCounts:
    """What came of loading.

    `triples` were handed to the store, repeated ones included; `entities` have a graph of their
    own (0 for plain RDF, where nobody says what an entity is). `left_out` counts by reason what the
    file holds and the store does not; `examples` are the places of the first odd ones, and what is
    odd there.
    """

    format: str = ""
    triples: int = 0
    entities: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)

    def leave(self, reason: str, place: str | None = None, why: str = "") -> None:
        """Count something that is left out; for the first few the `place` and `why` are kept."""
        self.left_out[reason] = self.left_out.get(reason, 0) + 1
        if place is not None and len(self.examples) < _EXAMPLES:
            self.examples.append(f"{place}: {reason}{f' ({why})' if why else ''}")
