"""Retrieval-augmented QA (Adlakha et al. 2023): correctness, faithfulness and abstention.

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
    """Options of the InstructQA tasks."""

    setting: Annotated[
        Literal["retrieved", "gold", "irrelevant", "closed-book"],
        Option(
            "Passages in the prompt: retrieved, gold, one irrelevant, or none.",
            varied=True,
        ),
    ] = "retrieved"
    instruction: Annotated[
        Literal["v1", "v2"],
        Option(
            (
                "v1: answer from the passages. v2: say \"I don't know\" if they don't "
                "contain the answer."
            ),
            varied=True,
            applies={**_OPEN, "own_prompt": (False,)},
        ),
    ] = "v1"
    retriever: Annotated[
        str,
        Option(
            (
                'bm25, dense:MODEL, hybrid:"bm25 + dense:MODEL", '
                'multi-hop:"dense:MODEL" or file:RESULTS.'
            ),
            varied=True,
            applies=_SEARCHES,
        ),
    ] = "bm25"
    corpus: Annotated[
        Path | None,
        Option("Where to search: documents, a file of passages, or an index.", applies=_OPEN),
    ] = None
    retrieval_query: Annotated[
        Literal["auto", "all", "last"],
        Option(
            "Query for questions with a history. auto: retrieval_query, or all "
            "turns. all: all turns. last: the last turn.",
            applies={**_SEARCHES, **_TURNS},
        ),
    ] = "auto"
    passages: Annotated[
        int,
        Option(
            "Number of passages. Default: 8, or 4 for topiocqa.",
            min=1,
            unset=True,
            applies={"setting": ("retrieved",)},
        ),
    ] = 0
    irrelevant_rank: Annotated[
        int,
        Option(
            "irrelevant: use the first non-gold passage after this rank.",
            min=1,
            applies={"setting": ("irrelevant",)},
        ),
    ] = 1000
    preset: Annotated[
        Literal["paper", "greedy"],
        Option(
            "paper: top-p 0.95, temperature 0.95, seed 0, at least 1 token. "
            "greedy: temperature 0. Both: at most 500 tokens."
        ),
    ] = "paper"
    post_process: Annotated[
        Literal["off", "first-line", "turns"],
        Option(
            "Part of the reply to score: all (off), the first line, or the text "
            "before the model starts another turn or passage."
        ),
    ] = "off"
    history_turns: Annotated[
        int,
        Option(
            "Maximum turns of a conversation in the prompt; the middle is cut.",
            min=0,
            applies=_TURNS,
        ),
    ] = 10
    gold: Annotated[
        Path | None,
        Option("nq: file of gold passages, such as DPR's nq-test_gold_info.json.", tasks=("nq",)),
    ] = None
    gold_needed: Annotated[
        Literal["auto", "any", "all"],
        Option(
            ("Gold passages that must be retrieved. auto: all for hotpotqa, any for others."),
            applies={"setting": ("retrieved",)},
        ),
    ] = "auto"
    without_gold: Annotated[
        Literal["error", "skip"],
        Option(
            "With --setting gold: what to do with questions without gold passages.",
            applies={"setting": ("gold",)},
        ),
    ] = "error"
    variant: Annotated[
        Literal["distractor", "fullwiki"],
        Option("hotpotqa: version of the dataset.", tasks=("hotpotqa",)),
    ] = "distractor"

    @property
    def closed_book(self) -> bool:
        """Whether the model gets no passages."""
        return self.setting == "closed-book"

    @property
    def searches(self) -> bool:
        """Whether passages are retrieved from a corpus."""
        return self.setting in ("retrieved", "irrelevant")

    @property
    def talks(self) -> bool:
        """Whether questions may have earlier turns."""
        return self.task in ("topiocqa", "questions")

    @property
    def knows_gold(self) -> bool:
        """Whether the data may name gold passages."""
        return self.task != "nq" or self.gold is not None

    @property
    def needs_all(self) -> bool:
        """Whether all gold passages of a question must be retrieved, or any."""
        return self.gold_needed == "all" or (self.gold_needed == "auto" and self.task == "hotpotqa")

    @property
    def most_passages(self) -> int:
        """Number of passages to retrieve (section 3.3)."""
        return self.passages or (4 if self.task == "topiocqa" else 8)

    @property
    def has_corpus(self) -> bool:
        """Whether there are passages to search."""
        return self.corpus_path is not None

    @cached_property
    def corpus_path(self) -> Path | None:
        """The corpus, or the results of --retriever if they have the passages."""
        if self.corpus is not None or not self.searches:
            return self.corpus
        from trueground.wings.search import CorpusSession

        return CorpusSession.find_passages(self.retriever)


BENCHMARK = Benchmark(
    name="instruct-qa",
    doc="retrieval-augmented QA: correct and faithful answers",
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
