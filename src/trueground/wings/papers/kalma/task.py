"""The tasks: options → metrics, files and a stream of questions (Li et al. 2024, sections 3–5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from trueground.benchmarks import Question, Sources, Task
from trueground.errors import InputError, UsageError
from trueground.models import Params
from trueground.records import FileInfo
from trueground.types import Graph, Record, Triple
from trueground.wings.papers.kalma import ANY_TYPE, NO_DEMONSTRATION, KalmaOptions
from trueground.wings.papers.kalma.graphs import (
    GraphLibrary,
    Shown,
    gold_graphs,
    open_library,
    qid_of,
    remove_pieces,
    replace_graphs,
)
from trueground.wings.papers.kalma.source import (
    GraphQuestion,
    KalmaPrompt,
    Sets,
    draw_sets,
    make_prompt,
    rank_by_seed,
    read_own,
    read_published,
    read_sets,
)

_TEMPERATURE, _MAX_TOKENS = 0.5, 1024  # section 5
_CORRECTNESS = ("citation_correctness",)
_AGAINST_MINIMUM = ("citation_precision", "citation_recall", "citation_f1")
_MISSING = ("na_precision", "na_recall", "na_f1")
_VARIANT = "(variant=reference-code)"
_RATED = (  # appendix B.2
    "coherence(items=sampled,runs=3)",
    "consistency(items=sampled,runs=3)",
    "fluency(shown=question,items=sampled,runs=3)",
    "relevance(items=sampled,runs=3)",
)
_CALLS = 3 * len(_RATED)
_NO_SETS = (
    "No minimum knowledge sets are given: citations are scored for correctness and alignment only. "
    "Precision, recall and F1 need --minimum FILE."
)
_WITHOUT_SETS = "are asked without citation precision, recall and F1."


@dataclass(frozen=True)
class KnownQuestions:
    """The questions with their minimum sets, and what to say of them.

    `minimum` says where the sets come from: a checksum, "synthetic" or "none". `first_round` maps
    ids of questions to that round's knowledge.
    """

    entries: Sequence[GraphQuestion]
    files: Sequence[Path]
    minimum: str
    notices: Sequence[str] = ()
    first_round: Mapping[str, tuple[Triple, ...]] = field(default_factory=dict)
    first_round_sha256: str | None = None

    @property
    def has_minimum(self) -> bool:
        return self.minimum != "none"


def make_task(options: KalmaOptions, sources: Sources) -> Task:
    """The task, its files read; graphs are asked later. UsageError, InputError, GraphError."""
    prompt = make_prompt(options, sources)
    known = read_known(options, sources)
    chosen = choose(options, known, sources)
    asked = len(chosen.entries[: sources.limit])
    notices = [*known.notices, *chosen.notices]
    if asked < options.rated:
        notices.append(
            f"Text quality is rated for the answers to all {asked:,} questions that are asked; "
            f"--rated {options.rated:,} would take more."
        )
    if options.rated and sources.scratch is not None:
        rated = min(asked, options.rated)
        sources.note_once(
            f"a run also asks the rater up to {rated * _CALLS:,} times ({_CALLS} for each of "
            f"{rated:,} answers), and again for each of --repeats: the calls shown are without them"
        )
    hot = options.at_temperature
    return Task(
        options=_identity(options, known, prompt, chosen.library),
        metrics=_metrics(options, known),
        headline="citation_f1_micro" if known.has_minimum else "citation_correctness_micro",
        params=Params(temperature=_TEMPERATURE if hot is None else hot, max_tokens=_MAX_TOKENS),
        files=tuple(FileInfo.of(str(file), file) for file in known.files),
        prompts=prompt.files,
        questions=_GraphQuestions(options, chosen, prompt, known.first_round, sources, notices),
        notices=notices,
    )


def _metrics(options: KalmaOptions, known: KnownQuestions) -> tuple[str, ...]:
    names = _CORRECTNESS + _AGAINST_MINIMUM * known.has_minimum
    found = (*names, "alignment")
    if options.remove or any(entry.absent is not None for entry in known.entries):
        found += _MISSING
    if known.first_round:
        found += tuple(f"{name}{_VARIANT}" for name in (*names, *_MISSING))
    return found + _RATED * bool(options.rated)


def _identity(
    options: KalmaOptions,
    known: KnownQuestions,
    prompt: KalmaPrompt,
    library: GraphLibrary | None,
) -> dict[str, str | bool | None]:
    """The options that fix the questions; numbers as text."""
    hot, remove, accuracy = options.at_temperature, options.remove, options.retrieval_accuracy
    found: dict[str, str | bool | None] = {
        "knowledge": options.shown,
        "minimum": known.minimum,
        "remove": None if remove is None else str(remove),
        "retrieval-accuracy": None if accuracy is None else str(accuracy),
        "at-temperature": None if hot is None else f"{hot:g}",
        "demonstration": prompt.files[1].id if prompt.demonstration else NO_DEMONSTRATION,
    }
    if library is not None:
        found["graph"] = library.signature
    if library is not None and options.shown == "linked":
        found["recognizer"] = options.finder
        found["types"] = ",".join(options.classes) or ANY_TYPE
        if library.pipeline is not None:
            found["pipeline"] = library.pipeline
    if options.synthetic_minimum:
        found["minimum-size"] = str(options.synthetic_minimum)
        found["minimum-seed"] = str(options.minimum_seed)
    if accuracy is not None:
        found["replace-seed"] = str(options.replace_seed)
    if known.first_round_sha256 is not None:
        found["first-round"] = known.first_round_sha256
        if remove is not None:
            found["remove-from"] = options.remove_from
    if options.rated:
        found |= {"rated": str(options.rated), "rated-seed": str(options.rated_seed)}
    return found


def read_known(options: KalmaOptions, sources: Sources) -> KnownQuestions:
    """Read the files that the options name. UsageError, InputError."""
    entries, files = _read_entries(options, sources)
    for option, given, name in (
        ("--rated", options.rated, "sampled"),
        ("--first-round", options.first_round, "first_round_knowledge"),
    ):
        for entry in entries if given else ():
            if name in entry.meta:
                raise InputError(
                    f"question {entry.id!r}: found meta.{name}, which {option} writes; expected a "
                    f"question without it. Rename it, or leave {option} out"
                )
    notices: list[str] = []
    size, seed = options.synthetic_minimum, options.minimum_seed
    if size is not None:
        sets, minimum = draw_sets(entries, size, seed), "synthetic"
        if all(one is None for one in sets):
            raise UsageError(
                "--synthetic-minimum draws from the graphs that come with the questions, and these "
                "have no triple that could be needed; name a file with --minimum"
            )
        notices += [
            f"The minimum knowledge sets are synthetic: up to {size} triples of each question's "
            f"graphs, drawn with seed {seed}. Precision, recall and F1 of citations cannot be "
            "compared with published ones.",
            *_mixed("drawn", entries, sets),
        ]
        entries = _with_sets(entries, sets)
    elif options.minimum is not None:
        sets, minimum = read_sets(options.minimum, entries), _sha256(options.minimum)
        notices += _mixed(f"of {options.minimum.name}", entries, sets)
        entries, files = _with_sets(entries, sets), [*files, options.minimum]
    elif any(entry.minimum is not None for entry in entries):
        minimum = _sha256(files[0])
    else:
        _check_needed(options)
        minimum = "none"
        notices.append(_NO_SETS)
    path = options.first_round
    if path is None:
        return KnownQuestions(entries, files, minimum, notices)
    pairs = list(zip(entries, read_sets(path, entries), strict=True))
    needed = [one for entry, one in pairs if entry.minimum is not None]
    if without := sum(one is None for one in needed):
        notices.append(
            f"The file of the first round has nothing for {without:,} of {len(needed):,} questions "
            "with a minimum set: all of it counts as found later."
        )
    first_round = {entry.id: one for entry, one in pairs if one is not None}
    return KnownQuestions(entries, [*files, path], minimum, notices, first_round, _sha256(path))


def _read_entries(
    options: KalmaOptions, sources: Sources
) -> tuple[list[GraphQuestion], list[Path]]:
    """The questions; several runs of one command read a file once.

    Files of minimum sets may name a published entry by its other question.
    """
    both = options.minimum is not None
    key = ("kalma", options.task, sources.data, both)
    if key not in sources.shared:
        sources.shared[key] = (
            read_own(sources.data)
            if options.task == "questions"
            else read_published(options.task, sources.data, both=both)
        )
    entries, files = sources.shared[key]
    return list(entries), list(files)


def _mixed(what: str, entries: Sequence[GraphQuestion], sets: Sets) -> list[str]:
    """That some questions keep the set that stands with them, as there is no other for them."""
    pairs = zip(entries, sets, strict=True)
    own = sum(one is None and entry.minimum is not None for entry, one in pairs)
    if not own:
        return []
    other = sum(one is not None for one in sets)
    return [
        f"The minimum knowledge sets are of two sources: {other:,} of {len(sets):,} questions have "
        f"the one {what}, {own:,} the gold_knowledge that stands with them."
    ]


def _with_sets(entries: Sequence[GraphQuestion], sets: Sets) -> list[GraphQuestion]:
    pairs = zip(entries, sets, strict=True)
    return [entry if one is None else replace(entry, minimum=one) for entry, one in pairs]


def _check_needed(options: KalmaOptions) -> None:
    """UsageError: an option that starts from minimum sets, and there are none."""
    for wanted, why in (
        (options.remove is not None, "--remove takes pieces of the minimum sets away"),
        (
            options.retrieval_accuracy is not None,
            "--retrieval-accuracy starts from the gold graphs",
        ),
        (options.shown == "gold", "--knowledge gold shows what the minimum sets name"),
    ):
        if wanted:
            own = ", gold_knowledge with the questions" * (options.task == "questions")
            raise UsageError(
                f"{why}, and there are none: name a file with --minimum{own}, or draw sets with "
                "--synthetic-minimum N"
            )


def _sha256(path: Path) -> str:
    return FileInfo.of(str(path), path).sha256


@dataclass(frozen=True)
class ChosenQuestions:
    """The questions to ask, and what to say of the others.

    `graphs()` gives the graphs of each, None where a dry run does not ask for them; the first call
    asks. `library` is the knowledge graph that they come from, where one is asked.
    """

    entries: Sequence[GraphQuestion]
    graphs: Callable[[], Shown | None]
    library: GraphLibrary | None
    notices: Sequence[str]


def choose(options: KalmaOptions, known: KnownQuestions, sources: Sources) -> ChosenQuestions:
    """Published questions without a graph to show or a minimum set buy no score: they are left out.

    Of a user's own all are asked. What a knowledge graph has for a question is not known yet; only
    those within the limit are looked up there. UsageError, GraphError; InputError: none is left.
    """
    every, own = known.entries, options.task == "questions"
    bare = {i for i, one in enumerate(every) if known.has_minimum and one.minimum is None}
    then = _WITHOUT_SETS if own else "are left out."

    def tell(those: set[int], what: str) -> list[str]:
        return [f"{len(those):,} of {len(every):,} questions have {what} and {then}"] * bool(those)

    if options.asks_graph:
        numbers = [i for i in range(len(every)) if own or i not in bare]
        if options.retrieval_accuracy is None:
            numbers = numbers[: sources.limit]
        entries = [every[i] for i in numbers]
        library = open_library(options, every, sources)
        graphs = _graphs_of(options, entries, library, sources)
        return ChosenQuestions(entries, graphs, library, tell(bare, "no minimum set"))
    if options.shown == "given":
        shown = [list(entry.graphs or ()) for entry in every]
    else:
        shown = gold_graphs(every)
    blank = {i for i, graphs in enumerate(shown) if not graphs}
    left_out = set() if own else blank | bare
    if len(blank | left_out) == len(every):
        raise InputError(_nothing(options, known, len(blank)))
    numbers = [i for i in range(len(every)) if i not in left_out]
    notices = [] if own else tell(blank, "no graph to show")
    notices += tell(bare if own else bare - blank, "no minimum set")
    ready = [shown[i] for i in numbers]
    return ChosenQuestions([every[i] for i in numbers], lambda: ready, None, notices)


def _graphs_of(
    options: KalmaOptions,
    entries: Sequence[GraphQuestion],
    library: GraphLibrary,
    sources: Sources,
) -> Callable[[], Shown | None]:
    """What asks the library for the graphs of the entries, once."""
    gold, questions = options.shown == "gold", [entry.question for entry in entries]
    if gold:
        library.want(qids=(qid for entry in entries for qid in entry.entities))
    else:
        library.want(questions=questions)

    @cache
    def graphs() -> Shown | None:
        if left := library.left_to_run():
            sources.note_once(left)
            return None
        return gold_graphs(entries, library) if gold else library.linked(questions)

    return graphs


def _nothing(options: KalmaOptions, known: KnownQuestions, blank: int) -> str:
    total, place = len(known.entries), ", ".join(map(str, known.files))
    if blank < total:
        return (
            f"{place}: none of the {total:,} questions has both a graph and a minimum set; "
            "expected sets of questions with graphs. Name another file with --minimum"
        )
    lacks, instead = "comes with a graph", "linked"
    if options.shown == "gold":
        lacks = "has a graph to show: none comes with a question for what the minimum sets name"
        instead = "gold"
    return (
        f"{place}: none of the {total:,} questions {lacks}; expected graphs with the questions, or "
        f"a knowledge graph: --knowledge {instead} --graph GRAPH"
    )


@dataclass
class _GraphQuestions:
    """Streams the questions. The first call fetches, removes and replaces, once.

    It adds to `notices` what the graphs lack, and tells all of them, before anything is asked.
    """

    options: KalmaOptions
    chosen: ChosenQuestions
    prompt: KalmaPrompt
    first_round: Mapping[str, tuple[Triple, ...]]
    sources: Sources
    notices: list[str]
    records: list[Record] | None = None

    def __call__(self) -> Iterator[Question]:
        if self.records is None:
            self.records = list(self._make_records())
            for notice in self.notices:
                self.sources.note_once(notice)
        for record in self.records:
            messages = self.prompt.messages(record.question or "", record.knowledge or ())
            yield Question(record, messages)

    def _make_records(self) -> Iterator[Record]:
        options, entries, limit = self.options, self.chosen.entries, self.sources.limit
        found = self.chosen.graphs()
        shown: Shown = [[] for _ in entries] if found is None else found
        if found is not None:
            self.notices += self._lacking(entries[:limit], shown[:limit])
        wrong: Sequence[int | None] = [None] * len(entries)
        if options.retrieval_accuracy is not None:
            accuracy, seed = options.retrieval_accuracy, options.replace_seed
            shown, wrong = replace_graphs(entries, shown, accuracy, seed)
        pairs = list(zip(entries, shown, strict=True))[:limit]
        with_graphs = [one.id for one, graphs in pairs if graphs]
        drawn = set(rank_by_seed(with_graphs, f"rated/{options.rated_seed}")[: options.rated])
        for entry, graphs, number in zip(entries, shown, wrong, strict=True):
            meta: dict[str, Any] = {"entry": entry.id, "graphs": len(graphs)}
            absent = list(entry.absent or ())
            if options.remove is not None:
                graphs, removed = self._remove(entry, graphs, options.remove)
                absent += removed
                meta["removed"] = len(removed)
            if number is not None:
                meta["wrong"] = number
            if self.first_round:
                meta["first_round_knowledge"] = list(self.first_round.get(entry.id, ()))
            if options.rated:
                meta["sampled"] = entry.id in drawn
            nothing_said = entry.absent is None and not options.remove
            yield Record(
                id=entry.id,
                response="",
                question=entry.question,
                knowledge=list(graphs),
                gold_knowledge=None if entry.minimum is None else list(entry.minimum),
                absent_knowledge=None if nothing_said else absent,
                group=entry.group or entry.id,
                meta=meta | entry.meta,
            )

    def _remove(
        self, entry: GraphQuestion, graphs: Sequence[Graph], number: int
    ) -> tuple[list[Graph], list[Triple]]:
        staying = self.first_round.get(entry.id, ()) if self.options.remove_from == "later" else ()
        return remove_pieces(graphs, entry.minimum or (), number, staying)

    def _lacking(self, entries: Sequence[GraphQuestion], shown: Shown) -> list[str]:
        """How many questions have no graph, not all gold graphs, or fewer pieces than go."""
        pairs, found = list(zip(entries, shown, strict=True)), []
        total, number = f"of {len(pairs):,} questions", self.options.remove
        if blank := sum(not graphs for _, graphs in pairs):
            found.append(
                f"{blank:,} {total} have no graph to show; their citations are not scored."
            )
        partly = sum(not {*entry.entities} <= set(map(qid_of, graphs)) for entry, graphs in pairs)
        if partly and self.options.shown == "gold":
            found.append(
                f"{partly:,} {total} lack the graph of some entity that their minimum set names."
            )
        fewer = number and sum(len(self._remove(*pair, number)[1]) < number for pair in pairs)
        if fewer:
            left = (
                " beside the first round's"
                if self.first_round and self.options.remove_from == "later"
                else ""
            )
            found.append(
                f"{fewer:,} {total} lose fewer than {number} pieces: their graphs do not have so "
                f"many of their minimum set{left}."
            )
        return found
