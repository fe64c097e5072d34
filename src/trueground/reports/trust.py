"""How far the verdicts of a run are to be trusted, in a sentence: from the best that is known.

That is the labels of some of the answers; else the labelled sets that are most like the run, where
they were judged in just this way; else the labels that the judge was fitted to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from trueground.judges.people import FitFigures, LabelledVerdicts, labelled_verdicts

_THRESHOLD = re.compile(r"\|threshold:([\d.e-]+)")
_WORDS = {"not": "not grounded", "partly": "partly", "grounded": "grounded"}


def trust_sentence(verdicts: Mapping[str, Any]) -> str:
    """How often verdicts agree with people; `verdicts` are those of a summary."""
    if labelled := verdicts.get("labelled"):
        return _of_labels(labelled)
    if (measured := similar_sets(verdicts)) is not None:
        return measured.sentence()
    if fitted := verdicts.get("fitted"):
        return msgspec.convert(fitted, FitFigures).sentence()
    judge = str(verdicts.get("judge"))
    if threshold := _THRESHOLD.search(str(verdicts.get("signature"))):
        judge += f" with the threshold {float(threshold[1]):g}"
    return (
        "How often these verdicts agree with people was not measured for this judge "
        f"({judge}): `trueground validate` does it on your labels."
    )


def similar_sets(verdicts: Mapping[str, Any]) -> LabelledVerdicts | None:
    """The labelled sets from which the sentence is; None where it is from something else."""
    if verdicts.get("labelled"):
        return None
    measured = labelled_verdicts(str(verdicts.get("signature")))
    return measured and measured.like(verdicts.get("questions"), verdicts["n"])


def _of_labels(counts: Mapping[str, tuple[int, int]]) -> str:
    """`On your 100 labels, answers called not grounded were unsupported 30 times of 33, …`"""
    told = [(word, *counts[name]) for name, word in _WORDS.items() if counts[name][0]]
    n = sum(labels for labels, _ in counts.values())
    if not told:
        return f"None of the answers of your {n:,} labels has such a verdict."
    (word, of, times), *rest = told
    first = f"answers called {word} were unsupported {times:,} times of {of:,}"
    others = "".join(f", called {word} {times:,} of {of:,}" for word, of, times in rest)
    without = n - sum(of for _, of, _ in told)
    declined = f"; {without:,} of them declined or could not be judged" if without else ""
    return f"On your {n:,} labels, {first}{others}{declined}."
