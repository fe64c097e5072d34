"""Tables and figures of Truly-Ground's leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.benchmarks import Delta, Measure, PaperCode, PaperJudge, Scatter, Studies, Sweep

_VERSIONS = ("original-gold", "original-dist", "conflict-gold", "conflict-dist")
_F1 = Measure("grounding_f1", "grounding F1")
_SINGLE = Measure("grounding_f1", "single context", part=("meta.contexts", "single"))
_MULTI = Measure("grounding_f1", "several contexts", part=("meta.contexts", "multi"))
_ACCURACY = Measure("answer_accuracy", "answer accuracy", "match=substring")
_ALL = (
    _F1,
    Measure("grounding_precision", "grounding precision"),
    Measure("grounding_recall", "grounding recall"),
    _ACCURACY,
)
# Options that only affect the versions with distractors.
_DISTRACTORS = frozenset(
    ("budget", "gold-position", "position-seed", "distractors", "retriever", "top", "input-cap")
)
# Appendix C: 2,048 tokens; the gold contexts anywhere among the distractors.
_BUDGET, _POSITION = "2048", "random"
_SET_BUDGETS = {"2k_distractor": "2048", "4k_distractor": "4096"}


def comparable(task: str, options: Mapping[str, Any], printed: Mapping[str, Any]) -> bool:
    """Return whether a run has the length and position of a printed number.

    Both mined distractors and the sets of the paper's file, named after their length, are
    comparable. Without distractors, runs are comparable with numbers without options.
    """
    if not task.endswith("-dist"):
        return not printed
    budget, position = printed.get("budget", _BUDGET), printed.get("gold-position", _POSITION)
    run_budget = options.get("budget", _BUDGET)
    if run_budget == "all":
        run_budget = _SET_BUDGETS.get(str(options.get("distractors")))
    return bool(run_budget == budget and options.get("gold-position", _POSITION) == position)


def _counted(options: Mapping[str, Any]) -> str:
    """Return how tokens are counted. All tokenizers of models are one way to count."""
    tokenizer = str(options.get("tokenizer", ""))
    if not tokenizer or "characters" in tokenizer:
        return tokenizer
    return "a tokenizer"


STUDIES = Studies(
    tasks=(*_VERSIONS, "no-context"),
    comparable=comparable,
    printed="Truly-Ground's its four versions at 2,048 tokens (trueground run truly-ground)",
    ignored=frozenset(("variant", "abstain")),
    model_options=frozenset(("preset", "tokenizer")),
    bound=_DISTRACTORS,
    alike={"tokens by which the budget was counted": _counted},
    judges=(
        # Section 3.3: the cross-encoder.
        PaperJudge(
            ("grounding_precision", "grounding_recall", "grounding_f1", "context_entails"),
            "judge", "ms-marco-MiniLM-L-12-v2", "numbers were judged",
        ),
    ),
    code=PaperCode(
        "grounding_",
        "variant=reference-code",
        "the published numbers are over all questions by the paper's code, the runs are not. "
        "For comparable numbers: trueground run truly-ground --preset paper.",
    ),
    studies=(
        Delta(
            id="versions",
            title="Grounding from version to version",
            measures=(*_ALL, _SINGLE, _MULTI),
            note="What each model keeps when distractors are added, and when a fact of the context "
            "is changed (section 4.2, Figure 5). The share lost is (before − after) / before; "
            "below 0, the model gained.",
            where={"task": _VERSIONS},
            levels={version: {"task": (version,)} for version in _VERSIONS},
            steps=(
                ("original-gold", "original-dist"),
                ("conflict-gold", "conflict-dist"),
                ("original-gold", "conflict-gold"),
                ("original-dist", "conflict-dist"),
            ),
            named=(),
            as_loss=True,
            sizes=True,
            baseline=True,
        ),
        Scatter(
            id="groundingsizes",
            title="Grounding and model size",
            measures=(_F1, _SINGLE, _MULTI),
            note="Questions that need one context, and those that need several (Figures 3a and "
            "17). A size that the models table does not have is read from the name.",
            where={"task": _VERSIONS},
            sizes=True,
        ),
        *(
            Scatter(
                id="definitions",
                title="Earlier definitions and the strict one",
                measures=(earlier, _F1),
                note="Grounding F1 (up) against an earlier definition (across): whether the "
                "response has the answer, for definite questions only, or whether a context "
                "entails it (sections 3.1 and 4.2). A model can be high by one and low by the "
                "other. Intervals resample the models.",
                where={"task": _VERSIONS},
            )
            for earlier in (_ACCURACY, Measure("context_entails", "context entails"))
        ),
        Sweep(
            id="lengths",
            title="Length of the context",
            measures=_ALL,
            note="Runs that differ only in the number of tokens of all contexts (Figure 4).",
            where={"task": _VERSIONS},
            by="budget",
        ),
        Sweep(
            id="positions",
            title="Position of the gold contexts",
            measures=_ALL,
            note="Runs that differ only in the position of the gold contexts (section 4.2).",
            where={"task": _VERSIONS},
            by="gold-position",
            order=("beginning", "middle", "end", "random"),
        ),
    ),
)  # fmt: skip
