"""How well linking finds the entities that questions are about (KaLMA, section 5.3)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from trueground.graph.linking.base import LinkedQuestion


class Retrieval(msgspec.Struct, frozen=True):
    """Entities found against gold ones; a share is None where it has no denominator.

    `correct`, `found` and `gold` count entities; precision = correct / found, recall = correct /
    gold, F1 their harmonic mean. The macro values are means over the questions for which anything
    was found (precision) or that have gold entities (recall), and the harmonic mean of the two.
    `exact` counts the questions with just the gold entities, none included.
    """

    questions: int
    correct: int
    found: int
    gold: int
    exact: int
    precision: float | None
    recall: float | None
    f1: float | None
    macro_precision: float | None
    macro_recall: float | None
    macro_f1: float | None


class LinkedQuestions(msgspec.Struct, frozen=True):
    """The questions of a file, as they stand there, with their entities.

    `graph` and `signature` name the graph; `retrieval` is None where the file has no gold ids.
    """

    graph: str
    signature: str
    recognizer: str
    types: tuple[str, ...]
    texts: tuple[str, ...]
    linked: tuple[LinkedQuestion, ...]
    retrieval: Retrieval | None

    def as_dict(self) -> dict[str, Any]:
        """All but the subgraphs, for JSON."""
        links = [
            {
                "question": one.question,
                "found": [
                    {
                        "name": found.name,
                        "start": found.start,
                        "end": found.end,
                        "qid": found.qid,
                        "label": found.entity.name,
                        "matched": found.matched,
                        "candidates": found.candidates,
                    }
                    for found in one.found
                ],
                "unlinked": one.unlinked,
            }
            for one in self.linked
        ]
        return {
            "graph": self.graph,
            "signature": self.signature,
            "recognizer": self.recognizer,
            "types": self.types,
            "links": links,
            "retrieval": None if self.retrieval is None else msgspec.to_builtins(self.retrieval),
        }


def retrieval(
    linked: Sequence[LinkedQuestion], gold: Sequence[Collection[str] | None]
) -> Retrieval:
    """Precision and recall of entities. A question whose gold is None is left out.

    Each question counts an id once. ValueError where the two are not equally many.
    """
    pairs = [
        (set(one.qids), set(wanted))
        for one, wanted in zip(linked, gold, strict=True)
        if wanted is not None
    ]
    correct = sum(len(got & wanted) for got, wanted in pairs)
    found = sum(len(got) for got, _ in pairs)
    wanted_all = sum(len(wanted) for _, wanted in pairs)
    precision, recall = _share(correct, found), _share(correct, wanted_all)
    macro_precision = _mean([len(got & wanted) / len(got) for got, wanted in pairs if got])
    macro_recall = _mean([len(got & wanted) / len(wanted) for got, wanted in pairs if wanted])
    return Retrieval(
        questions=len(pairs),
        correct=correct,
        found=found,
        gold=wanted_all,
        exact=sum(got == wanted for got, wanted in pairs),
        precision=precision,
        recall=recall,
        f1=_harmonic(precision, recall),
        macro_precision=macro_precision,
        macro_recall=macro_recall,
        macro_f1=_harmonic(macro_precision, macro_recall),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _harmonic(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    return 2 * a * b / (a + b) if a + b else 0.0
