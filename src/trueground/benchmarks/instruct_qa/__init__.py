"""Retrieval-augmented question answering (Adlakha et al. 2023): correct, faithful, or declined?

The declaration: options, and the paper's studies. Listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from trueground.benchmarks.base import Benchmark, TaskOptions
from trueground.benchmarks.studies import Delta, Measure, Scatter, Share, Studies, Sweep
from trueground.options import Option

_SEARCHES = {"setting": ("retrieved", "irrelevant")}
_OPEN = {"setting": ("retrieved", "gold", "irrelevant")}
_TURNS = {"task": ("topiocqa", "questions")}


@dataclass(frozen=True, kw_only=True)
class QaOptions(TaskOptions):
    """How a task is asked."""

    setting: Annotated[
        Literal["retrieved", "gold", "irrelevant", "closed-book"],
        Option(
            "what the model is given: passages that a retriever finds, the gold ones, one that is "
            "irrelevant, or none",
            varied=True,
        ),
    ] = "retrieved"
    instruction: Annotated[
        Literal["v1", "v2"],
        Option(
            'v1: answer, given the passages; v2: say "I don\'t know" where they do not hold the '
            "answer",
            varied=True,
            applies={**_OPEN, "own_prompt": (False,)},
        ),
    ] = "v1"
    retriever: Annotated[
        str,
        Option(
            'bm25, dense:MODEL, hybrid:"bm25 + dense:MODEL", multi-hop:"dense:MODEL", file:RESULTS',
            varied=True,
            applies=_SEARCHES,
        ),
    ] = "bm25"
    corpus: Annotated[
        Path | None,
        Option(
            "where passages are found: documents, a file of passages, or an index", applies=_OPEN
        ),
    ] = None
    retrieval_query: Annotated[
        Literal["auto", "all", "last"],
        Option(
            "what is searched for where a question has a history: its retrieval_query or else all "
            "turns, all turns, or the last one",
            applies={**_SEARCHES, **_TURNS},
        ),
    ] = "auto"
    passages: Annotated[
        int,
        Option(
            "how many are retrieved. Default: 8, topiocqa 4",
            min=1,
            unset=True,
            applies={"setting": ("retrieved",)},
        ),
    ] = 0
    irrelevant_rank: Annotated[
        int,
        Option(
            "irrelevant: the first passage after this rank, if it is no gold",
            min=1,
            applies={"setting": ("irrelevant",)},
        ),
    ] = 1000
    preset: Annotated[
        Literal["paper", "greedy"],
        Option(
            "paper: top-p 0.95, temperature 0.95, seed 0, at least 1 new token; greedy: "
            "temperature 0; both at most 500 new tokens"
        ),
    ] = "paper"
    post_process: Annotated[
        Literal["off", "first-line", "turns"],
        Option(
            "what of a reply is scored: all, its first line, or what stands before the model "
            "begins another turn or passage"
        ),
    ] = "off"
    history_turns: Annotated[
        int,
        Option("turns shown of a conversation; the middle is cut", min=0, applies=_TURNS),
    ] = 10
    gold: Annotated[
        Path | None,
        Option("nq: file of gold passages, as DPR's nq-test_gold_info.json", tasks=("nq",)),
    ] = None
    gold_needed: Annotated[
        Literal["auto", "any", "all"],
        Option(
            "how many of a question's gold passages must be retrieved; auto: all for hotpotqa, "
            "else any",
            applies={"setting": ("retrieved",)},
        ),
    ] = "auto"
    without_gold: Annotated[
        Literal["error", "skip"],
        Option(
            "setting gold: what to do with questions that have no gold passage",
            applies={"setting": ("gold",)},
        ),
    ] = "error"
    variant: Annotated[
        Literal["distractor", "fullwiki"],
        Option("hotpotqa: which of its two versions", tasks=("hotpotqa",)),
    ] = "distractor"

    @property
    def closed_book(self) -> bool:
        return self.setting == "closed-book"

    @property
    def searches(self) -> bool:
        return self.setting in ("retrieved", "irrelevant")

    @property
    def talks(self) -> bool:
        """Whether questions may have earlier turns."""
        return self.task in ("topiocqa", "questions")

    @property
    def knows_gold(self) -> bool:
        """Whether the data can name gold passages."""
        return self.task != "nq" or self.gold is not None

    @property
    def needs_all(self) -> bool:
        """Whether all gold passages of a question must be retrieved, or any."""
        return self.gold_needed == "all" or (self.gold_needed == "auto" and self.task == "hotpotqa")

    @property
    def most_passages(self) -> int:
        """How many are retrieved (section 3.3)."""
        return self.passages or (4 if self.task == "topiocqa" else 8)

    @property
    def has_corpus(self) -> bool:
        return self.corpus_path is not None

    @cached_property
    def corpus_path(self) -> Path | None:
        """The corpus, or the results that --retriever names, where these hold the passages."""
        if self.corpus is not None or not self.searches:
            return self.corpus
        from trueground.plugins import parse_part
        from trueground.retrieval.formats import is_results

        given = parse_part("retriever", self.retriever)
        if given.name != "file" or given.model is None:
            return None
        path = Path(given.model).expanduser()
        return path if path.is_file() and is_results(path) else None


# Section 3.3: how many passages are retrieved.
_PASSAGES = {"nq": "8", "hotpotqa": "8", "topiocqa": "4"}
_RANK = "1000"  # section 5.3: the irrelevant passage is the first one after it
# What says how the passages were found; without a retriever it is not there.
_RETRIEVAL = ("retriever", "passages", "corpus", "irrelevant-rank", "gold-needed", "without-gold")
_PASSAGE = "abstention_passage=true"  # under v2 "I don't know" counts as a passage (appendix C)
_GOLD = Share(
    "meta.gold_retrieved", "gold retrieved", "gold_retrieved", certain={"setting": ("gold",)}
)


def comparable(task: str, options: Mapping[str, Any], printed: Mapping[str, Any]) -> bool:
    """The same setting and instruction, passages as many or from as far down; any retriever."""
    usual = _PASSAGES.get(task)
    asked = {"passages": usual, "irrelevant-rank": _RANK, **options}
    settings: dict[str, dict[str, Any]] = {
        "retrieved": {"passages": usual},
        "irrelevant": {"irrelevant-rank": _RANK},
    }
    wanted = {**settings.get(str(printed.get("setting")), {}), **printed}
    return all(str(asked.get(name)) == value for name, value in wanted.items())


def _declining(**settings: Any) -> Scatter:
    return Scatter(
        id="abstention",
        title="Declining to answer",
        measures=(Measure("p_ir", "P_IR (higher)"), Measure("p_g", "P_G (lower)")),
        across=1,
        note="P_IR (up) is the share of responses that decline when the passages are irrelevant, "
        "P_G (across) the share that decline although the gold passages are there (section 5.3, "
        "Table 6). The ideal is at the top left; on the broken line a model declines as often with "
        "the gold passages as without. Precision, recall and F1 are of declining where nothing can "
        "be answered, over both kinds of questions together; where the two runs asked different "
        "questions, over those that they have in common, if their ids tell.",
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
            "much of the response is in the passages that the model was given (K-Precision, up): "
            "the best place is at the top right (sections 4.3 and 5.4, appendix C). Published "
            "numbers were made with the paper's own retrievers.",
            where={"setting": ("retrieved", "gold", "closed-book", None)},
            named=("task", "setting", "instruction"),
            short="",
        ),
        _declining(
            places={"irrelevant": {"setting": ("irrelevant",)}, "gold": {"setting": ("gold",)}},
            free=("setting",),
            named=("task", "instruction"),
        ),
        _declining(named=("task", "setting", "instruction")),
        Sweep(
            id="retrievers",
            title="One retriever and another",
            measures=(Measure("recall"), Measure("k_precision", prefer=_PASSAGE), _GOLD),
            note="Runs that differ in the retriever only (appendix B, Figure 6). “Gold retrieved” "
            "is how often the gold passages were among those that the model saw, of the responses "
            "whose gold passages are known.",
            where={"setting": ("retrieved",)},
            named=("task", "instruction"),
            by="retriever",
            short="retrievers",
            papers=False,  # they come from one retriever
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
            "don't know” where they do not hold it (appendix C, Table 7). Under v2 that sentence "
            "counts as one more passage for K-Precision. P_G, the lower the better, is over the "
            "responses whose gold passages were before the model, and over questions that you call "
            "answerable yourself.",
            where={"setting": ("retrieved", "gold")},
            places={version: {"instruction": (version,)} for version in ("v1", "v2")},
            steps=(("v1", "v2"),),
            named=("task", "setting"),
            short="v1 → v2",
        ),
    ),
)

BENCHMARK = Benchmark(
    name="instruct-qa",
    doc="retrieval-augmented QA: correct, faithful to its passages, and declining where it should",
    source="Adlakha et al. 2023, Evaluating Correctness and Faithfulness",
    default_tasks=("questions",),
    other_tasks=("nq", "hotpotqa", "topiocqa"),
    options=QaOptions,
    make="trueground.benchmarks.instruct_qa.task:make_task",
    studies=STUDIES,
)
