"""KaLMA (Li et al. 2024): answers that cite a knowledge graph, and mark missing knowledge.

The declaration: options, and the paper's studies. Listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from trueground.benchmarks import Benchmark, TaskOptions, add_benchmark
from trueground.errors import UsageError
from trueground.options import Option
from trueground.wings.papers.kalma.studies import STUDIES

PEOPLE = ("human", "Q5")  # section 3.1
ANY_TYPE = "any"
NO_DEMONSTRATION = "none"


@dataclass(frozen=True, kw_only=True)
class KalmaOptions(TaskOptions):
    """Options of the KaLMA tasks. None means that the user hasn't set the option."""

    knowledge: Annotated[
        Literal["given", "gold", "linked"] | None,
        Option(
            "Graphs in the prompt. given: stored with the question. gold: of "
            "entities in the minimum set. linked: of entities found in the "
            "question. Default: given."
        ),
    ] = None
    graph: Annotated[
        str | None,
        Option(
            "Knowledge graph for gold and linked: folder written by `graph load`, "
            "a file, sparql:URL or wikidata. Default: all graphs of the data."
        ),
    ] = None
    recognizer: Annotated[
        str | None,
        Option("linked: how names are recognized, dictionary or spacy:MODEL. Default: dictionary."),
    ] = None
    types: Annotated[
        tuple[str, ...],
        Option(
            "linked: classes of entities, comma-separated, or any. Default: "
            "human,Q5, or any for your own questions.",
            expected=f"classes with commas between, or {ANY_TYPE}",
        ),
    ] = ()
    minimum: Annotated[
        Path | None,
        Option(
            "JSON file of minimum sets: [[question, [[qid, property, value]]]].",
            excludes={"synthetic-minimum": "take the sets of a file, or draw them"},
        ),
    ] = None
    first_round: Annotated[
        Path | None,
        Option(
            "File of the first round's knowledge, for variant=reference-code.", needs=("minimum",)
        ),
    ] = None
    synthetic_minimum: Annotated[
        int | None,
        Option(
            "Generate random minimum sets of this size from the graphs. Reports "
            "mark them as synthetic.",
            min=1,
        ),
    ] = None
    minimum_seed: Annotated[
        int,
        Option(
            "Random seed of --synthetic-minimum. Default: 0.",
            min=0,
            unset=True,
            needs=("synthetic-minimum",),
        ),
    ] = 0
    remove: Annotated[
        int | None,
        Option(
            "Number of minimum-set facts to remove from gold graphs, such as 0, 1, 2 or 3.",
            min=0,
            varied=True,
            excludes={"retrieval-accuracy": "study one at a time"},
        ),
    ] = None
    remove_from: Annotated[
        Literal["later", "all"],
        Option(
            "With --first-round, facts that --remove takes. later: only those of "
            "later rounds, as in the paper's code. all: in order. Default: later.",
            unset=True,
            needs=("remove", "first-round"),
        ),
    ] = "later"
    retrieval_accuracy: Annotated[
        int | None,
        Option(
            ("Percentage of gold graphs to keep, such as 80; the others are replaced."),
            min=0,
            max=100,
            expected="a percentage, 0 to 100",
            varied=True,
        ),
    ] = None
    replace_seed: Annotated[
        int,
        Option(
            "Random seed of the replacements. Default: 0.",
            min=0,
            unset=True,
            needs=("retrieval-accuracy",),
        ),
    ] = 0
    at_temperature: Annotated[
        float | None,
        Option(
            "Temperature, to compare several. Default: --temperature, or 0.5.",
            min=0,
            max=2,
            expected="a number from 0 to 2, such as 0.5",
            varied=True,
        ),
    ] = None
    demonstration: Annotated[
        str | None,
        Option("Example for the prompt: JSON file with question, knowledge and answer; or none."),
    ] = None
    rated: Annotated[
        int,
        Option(
            "Number of questions whose answers are rated three times for "
            "coherence, consistency, fluency and relevance. Requires --rater.",
            min=0,
            unset=True,
        ),
    ] = 0
    rated_seed: Annotated[
        int,
        Option("Random seed of --rated. Default: 0.", min=0, unset=True, needs=("rated",)),
    ] = 0

    def __post_init__(self) -> None:
        for name in ("remove", "retrieval_accuracy"):
            if getattr(self, name) is not None and self.knowledge not in (None, "gold"):
                raise UsageError(
                    f"--{name.replace('_', '-')} starts from the gold graphs. Leave --knowledge "
                    f"{self.knowledge} out"
                )
        if self.graph is not None and self.shown == "given":
            raise UsageError(
                "--graph is for --knowledge gold or linked. --knowledge given takes the graphs "
                "of the questions"
            )
        for name in ("recognizer", "types"):
            if getattr(self, name) and self.shown != "linked":
                raise UsageError(
                    f"--{name} is for --knowledge linked. It has no effect with --knowledge "
                    f"{self.shown}"
                )

    @property
    def shown(self) -> str:
        """Graphs that the model gets: `given`, `gold` or `linked`."""
        studies = self.remove is not None or self.retrieval_accuracy is not None
        return self.knowledge or ("gold" if studies else "given")

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of linked entities. Empty: any class."""
        if not self.types:
            # The published questions are about people.
            return () if self.task == "questions" else PEOPLE
        return () if self.types == (ANY_TYPE,) else self.types

    @property
    def finder(self) -> str:
        """The recognizer of names."""
        return self.recognizer or "dictionary"

    @property
    def asks_graph(self) -> bool:
        """Whether graphs are looked up in a knowledge graph."""
        return self.shown == "linked" or self.graph is not None


BENCHMARK = Benchmark(
    name="kalma",
    doc="citations of a knowledge graph: correct and complete",
    source="Li et al. 2024, Towards Verifiable Generation: A Benchmark for Knowledge-aware "
    "Language Model Attribution",
    default_tasks=("specific", "general"),
    other_tasks=("questions",),
    options=KalmaOptions,
    make="trueground.wings.papers.kalma.task:make_task",
    studies=STUDIES,
    package=__name__,
)
add_benchmark(BENCHMARK)
