"""KaLMA (Li et al. 2024): answers that cite triples of a knowledge graph, and say what is missing.

The declaration: options, and the paper's studies. Listing benchmarks loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from trueground.benchmarks.base import Benchmark, TaskOptions
from trueground.benchmarks.studies import Delta, Measure, PaperJudge, Pivot, Studies, Sweep
from trueground.errors import UsageError
from trueground.options import Option

PEOPLE = ("human", "Q5")  # section 3.1
ANY_TYPE = "any"
NO_DEMONSTRATION = "none"


@dataclass(frozen=True, kw_only=True)
class KalmaOptions(TaskOptions):
    """How a task is asked; None where the user has said nothing."""

    knowledge: Annotated[
        Literal["given", "gold", "linked"] | None,
        Option(
            "given: the graphs that come with a question; gold: those of the entities that its "
            "minimum set names; linked: those of the entities that are found by their names in the "
            "question. Default: given"
        ),
    ] = None
    graph: Annotated[
        str | None,
        Option(
            "knowledge graph for gold and linked: a folder made by `trueground graph load`, a file "
            "of graphs or RDF, sparql:URL or wikidata. Default: all graphs of the data together"
        ),
    ] = None
    recognizer: Annotated[
        str | None,
        Option("linked: how names are found, dictionary or spacy:MODEL. Default: dictionary"),
    ] = None
    types: Annotated[
        tuple[str, ...],
        Option(
            "linked: names or ids of classes, with commas between, of which an entity must have "
            "one, or any. Default: human,Q5; for your own questions any",
            expected=f"classes with commas between, or {ANY_TYPE}",
        ),
    ] = ()
    minimum: Annotated[
        Path | None,
        Option(
            "file of minimum sets: [[question, [[qid, property, value], …]], …]",
            excludes={"synthetic-minimum": "take the sets of a file, or draw them"},
        ),
    ] = None
    first_round: Annotated[
        Path | None,
        Option(
            "file of the first round's knowledge, for variant=reference-code", needs=("minimum",)
        ),
    ] = None
    synthetic_minimum: Annotated[
        int | None,
        Option(
            "draw minimum sets of this size from the graphs; every page says that they are made up",
            min=1,
        ),
    ] = None
    minimum_seed: Annotated[
        int,
        Option("seed of that draw. Default: 0", min=0, unset=True, needs=("synthetic-minimum",)),
    ] = 0
    remove: Annotated[
        int | None,
        Option(
            "gold graphs without the first so many pieces of the minimum set: 0, 1, 2, 3",
            min=0,
            varied=True,
            excludes={"retrieval-accuracy": "study one at a time"},
        ),
    ] = None
    remove_from: Annotated[
        Literal["later", "all"],
        Option(
            "with --first-round, what --remove takes: later, only what later rounds added, as the "
            "authors do; all, the set in its order. Default: later",
            unset=True,
            needs=("remove", "first-round"),
        ),
    ] = "later"
    retrieval_accuracy: Annotated[
        int | None,
        Option(
            "gold graphs, of which so many percent stay and the others are replaced: 100, 80, 60 …",
            min=0,
            max=100,
            expected="a percentage, 0 to 100",
            varied=True,
        ),
    ] = None
    replace_seed: Annotated[
        int,
        Option(
            "seed of what is replaced, and by what. Default: 0",
            min=0,
            unset=True,
            needs=("retrieval-accuracy",),
        ),
    ] = 0
    at_temperature: Annotated[
        float | None,
        Option(
            "temperature of the answers, where several are compared; without it 0.5, or "
            "--temperature",
            min=0,
            max=2,
            expected="a number from 0 to 2, such as 0.5",
            varied=True,
        ),
    ] = None
    demonstration: Annotated[
        str | None,
        Option('worked example, {"question", "knowledge", "answer"}, or none'),
    ] = None
    rated: Annotated[
        int,
        Option(
            "rate the answers to so many of the questions asked, three times each, for coherence, "
            "consistency, fluency and relevance (needs a rater: --rater)",
            min=0,
            unset=True,
        ),
    ] = 0
    rated_seed: Annotated[
        int,
        Option("seed of whose answers are rated. Default: 0", min=0, unset=True, needs=("rated",)),
    ] = 0

    def __post_init__(self) -> None:
        for name in ("remove", "retrieval_accuracy"):
            if getattr(self, name) is not None and self.knowledge not in (None, "gold"):
                raise UsageError(
                    f"--{name.replace('_', '-')} starts from the gold graphs; leave --knowledge "
                    f"{self.knowledge} out"
                )
        if self.graph is not None and self.shown == "given":
            raise UsageError(
                "--graph is for --knowledge gold or linked; --knowledge given takes the graphs "
                "that come with the questions"
            )
        for name in ("recognizer", "types"):
            if getattr(self, name) and self.shown != "linked":
                raise UsageError(
                    f"--{name} is for --knowledge linked; it finds nothing with --knowledge "
                    f"{self.shown}"
                )

    @property
    def shown(self) -> str:
        """What the model is shown: `given`, `gold` or `linked`."""
        studies = self.remove is not None or self.retrieval_accuracy is not None
        return self.knowledge or ("gold" if studies else "given")

    @property
    def classes(self) -> tuple[str, ...]:
        """Those of which a linked entity must have one; none where it may be anything."""
        if not self.types:  # the published questions are about people
            return () if self.task == "questions" else PEOPLE
        return () if self.types == (ANY_TYPE,) else self.types

    @property
    def finder(self) -> str:
        return self.recognizer or "dictionary"

    @property
    def asks_graph(self) -> bool:
        """Whether a knowledge graph is asked: one that the user names, or that of all the data."""
        return self.shown == "linked" or self.graph is not None


# Section 5: the graphs that were retrieved, temperature 0.5, nothing taken away.
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
    """The same graphs, as much of them taken away, the same temperature; any minimum set.

    The study of retrieval accuracy is beside its own figure only, not beside a table of another.
    """
    del task
    if options.get("retrieval-accuracy") and "retrieval-accuracy" not in printed:
        return False
    known = {name: value for name, value in options.items() if value is not None}
    asked, wanted = {**_AS_RETRIEVED, **known}, {**_AS_RETRIEVED, **printed}
    return all(str(asked[name]) == value for name, value in wanted.items())


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
            note="Runs that differ in the temperature only.",
            by="at-temperature",
            first=True,
        ),
        Delta(
            id="kinds",
            title="General and specific questions",
            measures=(*_ALIGNMENT, *_CITED, *_TEXT),
            note="The same models on both kinds of questions (Table 7). Citations are over all "
            "those of a run together.",
            places={kind: {"task": (kind,)} for kind in ("general", "specific")},
            steps=(("general", "specific"),),
            free=("minimum",),
            named=(),
        ),
    ),
)  # fmt: skip

BENCHMARK = Benchmark(
    name="kalma",
    doc="citations of a knowledge graph: right, needed, complete; [NA] where knowledge is missing",
    source="Li et al. 2024, Towards Verifiable Generation: A Benchmark for Knowledge-aware "
    "Language Model Attribution",
    default_tasks=("specific", "general"),
    other_tasks=("questions",),
    options=KalmaOptions,
    make="trueground.benchmarks.kalma.task:make_task",
    studies=STUDIES,
)
