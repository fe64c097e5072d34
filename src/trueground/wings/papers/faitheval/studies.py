"""Tables of FaithEval's leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.benchmarks import Delta, Mean, Measure, Pivot, Studies

# Section 3.3: direct answers; both documents; every question.
TASKS = ("unanswerable", "inconsistent", "counterfactual")
_DEFAULTS = {
    "scheme": "direct",
    "documents": "both",
    "only-phrase-filtered": "off",
    "closed-book": False,
}
# Options of the original task that select the context, not the prompt.
_OF_CONTEXT = ("of", "documents", "closed-book", "task-instruction", "original")


def comparable(task: str, options: Mapping[str, Any], printed: Mapping[str, Any]) -> bool:
    """Return whether a run has the options of a printed number, or the paper's defaults."""
    expected = {**_DEFAULTS, **printed}
    instructed = task in ("unanswerable", "inconsistent") and expected["documents"] == "both"
    expected.setdefault("task-instruction", "on" if instructed else "off")
    for name, value in expected.items():
        default = None if name in printed else value
        if options.get(name, default) != value:
            return False
    return True


STUDIES = Studies(
    tasks=TASKS,
    comparable=comparable,
    printed="FaithEval's are direct answers to whole tasks by strict matching (trueground run "
    "faitheval)",
    in_prompt="task-instruction",
    original="of",
    studies=(
        Mean(
            id="combined",
            title="Best model of each organization",
            measures=(Measure("", "accuracy"),),
            note="Combined accuracy: the mean of the three tasks' accuracies, each task a third "
            "(FaithEval, Figure 1). Of every organization the model with the highest one is shown; "
            "only models that have all three tasks take part. A model that is not in the models "
            "table stands for itself.",
            levels={
                task: {"task": (task,), "documents": ("both", None),
                       "only-phrase-filtered": ("off", None), "closed-book": ("False", None),
                       "task-instruction": ("off" if task == "counterfactual" else "on", None)}
                for task in TASKS
            },
            free=("documents", "only-phrase-filtered", "closed-book", "task-instruction"),
            named=(),
            short="best of each organization",
        ),
        *(
            Delta(
                id="changes",
                title="Original and new context",
                measures=(Measure(""),),
                note="The same models on the original contexts and on the new ones. Rank 1 is the "
                "best, equal scores share the better rank, and only models with both scores are "
                "ranked. A rank difference below 0 means that the model lost places (Tables 6 to "
                "8).",
                levels={
                    "original": {"task": ("original",), "of": (task,)},
                    task: {"task": (task,)},
                },
                steps=(("original", task),),
                free=_OF_CONTEXT,
                named=(),
                ranks=True,
            )
            for task in TASKS
        ),
        Pivot(
            id="matches",
            title="Strict and loose matching",
            measures=(
                Measure("phrase_match_strict", "strict"),
                Measure("phrase_match", "non-strict"),
                Measure("phrase_match_word", "whole words"),
            ),
            note="Strict accepts the one phrase that the prompt asks for; non-strict accepts "
            "phrases of the same meaning anywhere in the answer, even inside other words; the last "
            "rule accepts those phrases as whole words only.",
            gains=(("strict", "non-strict"),),
            least=2,
        ),
    ),
)  # fmt: skip
