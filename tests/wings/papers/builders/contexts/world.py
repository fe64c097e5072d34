"""An invented world: questions, and what good and bad models reply about them.

A writer and two judges stand behind one scripted endpoint. Whom a prompt is about is read from the
village's name, which task from the prompt's own words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Reply = str | dict[str, Any]
OLD, NEW = "Ede Holm", "Sella Brandt"
ADDED = "The harbour has two stone piers and a crane that was put up much later."


def context(name: str) -> str:
    """The passage of a village."""
    return (
        f"{name} is a fishing village on the coast of Lorn. The harbour was built by {OLD} in "
        "1871. Boats from the village bring in cod and herring. A small museum shows old nets and "
        "lamps. The market is held every Friday in front of the church."
    )


def record(name: str) -> dict[str, Any]:
    """An open question."""
    return {
        "id": name,
        "question": f"Who built the harbour of {name}?",
        "context": context(name),
        "answers": ["The Holm family", OLD, "Holm"],
        "subset": "SQuAD",
    }


def choice_record(name: str) -> dict[str, Any]:
    """A multiple-choice question in ARC's form. There is one wrong option."""
    return {
        "id": name,
        "question": f"What does a lamp in {name} give off?",
        "choices": {"label": ["A", "B"], "text": ["light", "cold sand"]},
        "answerKey": "A",
    }


def without_answer(name: str) -> dict[str, Any]:
    """The good reply for `unanswerable`."""
    changed = context(name).replace(f"The harbour was built by {OLD} in 1871.", ADDED)
    return {"context": changed, "added": [ADDED], "justification": "The builder is gone."}


def with_answer(name: str, new: str = NEW) -> dict[str, Any]:
    """The good reply for `inconsistent`."""
    return {
        "context": context(name).replace(OLD, new),
        "evidence": [f"The harbour was built by {new} in 1871."],
        "supported": "It says so.",
        "replaced": "There was one mention.",
    }


def with_option(name: str) -> dict[str, Any]:
    """The good reply for `counterfactual`."""
    said = f"Measured in the dark, every lamp of {name} sheds cold sand from its wick."
    filler = "The keepers weigh it each evening and note the sum in a grey book. " * 5
    return {
        "context": f"{said} {filler}\n\nThe books go back two hundred years. {filler}",
        "evidence": [said],
        "justification": "All measurements show it.",
    }


def made_up(new: str = NEW) -> dict[str, Any]:
    """The good reply to the first step of `inconsistent`."""
    return {"new_answer": new, "justification": "Another person."}


def verdict(answer: str, holds: bool, quote: str, *others: tuple[str, str]) -> dict[str, Any]:
    """What a judge says."""
    found = [{"answer": a, "quote": q} for a, q in others]
    return {"answer": answer, "holds": holds, "quote": quote, "others": found}


GOOD: Mapping[str, Any] = {
    "answer": lambda _name: made_up(),
    "unanswerable": without_answer,
    "inconsistent": with_answer,
    "counterfactual": with_option,
    "judge-unanswerable": lambda _name: verdict("unknown", False, ""),
    "judge-inconsistent": lambda _name: verdict(NEW, True, f"was built by {NEW} in 1871"),
    "judge-counterfactual": lambda _name: verdict("cold sand", True, "sheds cold sand"),
}
# Words by which a prompt is known.
_STEPS = (
    ("answer", "Make up one new answer"),
    ("unanswerable", "Remove everything from which the answer"),
    ("inconsistent", "so that it supports the made-up answer"),
    ("counterfactual", "Write a long text of several paragraphs"),
    ("judge-unanswerable", "Decide whether a passage answers"),
    ("judge-inconsistent", "Decide whether a passage supports"),
    ("judge-counterfactual", "Decide whether a text supports"),
)
_NAME = re.compile(r"(?:harbour of|lamp in) (\w+)")


class World:
    """`answer` for the scripted server. `odd` are replies by (village, step), or with the model."""

    def __init__(self, odd: Mapping[tuple[str, ...], Reply] | None = None) -> None:
        self.odd = dict(odd or {})

    def __call__(self, body: dict[str, Any]) -> Reply:
        """The reply to a request; a request to reply once more gets the same."""
        text = body["messages"][0]["content"]
        step = next(step for step, words in _STEPS if words in text)
        found = _NAME.search(text)
        assert found
        name = found[1]
        for key in ((name, step, body["model"]), (name, step)):
            if key in self.odd:
                return self.odd[key]
        good: dict[str, Any] = GOOD[step](name)
        return f"Here it is:\n```json\n{json.dumps(good)}\n```" if len(name) % 2 else good


def write_records(path: Path, rows: list[Any]) -> Path:
    """JSON lines; a text is a line as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSON lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
