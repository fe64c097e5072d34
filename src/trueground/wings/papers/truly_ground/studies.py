"""The studies of Truly-Ground's leaderboard."""

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
# What only the versions with distractors have; the gold versions do not depend on it.
_DISTRACTORS = frozenset(
    ("budget", "gold-position", "position-seed", "distractors", "retriever", "top", "input-cap")
)
# Appendix C: 2,048 tokens; the gold contexts anywhere among the distractors.
_BUDGET, _POSITION = "2048", "random"
_OWN_SETS = {"2k_distractor": "2048", "4k_distractor": "4096"}


def comparable(task: str, options: Mapping[str, Any], printed: Mapping[str, Any]) -> bool:
    """The same length and position; without distractors there is nothing to differ in.

    Mined distractors count as well as the paper's file, whose sets are named for their length.
    """
    if not task.endswith("-dist"):
        return not printed
    budget, position = printed.get("budget", _BUDGET), printed.get("gold-position", _POSITION)
    asked = options.get("budget", _BUDGET)
    if asked == "all":
        asked = _OWN_SETS.get(str(options.get("distractors")))
    return bool(asked == budget and options.get("gold-position", _POSITION) == position)


def _counted(options: Mapping[str, Any]) -> str:
    """Each model's own tokens are one way to count, however many models there are."""
    named = str(options.get("tokenizer", ""))
    return named if "characters" in named else "a tokenizer" * bool(named)


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
        "the published numbers are over all questions by the paper's own code, the runs are not. "
        "For numbers made in its way: trueground run truly-ground --preset paper.",
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
                title="Earlier definitions beside the strict one",
                measures=(earlier, _F1),
                note="Grounding F1 (up) against an earlier definition (across): whether the answer "
                "stands in the response, which only definite questions have, or whether a context "
                "entails it (sections 3.1 and 4.2). A model can be high by the one and low by the "
                "other. Intervals resample the models.",
                where={"task": _VERSIONS},
            )
            for earlier in (_ACCURACY, Measure("context_entails", "context entails"))
        ),
        Sweep(
            id="lengths",
            title="Length of the context",
            measures=_ALL,
            note="Runs that differ in the tokens of all contexts only (Figure 4).",
            where={"task": _VERSIONS},
            by="budget",
        ),
        Sweep(
            id="positions",
            title="Position of the gold contexts",
            measures=_ALL,
            note="Runs that differ in where the gold contexts stand only (section 4.2).",
            where={"task": _VERSIONS},
            by="gold-position",
            order=("beginning", "middle", "end", "random"),
        ),
    ),
)  # fmt: skip
