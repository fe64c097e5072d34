"""Invented people in a graph, pairs of their names with a paragraph, and a writer for them.

Two women are called Anna Harrow: Q11 is the wife of Tobias Quill (Q10), Q12 an actress.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

PREFIXES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
_PROPERTIES = {
    "P31": "instance of",
    "P26": "spouse",
    "P22": "father",
    "P40": "child",
    "P19": "place of birth",
    "P106": "occupation",
    "P569": "date of birth",
    "P800": "notable work",
    "P737": "influenced by",
    "P463": "member of",
}
_NAMES = {
    "Q5": "human",
    "Q10": "Tobias Quill",
    "Q11": "Anna Harrow",
    "Q12": "Anna Harrow",
    "Q13": "Bo Lark",
    "Q14": "Mira Quill",
    "Q20": "Inkford",
    "Q21": "poet",
    "Q22": "actress",
    "Q23": "The Salt Road",
    "Q24": "Guild of Lanterns",
    "Q25": "glassblower",
}
_SAID = """
wd:Q10 wdt:P31 wd:Q5 ; wdt:P26 wd:Q11 ; wdt:P40 wd:Q14 ; wdt:P19 wd:Q20 ; wdt:P106 wd:Q21 ;
  wdt:P800 wd:Q23 ; wdt:P569 "1661-03-09"^^xsd:date .
wd:Q11 wdt:P31 wd:Q5 ; wdt:P26 wd:Q10 ; wdt:P106 wd:Q25 ; wdt:P463 wd:Q24 ; wdt:P40 wd:Q14 .
wd:Q12 wdt:P31 wd:Q5 ; wdt:P26 wd:Q13 ; wdt:P106 wd:Q22 .
wd:Q13 wdt:P31 wd:Q5 ; wdt:P26 wd:Q12 ; wdt:P106 wd:Q21 ; wdt:P737 wd:Q10 .
wd:Q14 wdt:P31 wd:Q5 ; wdt:P22 wd:Q10 ; wdt:P106 wd:Q21 .
"""


def turtle() -> str:
    """The graph."""
    lines = [PREFIXES, _SAID]
    for pid, label in _PROPERTIES.items():
        lines.append(
            f'wd:{pid} a wikibase:Property ; rdfs:label "{label}"@en ; '
            f"wikibase:directClaim wdt:{pid} ; wikibase:propertyType wikibase:WikibaseItem ."
        )
    lines += [f'wd:{qid} rdfs:label "{name}"@en .' for qid, name in _NAMES.items()]
    return "\n".join(lines)


def graph_file(folder: Path) -> Path:
    """The graph as a file of triples."""
    path = folder / "people.ttl"
    path.write_text(turtle(), encoding="utf-8")
    return path


GOOD = [
    {
        "id": "quill",
        "paragraph": "Tobias Quill, a poet from Inkford, married Anna Harrow in spring.",
        "head": "Tobias Quill",
        "relation": "spouse",
        "tail": "Anna Harrow",
    },
    {
        "id": "lark",
        "paragraph": "The poet Bo Lark shared his house with the actress Anna Harrow, his wife.",
        "head": "Bo Lark",
        "relation": "spouse",
        "tail": "Anna Harrow",
    },
    {
        "id": "mira",
        "paragraph": "Mira Quill learned to write from her father, the poet Tobias Quill.",
        "head": "Mira Quill",
        "relation": "father",
        "tail": "Tobias Quill",
    },
]
# Words of the paragraphs behind which a fact is cited, by id of the item.
ANNOTATED = {
    "Tobias Quill, a poet": "Tobias Quill, a poet [Q10, occupation: poet] from Inkford [Q10, "
    "place of birth: Inkford], married Anna Harrow [Q10, spouse: Anna Harrow] in spring.",
    "The poet Bo Lark": "The poet Bo Lark [Q13, occupation: poet] shared his house with the "
    "actress Anna Harrow [qid: Q12, name: Anna Harrow, occupation: actress], his wife.",
    "Mira Quill learned": "Mira Quill learned to write from her father, the poet Tobias Quill "
    "[Q14, father: Tobias Quill] [Q10, occupation: poet].",
}
NAMES = {"Q10": "Tobias Quill", "Q11": "Anna Harrow", "Q12": "Anna Harrow", "Q13": "Bo Lark"}
NAMES["Q14"] = "Mira Quill"
_BLOCK = r"=== BEGIN {} \w+ ===\n(.*?)\n=== END"


def part(text: str, name: str) -> str:
    """What stands between the marked lines of that name."""
    found = re.search(_BLOCK.format(name), text, re.DOTALL)
    assert found, text
    return found[1]


def kind_of(text: str) -> str:
    """Which prompt a text is: annotate, extend, said, general, specific or judge."""
    for words, kind in (
        ("BEGIN QUESTION", "judge"),
        ("BEGIN SENTENCES", "said"),
        ("BEGIN CITATION", "extend"),
        ("BEGIN KNOWLEDGE", "annotate"),
        ("a general one", "general"),
        ("a specific one", "specific"),
    ):
        if words in text:
            return kind
    raise AssertionError(text)


def good_reply(text: str) -> dict[str, Any]:
    """What a good writer, or judge, replies to a prompt."""
    kind = kind_of(text)
    if kind == "judge":
        return {"reason": "It fits.", "authentic": "yes", "needed": [1, 2]}
    if kind == "said":
        count = part(text, "SENTENCES").count("] fact: ")
        return {"reason": "All do.", "said": [*range(1, count + 1)]}
    paragraph = part(text, "PARAGRAPH")
    if kind == "annotate":
        start = next(one for one in ANNOTATED if paragraph.startswith(one))
        return {"paragraph": ANNOTATED[start]}
    if kind == "extend":
        cited = part(text, "CITATION")
        qid, _, said = cited.strip("[]").partition(", ")
        name, _, value = said.partition(": ")
        return {"paragraph": f"{paragraph} Of {NAMES[qid]} the {name} is {value} {cited}."}
    who = min((n for n in NAMES.values() if n in paragraph), key=paragraph.index)
    other = "who was it, and " if kind == "specific" else ""
    return {"question": f"What is known of {who}, {other}what else is told of {len(paragraph)}?"}


def bad_rows() -> list[Any]:
    """Rows that fall, by what they are."""
    good = GOOD[0]
    return [
        {**good, "id": "blank", "paragraph": "  "},
        {**good, "id": "binary", "paragraph": "Tobias\u0007 Quill"},
        {**good, "id": "enormous", "paragraph": "Quill " * 2_000},
        {**good, "id": "first-name", "tail": "Anna"},
        {**good, "id": "missing", "relation": None},
        {**good, "id": "itself", "tail": "tobias quill"},
        {**good, "id": "again"},
        {**good, "paragraph": "Another paragraph."},
        {**good, "id": "cited", "paragraph": "Tobias Quill [Q10, occupation: poet] wrote."},
    ]


def pairs_file(folder: Path, rows: list[Any]) -> Path:
    """The rows as a file."""
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
