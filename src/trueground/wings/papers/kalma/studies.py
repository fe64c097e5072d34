"""Tables and figures of KaLMA's leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.benchmarks import Delta, Measure, PaperJudge, Pivot, Studies, Sweep

# Section 5: the retrieved graphs, temperature 0.5, nothing removed.
_AS_RETRIEVED = {
    "knowledge": "given", "remove": "0", "retrieval-accuracy": "100", "at-temperature": "0.5",
}  # fmt: skip
_ALIGNMENT = (Measure("alignment_micro", "alignment"),)
_CITED = (
    Measure("citation_correctness_micro", "correctness"),
    Measure("citation_precision_micro", "precision"),
    Measure("citation_recall_micro", "recall"),
    Measure("citation_f1_micro", "F1"),
)
_MACRO = (
    Measure("citation_precision", "precision, macro"),
    Measure("citation_recall", "recall, macro"),
    Measure("citation_f1", "F1, macro"),
)
_TEXT = tuple(map(Measure, ("coherence", "consistency", "fluency", "relevance")))


def comparable(task: str, options: Mapping[str, Any], printed: Mapping[str, Any]) -> bool:
    """Return whether a run has the graphs and temperature of a printed number.

    The minimum set may differ. Runs with a retrieval accuracy are only comparable with the figure
    of that study.
    """
    del task
    if options.get("retrieval-accuracy") and "retrieval-accuracy" not in printed:
        return False
    chosen = {name: value for name, value in options.items() if value is not None}
    actual = {**_AS_RETRIEVED, **chosen}
    expected = {**_AS_RETRIEVED, **printed}
    return all(str(actual[name]) == value for name, value in expected.items())


STUDIES = Studies(
    comparable=comparable,
    printed="KaLMA's its own questions with the graphs that came with them, or with gold graphs, "
    "some of them removed or replaced (trueground run kalma)",
    any_metric=True,
    bound=frozenset(("replace-seed",)),
    judges=(
        # Sections 4.1 (ratings) and 4.3 (TRUE).
        PaperJudge(("alignment",), "judge", "t5_xxl_true_nli_mixture", "alignment was judged"),
        PaperJudge(
            ("coherence", "consistency", "fluency", "relevance"),
            "rater", "text-davinci-003", "texts were rated",
        ),
    ),
    unlike_paper={
        "minimum": ("synthetic", "made with the paper's own minimum sets")
    },
    studies=(
        Pivot(
            id="citations",
            title="Citations and text, measure by measure",
            measures=(*_ALIGNMENT, *_CITED, *_MACRO, *_TEXT),
            note="Citations of knowledge-graph triples (Tables 3 and 4). Values without “macro” "
            "are over all citations of a run together; macro values are means over answers. "
            "Ratings go from 1 to 5; ± is the standard deviation over repeated runs.",
            where={"remove": (None,), "retrieval-accuracy": (None,)},
        ),
        Sweep(
            id="removed",
            title="Knowledge removed",
            measures=(
                *_CITED,
                Measure("na_precision_micro", "[NA] precision"),
                Measure("na_recall_micro", "[NA] recall"),
                Measure("na_f1_micro", "[NA] F1"),
            ),
            note="Pieces of the minimum knowledge set are removed from the graph, in the set's "
            "order; answers are scored against the whole set (section 5.2, Table 5), and [NA] "
            "marks what is missing (Figure 4).",
            by="remove",
        ),
        Sweep(
            id="replaced",
            title="Graphs replaced",
            measures=_CITED,
            note="From the right graphs alone (100) to a fifth of them (20), the others replaced "
            "by irrelevant ones (section 5.3, Figure 5).",
            by="retrieval-accuracy",
            falling=True,
        ),
        Sweep(
            id="temperatures",
            title="Temperature",
            measures=(Measure("citation_f1_micro", "F1"), _CITED[0]),
            note="Runs that differ only in the temperature.",
            by="at-temperature",
            first=True,
        ),
        Delta(
            id="kinds",
            title="General and specific questions",
            measures=(*_ALIGNMENT, *_CITED, *_TEXT),
            note="The same models on both kinds of questions (Table 7). Citations are over all "
            "those of a run together.",
            levels={kind: {"task": (kind,)} for kind in ("general", "specific")},
            steps=(("general", "specific"),),
            free=("minimum",),
            named=(),
        ),
    ),
)  # fmt: skip
