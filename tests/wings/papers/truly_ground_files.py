"""A small invented data set in the layout of Truly-Ground: two versions, factors, a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Entry = dict[str, Any]

# Where the published files lie beside a working copy; tests that need them say so when they skip.
SHARED = Path(__file__).parents[4] / "shared" / "data" / "truly-ground"
NEEDS_SHARED = "the published Truly-Ground files are not here"


def url(title: str) -> str:
    return f"https://example.org/{title.replace(' ', '_')}"


def context(title: str, text: str, gap: str = "\n\n") -> str:
    return f"Title: {title} [{url(title)}]{gap}{text}"


VARN = "The lighthouse of Varn was built by Ede Holm in 1871. It is 40 metres tall."
TARN = "Lake Tarn lies in Oster. {Boats} on it are blue."
ORLA = "Orla Brandt owned four boats on the lake. She sold one of them."
MILL = "The mill of Ulmen grinds oats and rye. It stands on the river Sill."
ORIGINAL: dict[str, Entry] = {
    "Q10": {
        "qText": "How many boats did Orla Brandt own, and in which country is their lake?",
        "answer": "four & Oster \\n four | 4",
        "atomic_texts": ["Orla Brandt owned four boats.", "Lake Tarn lies in Oster."],
        "context_list": [context("Orla Brandt", ORLA), context("Lake Tarn", TARN)],
    },
    "Q2": {
        "qText": "Who built the lighthouse of Varn?",
        "answer": "Ede Holm | Holm",
        "atomic_texts": ["Ede Holm built the lighthouse of Varn.", "  ", "It was built in 1871"],
        "context_list": [context("Varn", VARN)],
    },
    "Q3": {
        "qText": "\x08 Describe the mill of Ulmen. ",
        "answer": "",
        "atomic_texts": ["The mill grinds oats.", "The mill grinds rye."],
        "context_list": [context("Ulmen", MILL, "\n")],
    },
}
REVISED: dict[str, Entry] = {
    "Q2": {
        **ORIGINAL["Q2"],
        "answer": "Una Falk",
        "atomic_texts": ["Una Falk built the lighthouse of Varn.", "It was built in 1871."],
        "context_list": [context("Varn", VARN.replace("Ede Holm", "Una Falk"), "\n")],
    },
    "Q3": {
        **ORIGINAL["Q3"],
        "atomic_texts": ["The mill grinds barley."],
        # No title line: its page is known from the original version only.
        "context_list": [MILL.replace("oats and rye", "barley")],
    },
    "Q10": {
        **ORIGINAL["Q10"],
        "answer": "six & Oster\nsix | 6",
        "context_list": [context("Orla Brandt", ORLA.replace("four", "six"), "\n"), TARN],
    },
}
META: dict[str, Entry] = {
    "Q2": {"has_answer": True, "has_multi": False, "pop": "high"},
    "Q3": {"has_answer": False, "has_multi": False, "pop": "low"},
    "Q10": {"has_answer": True, "has_multi": True, "pop": "low"},
}
CORPUS: list[tuple[str, str]] = [
    ("Varn", VARN),
    ("Varn", "Varn is a town by the sea; its lighthouse stands on a rock."),
    ("Oster", "Oster is a country with many lakes and one lighthouse."),
    ("Ede Holm", "Ede Holm built bridges, and was born in Oster."),
    ("Lake Tarn", TARN),
    ("Lake Brin", "Lake Brin lies in Wester, and Orla Brandt had no boats on that lake."),
    ("Ulmen", MILL),
    ("Ulmen", "Ulmen has a mill, a church and a river."),
    ("Sill", "The river Sill drives the mill of Gran, which grinds barley."),
    ("Gran", "The mill of Gran was the first lighthouse keeper's house."),
    ("Boats of Oster", "Boats in Oster are blue. Many own four of them, some own one."),
    ("Oster", "OSTER is a country with many lakes  and one lighthouse."),  # the same words again
    ("Orla Brandt", ORLA),
    ("Keepers", "A keeper of the lighthouse writes down who built it, and who lit the lamp."),
]
DISTRACTORS: dict[str, Entry] = {
    key: {
        "2k_distractor": [
            context("Oster", CORPUS[2][1]),
            context("Gran", CORPUS[9][1]),
            context("Oster", CORPUS[2][1]),
            context("Keepers", CORPUS[13][1]),
        ],
        "4k_distractor": [context(title, text) for title, text in CORPUS[8:11]],
    }
    for key in META
}
DISTRACTORS["Q2"]["2k_distractor"].append(context("Varn", VARN))


def entries(of: dict[str, Entry]) -> dict[str, Entry]:
    return {key: {"qId": key, **entry} for key, entry in of.items()}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def data_folder(folder: Path, metadata: str = ".") -> Path:
    """The published files; with `metadata` as they lie in the publisher's repository."""
    write(folder / "original_version.json", entries(ORIGINAL))
    write(folder / "revised_version.json", entries(REVISED))
    write(folder / metadata / "qId2metaInfo.json", META)
    texts = {f"L{i}": text for i, (_, text) in enumerate(CORPUS)}
    titles = {f"L{i}": f"Title: {name} [{url(name)}]\n" for i, (name, _) in enumerate(CORPUS)}
    write(folder / metadata / "localDocId2localDocText.json", texts)
    write(folder / metadata / "localDocId2title.json", titles)
    return folder
