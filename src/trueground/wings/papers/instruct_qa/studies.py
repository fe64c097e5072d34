"""Tables and figures of InstructQA's leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueground.benchmarks import Delta, Measure, Scatter, Studies, Sweep

# Section 3.3: the number of passages to retrieve.
_PASSAGES = {"nq": "8", "hotpotqa": "8", "topiocqa": "4"}
_RANK = "1000"  # Section 5.3: the irrelevant passage is the first one after this rank.
# Options of retrieval, which runs without a retriever lack.
_RETRIEVAL = ("retriever", "passages", "corpus", "irrelevant-rank", "gold-needed", "without-gold")
# Under v2, "I don't know" counts as a passage (appendix C).
_PASSAGE = "abstention_passage=true"
_GOLD = Measure(
    label="gold retrieved",
    relative=False,
    share_of="meta.gold_retrieved",
    number="gold_retrieved",
    certain={"setting": ("gold",)},
)


def comparable(task: str, options: Mapping[str, Any], printed: Mapping[str, Any]) -> bool:
    """Return whether a run has the setting, instruction and passages of a printed number.

    The retriever may differ.
    """
    usual = _PASSAGES.get(task)
    actual = {"passages": usual, "irrelevant-rank": _RANK, **options}
    settings: dict[str, dict[str, Any]] = {
        "retrieved": {"passages": usual},
        "irrelevant": {"irrelevant-rank": _RANK},
    }
    expected = {**settings.get(str(printed.get("setting")), {}), **printed}
    return all(str(actual.get(name)) == value for name, value in expected.items())


def _declining(**settings: Any) -> Scatter:
    return Scatter(
        id="abstention",
        title="Declining to answer",
        measures=(Measure("p_ir", "P_IR (higher)"), Measure("p_g", "P_G (lower)")),
        across=1,
        note="P_IR (up) is the share of responses that decline when the passages are irrelevant, "
        "P_G (across) the share that decline although the gold passages are there (section 5.3, "
        "Table 6). The ideal is at the top left. On the broken line, a model declines as often "
        "with the gold passages as without. Precision, recall and F1 measure declining when "
        "nothing can be answered, over both kinds of questions together. If the two runs asked "
        "different questions, they are over the questions with ids in common.",
        declining=True,
        short="declining",
        **settings,
    )


STUDIES = Studies(
    tasks=("nq", "hotpotqa", "topiocqa"),
    comparable=comparable,
    printed="instruct-qa's its three datasets with gold, irrelevant or 8, 8 and 4 retrieved "
    "passages (trueground run instruct-qa/nq)",
    any_metric=True,
    bound=frozenset(_RETRIEVAL),
    skips="without-gold",
    studies=(
        Scatter(
            id="plane",
            title="Correctness and faithfulness",
            measures=(Measure("recall"), Measure("k_precision", prefer=_PASSAGE)),
            note="How much of the reference answer is in the response (recall, across), and how "
            "much of the response is in the passages that the model was given (K-Precision, up). "
            "The best models are at the top right (sections 4.3 and 5.4, appendix C). Published "
            "numbers were made with the paper's retrievers.",
            where={"setting": ("retrieved", "gold", "closed-book", None)},
            named=("task", "setting", "instruction"),
            short="",
        ),
        _declining(
            levels={"irrelevant": {"setting": ("irrelevant",)}, "gold": {"setting": ("gold",)}},
            free=("setting",),
            named=("task", "instruction"),
        ),
        _declining(named=("task", "setting", "instruction")),
        Sweep(
            id="retrievers",
            title="One retriever and another",
            measures=(Measure("recall"), Measure("k_precision", prefer=_PASSAGE), _GOLD),
            note="Runs that differ only in the retriever (appendix B, Figure 6). “Gold retrieved” "
            "is how often the gold passages were among those that the model saw, of the responses "
            "whose gold passages are known.",
            where={"setting": ("retrieved",)},
            named=("task", "instruction"),
            by="retriever",
            short="retrievers",
            papers=False,  # The printed numbers are of one retriever.
        ),
        Delta(
            id="instructions",
            title="One instruction and the other",
            measures=(
                Measure("recall", "Recall"),
                Measure("k_precision", "K-Precision", _PASSAGE),
                Measure("p_g", "P_G", relative=False),
                _GOLD,
            ),
            note="Instruction v1 asks for an answer given the passages, v2 also asks to say “I "
            "don't know” if they don't have it (appendix C, Table 7). Under v2 that sentence "
            "counts as one more passage for K-Precision. P_G, the lower the better, is over the "
            "responses whose gold passages were before the model, and over questions that you call "
            "answerable yourself.",
            where={"setting": ("retrieved", "gold")},
            levels={version: {"instruction": (version,)} for version in ("v1", "v2")},
            steps=(("v1", "v2"),),
            named=("task", "setting"),
            short="v1 → v2",
        ),
    ),
)
