"""A small made-up world as a corpus, whose gold passages, strangers and chains are known.

Every town, founder, river and mountain has one passage of its own. Questions ask for what stands in
one of them, or in two: of a town's founder, and of the river that a town lies on.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

Row = dict[str, Any]


def _names(first: str, second: str) -> list[str]:
    return ["".join(pair) for pair in product(first.split(), second.split())]


TOWNS = _names("Var Bel Tor Nim Sol Hed Qua Rin Gol Mer", "dor lin mouth stad wick holm gate bury")
_FAMILIES = ("Trask", "Ombley", "Quill", "Sarro", "Fenwright", "Dask", "Ullman", "Prewitt", "Zoll")
_FIRST = ("Ada", "Boris", "Celia", "Dimas", "Edda", "Falk", "Gerda", "Hugo", "Ines")
PEOPLE = [f"{first} {last}" for last, first in product(_FAMILIES, _FIRST)][:80]
RIVERS = _names("Aes Bru Cor Dwi Eth Fal", "sel ven tha rick mol nock")
PEAKS = _names("Kar Lum Oss Pyr", "ven dark thal gor mund")
CRAFTS = ("weaver", "glassblower", "surveyor", "apothecary", "cooper", "bookbinder", "ferryman")
CHEESES = _names("Om Ul Za", "bert vane rill do")


def founder(town: int) -> int:
    return (town * 7 + 3) % len(PEOPLE)


def river(town: int) -> int:
    return town % len(RIVERS)


def craft(person: int) -> str:
    return CRAFTS[person % len(CRAFTS)]


def length(number: int) -> int:
    return 40 + 13 * number


def passages() -> list[Row]:
    """Rows of id, title and text; 80 towns, 80 people, 36 rivers, 20 peaks, 12 cheeses."""
    rows: list[tuple[str, str]] = []
    for i, town in enumerate(TOWNS):
        rows.append(
            (
                town,
                f"{town} is a market town on the river {RIVERS[river(i)]}. It was founded in "
                f"{1100 + 3 * i} by {PEOPLE[founder(i)]}, and its old harbour is still in use.",
            )
        )
    for i, person in enumerate(PEOPLE):
        rows.append(
            (
                person,
                f"{person} was a {craft(i)} from the hills, and lived to the age of {50 + i % 40}. "
                "Many letters of that time survive.",
            )
        )
    for i, name in enumerate(RIVERS):
        peak = PEAKS[i % len(PEAKS)]
        rows.append(
            (name, f"The {name} is a river that rises on {peak}. It is {length(i)} km long.")
        )
    for i, name in enumerate(PEAKS):
        rows.append((name, f"{name} is a mountain with a height of {900 + 57 * i} metres."))
    for i, name in enumerate(CHEESES):
        rows.append((name, f"{name} is a hard cheese that ripens for {3 + i} months in caves."))
    return [{"id": f"p{i}", "title": title, "text": text} for i, (title, text) in enumerate(rows)]


PASSAGES = passages()
TEXT = {row["title"]: row["text"] for row in PASSAGES}
ID = {row["title"]: row["id"] for row in PASSAGES}


def single(town: int) -> Row:
    """Who founded it? The town's own passage says so."""
    return {
        "id": f"s{town}",
        "question": f"Who founded the town of {TOWNS[town]}?",
        "references": [PEOPLE[founder(town)]],
        "gold": [ID[TOWNS[town]]],
        "meta": {"hops": 1},
    }


def chain(town: int) -> Row:
    """How long is the river that it lies on? Two passages, by their titles."""
    name = RIVERS[river(town)]
    return {
        "id": f"c{town}",
        "question": f"How long is the {name}, the river on which {TOWNS[town]} lies?",
        "references": [f"{length(river(town))} km", f"{length(river(town))} kilometres"],
        "gold": [TOWNS[town], name],
        "meta": {"hops": 2},
    }


def talk(town: int) -> Row:
    """The second question of a conversation; nothing but the history names the person."""
    person = PEOPLE[founder(town)]
    return {
        "id": f"t{town}",
        "question": "What was this person's craft?",
        "history": [f"Who founded the town of {TOWNS[town]}?", person],
        "references": [craft(founder(town))],
        "gold": person,
        "group": f"talk {town}",
    }


QUESTIONS: list[Row] = [single(0), single(5), single(11), chain(2), chain(9), talk(4), talk(17)]


def world(folder: Path) -> tuple[Path, Path]:
    """(questions.jsonl, corpus.jsonl) in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    return (
        jsonl(folder / "questions.jsonl", QUESTIONS),
        jsonl(folder / "corpus.jsonl", PASSAGES),
    )


def documents(folder: Path) -> Path:
    """The towns and rivers as a user's own files, one a page."""
    folder.mkdir(parents=True)
    for name in (*TOWNS, *RIVERS):
        (folder / f"{name}.md").write_text(f"# {name}\n\n{TEXT[name]}\n", encoding="utf-8")
    return folder


def jsonl(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def parquet(path: Path, rows: list[Row]) -> Path:
    pl.DataFrame(rows).write_parquet(path)
    return path


# The three datasets in their publishers' layouts and in the Hub's.

NQ: list[Row] = [
    {"question": f"who founded {TOWNS[i].lower()}", "answer": [PEOPLE[founder(i)], "the weavers"]}
    for i in (0, 1, 2)
]
NQ_GOLD = {
    "data": [
        {
            "question": f"Who founded {TOWNS[i].lower()}?",
            "question_tokens": "…",
            "title": TOWNS[i],
            "short_answers": [PEOPLE[founder(i)]],
            "doc_url": "https://example.org",
            "example_id": 10 + i,
            "context": TEXT[TOWNS[i]],
        }
        for i in (0, 1)
    ]
}


def hotpot(town: int, publisher: bool, fullwiki: bool = False) -> Row:
    """One question; in the `fullwiki` version the second gold paragraph is not among them."""
    asked = chain(town)
    name = RIVERS[river(town)]
    titles = [CHEESES[0], TOWNS[town], CHEESES[1]] + [] * fullwiki + [name] * (not fullwiki)
    sentences = [[f"{part}." for part in TEXT[t].rstrip(".").split(". ")] for t in titles]
    sentences = [[s if i == 0 else f" {s}" for i, s in enumerate(one)] for one in sentences]
    facts = [(TOWNS[town], 0), (name, 1), (name, 0)]
    common = {"question": asked["question"], "answer": asked["references"][0]}
    common |= {"type": "bridge" if town % 2 else "comparison", "level": "hard"}
    if publisher:
        return {
            "_id": f"hp{town}",
            **common,
            "supporting_facts": [list(fact) for fact in facts],
            "context": [list(pair) for pair in zip(titles, sentences, strict=True)],
        }
    return {
        "id": f"hp{town}",
        **common,
        "supporting_facts": {
            "title": [title for title, _ in facts],
            "sent_id": [sentence for _, sentence in facts],
        },
        "context": {"title": titles, "sentences": sentences},
    }


def topiocqa(publisher: bool) -> list[Row]:
    """Two conversations: one of a single turn, and one of two."""
    rows = []
    for number, turns in ((1, 1), (2, 2)):
        town = 20 + number
        person = PEOPLE[founder(town)]
        asked = [f"who founded the town of {TOWNS[town]}?", "What was this person’s craft?"]
        answers, golds = [person, craft(founder(town))], [TOWNS[town], person]
        for turn in range(turns):
            said = [text for pair in zip(asked, answers, strict=True) for text in pair][: 2 * turn]
            more = [{"Answer": answers[turn].upper(), "Topic": golds[turn]}]
            row = {
                "Conversation_no": number,
                "Turn_no": turn + 1,
                "Question": asked[turn],
                "Answer": answers[turn],
                "Topic": golds[turn],
                "Topic_section": "Introduction",
                "Rationale": TEXT[golds[turn]],
                "is_nq": False,
                "Context": said,
                "Additional_answers": more,
                "Gold_passage": {
                    "id": f"wiki:{ID[golds[turn]]}",
                    "title": f"{golds[turn]} [SEP] Introduction",
                    "text": TEXT[golds[turn]],
                },
            }
            if not publisher:
                row["Additional_answers"] = {
                    key: [one[key] for one in more] for key in ("Answer", "Topic")
                }
            rows.append(row)
    return rows
