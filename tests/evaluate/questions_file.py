"""A made-up FaithEval file of any length, for runs against a local endpoint."""

from __future__ import annotations

import json
from pathlib import Path

DATASETS = ("SQuAD", "NewsQA", "TriviaQA", "BioASQ", "DROP")


def write_questions(path: Path, n: int) -> Path:
    """n unanswerable questions, each with its number in it."""
    with path.open("w") as out:
        for i in range(n):
            row = {
                "qid": f"q{i}",
                "question": f"Who built tower [{i}]?",
                "context": f"Tower [{i}] is {i + 10} metres tall.",
                "answers": ["unknown"],
                "subset": DATASETS[i % len(DATASETS)],
            }
            out.write(json.dumps(row) + "\n")
    return path


def number(text: str) -> int:
    """The number of the question in a prompt."""
    return int(text.rpartition("[")[2].partition("]")[0])


def answer(text: str) -> str:
    """A reply that depends on the question only: right for two questions of three."""
    i = number(text)
    return f"Bob built {i}." if i % 3 == 0 else "unknown"
