"""A small invented data set in the layout of KaLMA: two files of questions, minimum sets, a rule.

`rule` is an endpoint's answer: it cites the first facts that it was shown, and says [NA] once.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

# Where the published files lie beside a working copy; tests that need them say so when they skip.
SHARED = Path(__file__).parents[4] / "shared" / "data" / "kalma"
NEEDS_SHARED = "the published KaLMA files are not here"

ORLA: dict[str, Any] = {
    "qid": "Q101",
    "name": "Orla Venn",
    "instance of": "human",
    "sex or gender": "female",
    "place of birth": "Tarnby",
    "occupation": ["botanist", "illustrator"],
    "notable works": "Moss, Fern: A Year in the Fens",
    "father": "Ivar Venn",
    "date_of_birth": "1834-05-02",
}
IVAR: dict[str, Any] = {
    "qid": "Q102",
    "name": "Ivar Venn",
    "instance of": "human",
    "occupation": "miller",
    "place of death": "Tarnby",
    "date_of_death": "",
}
EDDA: dict[str, Any] = {
    "qid": "Q103",
    "name": "Edda Holt",
    "instance of": "human",
    "occupation": "astronomer",
    "alma mater": "Oster University",
    "award received": "Silver Lens",
}
PIM: dict[str, Any] = {
    "qid": "Q104",
    "name": "Pim Aster",
    "instance of": "human",
    "occupation": "cellist",
    "spouse": "Edda Holt",
}
SPECIFIC: list[list[Any]] = [
    ["What did Orla Venn draw, and what was the trade of her father Ivar Venn?", [ORLA, IVAR]],
    ["What did Edda Holt study, and where?", [EDDA]],
    ["Who was the nameless one?", []],
    [" which instrument did Pim Aster play?", [PIM]],
]
GENERAL: list[list[Any]] = [
    ["question: Who was Orla Venn?", [ORLA, IVAR]],
    ["question: Who was this scholar?", [EDDA]],
    ["Who is unknown?", []],
    ["question: Who was this player?", [PIM]],
]
MINIMUM: list[list[Any]] = [
    [
        SPECIFIC[0][0],
        [
            ["Q101", "occupation", "illustrator"],
            ["Q101", "religion", "none that is known"],
            ["Q102", "occupation", "miller"],
            ["Q101", "notable works", "Moss, Fern: A Year in the Fens"],
        ],
    ],
    [SPECIFIC[1][0], [["Q103", "alma mater", "Oster University"]]],
    [SPECIFIC[3][0], [["Q104", "occupation", "cellist"], ["Q104", "spouse", "Edda Holt"]]],
]
_LINE = re.compile(r"^\{qid: (Q\d+), name: ([^,]+), (.+)\}$", re.MULTILINE)


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def data_folder(folder: Path) -> Path:
    """Both published files, and minimum.json."""
    write(folder / "dataset" / "complex_question_graph.json", SPECIFIC)
    write(folder / "dataset" / "simple_question_graph.json", GENERAL)
    write(folder / "minimum.json", MINIMUM)
    return folder


def shown_graphs(prompt: str) -> list[tuple[str, str, list[str]]]:
    """(qid, name, `property: value` …) of every entity in a prompt; values have no comma then."""
    return [(m[1], m[2], m[3].split(", ")) for m in _LINE.finditer(prompt)]


def rule(prompt: str) -> str:
    """An answer with one citation of each occupation shown, one that is wrong, and one [NA]."""
    said = []
    for qid, name, pairs in shown_graphs(prompt):
        facts = [pair for pair in pairs if pair.startswith("occupation: ")]
        said += [f"{name} was a {fact[12:]} [{qid}, {fact}]." for fact in facts]
    return " ".join([*said, "They kept bees [Q101, hobby: bees].", "He was a miller [NA]."])
