"""Small invented files in the layouts of FaithEval, MRQA and ARC-Challenge."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl

Row = dict[str, Any]

UNANSWERABLE: list[Row] = [
    {
        "qid": "u1",
        "question": "Who built the lighthouse of Varn?",
        "context": "Varn has a lighthouse. {It} is {question} tall.",
        "answers": ["unknown"],
        "subset": "SQuAD",
    },
    {
        "qid": "u2",
        "question": "How many boats did Orla own?",
        "context": "Orla liked boats.",
        "answers": ["unknown"],
        "subset": "NaturalQuestionsShort",
    },
]
OLD, NEW = "The tiger Rex lives in Tarn.", "The tiger Max lives in Tarn."
INCONSISTENT: list[Row] = [
    {
        "qid": "i1",
        "question": "What is the tiger called?",
        "context": f"Document:\n{NEW}\n\nDocument:\n{OLD}",
        "answers": ["Rex", "Max"],
        "subset": "TriviaQA-web",
    },
    {
        "qid": "i2",
        "question": "Where is the mill?",
        "context": "Document 1: The mill is in Ulm.\n\nDocument 2: The mill is in Bonn.",
        "answers": ["Ulm", "Bonn"],
        "subset": "DROP",
    },
]
COUNTERFACTUAL: list[Row] = [
    {
        "id": "c1",
        "question": "Which of these is wet?",
        "context": "Lately all sand is wet. Dry water flows.",
        "choices": {"label": ["A", "B", "C"], "text": ["water", "sand", "the sun"]},
        "answerKey": "B",
    },
    {
        "id": "c2",
        "question": "What do cows eat?",
        "context": "Cows eat stones that are grey. Some eat cold stones.",
        "choices": {"label": ["1", "2"], "text": ["grass", "cold grey stones"]},
        "answerKey": "2",
    },
    {
        "id": "c3",
        "question": "What shines?",
        "context": "Nobody knows.",
        "choices": {"label": ["A", "B"], "text": ["stars", "mud"]},
        "answerKey": "B",
    },
]
TASKS = {
    "unanswerable": UNANSWERABLE,
    "inconsistent": INCONSISTENT,
    "counterfactual": COUNTERFACTUAL,
}
MRQA: list[Row] = [
    {"header": {"dataset": "Invented", "split": "test"}},
    {
        "context": "Varn has a lighthouse, built by Ede Holm.",
        "qas": [
            {"qid": "u1", "question": UNANSWERABLE[0]["question"], "answers": ["Ede Holm", "Holm"]},
            {"qid": "x", "question": "Not asked?", "answers": ["no"]},
        ],
    },
    {
        "context": "Orla liked boats and owned 4 of them.",
        "qas": [{"id": "u2", "question": UNANSWERABLE[1]["question"], "answers": ["4"]}],
    },
    {
        "context": OLD,
        "qas": [{"qid": "i1", "question": INCONSISTENT[0]["question"], "answers": ["rex", "Rex"]}],
    },
    {
        "context": "The mill is in Ulm.",
        "qas": [{"qid": "i2", "question": INCONSISTENT[1]["question"], "answers": ["Ulm"]}],
    },
]
ARC: list[Row] = [
    {
        "id": row["id"],
        "question": {
            "stem": row["question"],
            "choices": [
                {"text": text, "label": label}
                for label, text in zip(row["choices"]["label"], row["choices"]["text"], strict=True)
            ],
        },
        "answerKey": row["choices"]["label"][0],
    }
    for row in COUNTERFACTUAL
]


def jsonl(path: Path, rows: list[Row]) -> Path:
    """Write JSON lines, packed where the name ends in .gz."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def parquet(path: Path, rows: list[Row]) -> Path:
    """Write Parquet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_parquet(path)
    return path


def data_folder(folder: Path, write: Any = jsonl, ending: str = ".jsonl") -> Path:
    """A folder as three downloaded repositories lie side by side."""
    for task, rows in TASKS.items():
        write(folder / f"FaithEval-{task}-v1.0" / "data" / f"test-00000-of-00001{ending}", rows)
    return folder
