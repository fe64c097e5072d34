"""Retrieval-augmented question answering (Adlakha et al. 2023): correct, faithful, or declined?

The declaration: options, and the paper's studies. Listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from trueground.benchmarks import Benchmark, TaskOptions, add_benchmark
from trueground.options import Option
from trueground.wings.papers.instruct_qa.studies import STUDIES

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
        from trueground.wings.search import CorpusSession

        return CorpusSession.find_passages(self.retriever)


BENCHMARK = Benchmark(
    name="instruct-qa",
    doc="retrieval-augmented QA: correct, faithful to its passages, and declining where it should",
    source="Adlakha et al. 2023, Evaluating Correctness and Faithfulness",
    default_tasks=("questions",),
    other_tasks=("nq", "hotpotqa", "topiocqa"),
    options=QaOptions,
    make="trueground.wings.papers.instruct_qa.task:make_task",
    studies=STUDIES,
    package=__name__,
    count="trueground.wings.papers.instruct_qa.statistics:count_questions",
)
add_benchmark(BENCHMARK)
