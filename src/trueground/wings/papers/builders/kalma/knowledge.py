"""The knowledge pool of a pair: its facts, as models and people read them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256

import msgspec

from trueground.text import CitedText, GraphTriple, format_graph
from trueground.types import Graph
from trueground.wings.papers.builders.kalma.items import Fact, LinkedPair, read_words
from trueground.wings.papers.kalma.source import TRIVIAL

# As Wikidata calls what catalogs and websites know it by.
_ID = re.compile(
    r"\b(?:IDs?|identifiers?|username|hashtag|ISNI|VIAF|ORCID|GND|LCCN|OCLC|DOI|ISBN(?:-1[03])?|ISSN"
    r"|IPI name number)\Z",
    re.IGNORECASE,
)
# Of the web, or of a page of Wikipedia's that is no article.
_ADDRESS = re.compile(
    r"(?:https?|ftp)://\S+\Z|(?:Category|Template|Portal|File|Module|Wikipedia):\S", re.IGNORECASE
)
# Of two graphs, by their hash: the facts that nobody can cite, most often none.
_known_odd: dict[bytes, frozenset[Fact]] = {}
_MOST_KNOWN = 20_000


def skipped_properties(written: str) -> frozenset[str]:
    """The plain names of properties that nobody cites, as --skip-properties writes them."""
    if written == "trivial":
        return TRIVIAL | read_words("housekeeping")[""]
    named = [] if written == "none" else [one for one in written.split(",") if one.strip()]
    return frozenset({"name", *map(GraphTriple.plain_property, named)})


def pool(item: LinkedPair, skipped: Collection[str]) -> list[Fact]:
    """Every triple that says something: no names, no skipped properties, no ids and addresses.

    One that no reader of citations would read back as it is (odd brackets in it) is left out too.
    """
    found: dict[tuple[str, str, str], Fact] = {}
    for graph in item.graphs:
        for qid, name, value in GraphTriple.of_graph(graph):
            address = _ID.search(name) is not None or _ADDRESS.match(value.strip()) is not None
            if GraphTriple.plain_property(name) not in skipped and not address:
                fact = (qid, " ".join(name.split()), " ".join(value.split()))
                found.setdefault(GraphTriple(*fact).key, fact)
    facts = [*found.values()]
    # Every round asks, and reading takes long.
    key = sha256(msgspec.json.encode((facts, item.graphs))).digest()
    if key not in _known_odd:
        if len(_known_odd) >= _MOST_KNOWN:
            _known_odd.clear()
        _known_odd[key] = frozenset(facts) - frozenset(_citable(facts, item.graphs))
    return [fact for fact in facts if fact not in _known_odd[key]]


def _citable(facts: Sequence[Fact], graphs: Sequence[Graph]) -> Iterator[Fact]:
    """Those that are read back as they are.

    All are read as one text, since laying out the graphs costs more than reading; a group that is
    not read back whole, as an odd bracket may swallow its neighbors, is halved.
    """
    said = " ".join(f"It says so {GraphTriple(*fact).citation}." for fact in facts)
    read = [
        [c.triple.key for c in sentence.citations]
        for sentence in CitedText(said, graphs).triple_sentences()
    ]
    if read == [[GraphTriple(*fact).key] for fact in facts]:
        yield from facts
    elif len(facts) > 1:
        middle = len(facts) // 2
        yield from _citable(facts[:middle], graphs)
        yield from _citable(facts[middle:], graphs)


def format_knowledge(facts: Sequence[Fact], item: LinkedPair) -> str:
    """The facts as models are shown them, one entity a line, with its name."""
    lines = []
    for graph in item.graphs:
        own: dict[str, list[str]] = {}
        for qid, name, value in facts:
            if qid == graph["qid"]:
                own.setdefault(name, []).append(value)
        if own:
            lines.append(format_graph({"qid": graph["qid"], "name": name_of(graph), **own}))
    return "\n".join(lines)


def name_of(graph: Graph) -> str:
    """What an entity is called."""
    return " ".join(str(graph.get("name") or graph["qid"]).split())


def name_by_id(item: LinkedPair) -> dict[str, str]:
    """The names of both entities."""
    return {str(graph["qid"]): name_of(graph) for graph in item.graphs}


def format_fact(fact: Fact, item: LinkedPair) -> str:
    """`Anna Ruck: place of birth: Korvik`, for people and judges."""
    qid, name, value = fact
    return f"{name_by_id(item)[qid]}: {name}: {value}"
