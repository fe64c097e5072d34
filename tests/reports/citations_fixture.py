"""Answers that cite a small graph of made-up people, scored for real."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import trueground as tg

MARKUP = '"><img src=x onerror=hit()>, 2nd: edition'
ADA = {
    "qid": "Q71",
    "name": "Ada Quill",
    "place of birth": "Port Selby",
    "occupation": ["glassblower", "cartographer"],
    "date of birth": "4 May 1871",
    "notable works": "Tides, Drawn by Hand: an Atlas of the Northern Coast, with 40 Plates",
    "award received": "Selby Medal",
}
BRAM = {"qid": "Q72", "name": "Bram Quill", "sibling": "Ada Quill", "employer": MARKUP}
MANY = {
    "qid": "Q73",
    "name": "Coral Adeyemi-Featherstonehaugh of the Lower Eastern Marches",
    **{f"property number {k}": f"value {k}, " + "rather long " * (k % 9) for k in range(1, 39)},
}


def citing(id_: str, response: str, graphs: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A record about who somebody was."""
    return {"id": id_, "question": f"Who was {graphs[0]['name']}?", "response": response,
            "knowledge": graphs, **more}  # fmt: skip


def answers() -> list[dict[str, Any]]:
    """Right, wrong and superfluous citations, [NA], many values, markup, decomposed characters."""
    decomposed = unicodedata.normalize("NFD", "Café Müller was hers. ")
    return [
        citing(
            "ada",
            "Ada Quill came from Port Selby [Q71, place of birth: Port Selby]. "
            "She blew glass and drew maps [Q71, occupation: cartographer, occupation: painter]. "
            "How she died is not known [NA]. "
            "Her brother worked elsewhere [Q72, sibling: Ada Quill]. She was famous.",
            [ADA, BRAM],
            gold_knowledge=[
                ["Q71", "place of birth", "Port Selby"],
                ["Q71", "notable works", ADA["notable works"]],
                ["Q71", "occupation", "cartographer"],
                ["Q71", "cause of death", "drowning"],
            ],
            absent_knowledge=[["Q71", "cause of death", "drowning"]],
        ),
        citing(
            "many",
            "Much is known [Q73, property number 3: value 3, rather long rather long rather long]. "
            "And more [Q73, property_number 9: value 9,].",
            [MANY],
            gold_knowledge=[["Q73", "property number 20", "value 20, rather long rather long"]],
        ),
        citing(
            "nfd",
            decomposed + "She won a medal [Q71, award received: Selby Medal].",
            [ADA],
        ),
        citing("markup", f"He worked [Q72, employer: {MARKUP}]. Nothing [Q72].", [BRAM]),
        citing("silent", "Nothing at all is cited here.", [ADA]),
    ]  # fmt: skip


def invented() -> list[dict[str, Any]]:
    """One citation of two is in the minimum set, yet in no given graph."""
    gold = [["Q71", "place of birth", "Port Selby"], ["Q71", "cause of death", "drowning"]]
    told = (
        "She came from Selby [Q71, place of birth: Port Selby]. "
        "She drowned [Q71, cause of death: drowning]."
    )
    return [citing("invented", told, [ADA], gold_knowledge=gold)]


def citation_run(folder: Path, records: list[dict[str, Any]] | None = None, **options: Any) -> Path:
    """The run directory of these answers."""
    tg.score(records or answers(), judge="lexical", out=folder, **options)
    return folder


def numbered_answers() -> list[dict[str, Any]]:
    """Sentences that cite passages by number: sufficient, superfluous, missing, none."""
    passages = [
        {"title": "Lighthouse", "text": "The lighthouse of Selby was built in 1822."},
        {"title": "Harbour", "text": "Herring boats lie in the harbour of Selby."},
    ]
    return [
        {
            "id": "numbers",
            "question": "What is there in Selby?",
            "contexts": passages,
            "response": "The lighthouse was built in 1822 [1, 2]. Herring boats lie there. [2][7] "
            "The church has two towers [2]. It rains.",
        }
    ]
