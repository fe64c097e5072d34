"""Make KaLMA's tasks: metrics, files and questions (Li et al. 2024, sections 3–5)."""

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

_TEMPERATURE, _MAX_TOKENS = 0.5, 1024  # Section 5.
_CORRECTNESS = ("citation_correctness",)
_AGAINST_MINIMUM = ("citation_precision", "citation_recall", "citation_f1")
_MISSING = ("na_precision", "na_recall", "na_f1")
_VARIANT = "(variant=reference-code)"
_RATED = (  # Appendix B.2.
    "coherence(items=sampled,runs=3)",
    "consistency(items=sampled,runs=3)",
    "fluency(shown=question,items=sampled,runs=3)",
    "relevance(items=sampled,runs=3)",
)
_CALLS_PER_ANSWER = 3 * len(_RATED)
_NO_SETS = (
    "No minimum knowledge sets are given: citations are scored for correctness and alignment only. "
    "Precision, recall and F1 need --minimum FILE."
)
_WITHOUT_SETS = "are asked without citation precision, recall and F1."


@dataclass(frozen=True)
class LoadedQuestions:
    """Questions with their minimum sets.

    Attributes:
        entries: The questions.
        files: The files that were read.
        minimum: The source of the minimum sets: a checksum, "synthetic" or "none".
        notices: Warnings about the questions.
        first_round: The knowledge of the first round, by the id of the question.
        first_round_sha256: The checksum of the file of the first round.
    """

    entries: Sequence[GraphQuestion]
    files: Sequence[Path]
    minimum: str
    notices: Sequence[str] = ()
    first_round: Mapping[str, tuple[Triple, ...]] = field(default_factory=dict)
    first_round_sha256: str | None = None

    @property
    def has_minimum(self) -> bool:
        """Whether there are minimum sets."""
        return self.minimum != "none"


def make_task(options: KalmaOptions, sources: Sources) -> Task:
    """Make the task of some options, and read its files. Graphs are looked up later.

    Raises:
        GraphError: The knowledge graph can't be opened.
        InputError: A file can't be read, or no question is left.
        UsageError: Options need minimum sets or graphs that aren't there.
    """
    prompt = make_prompt(options, sources)
    loaded = load_questions(options, sources)
    chosen = select_questions(options, loaded, sources)
    n_asked = len(chosen.entries[: sources.limit])
    notices = [*loaded.notices, *chosen.notices]
    if n_asked < options.rated:
        notices.append(
            f"Text quality is rated for the answers to all {n_asked:,} questions that are asked; "
            f"--rated {options.rated:,} would take more."
        )
    if options.rated and sources.scratch is not None:
        n_rated = min(n_asked, options.rated)
        calls = n_rated * _CALLS_PER_ANSWER
        sources.note_once(
            f"a run also asks the rater up to {calls:,} times ({_CALLS_PER_ANSWER} for each of "
            f"{n_rated:,} answers), and again for each of --repeats: the calls shown are without "
            "them"
        )
    temperature = options.at_temperature
    return Task(
        options=_identity(options, loaded, prompt, chosen.library),
        metrics=_metrics(options, loaded),
        headline="citation_f1_micro" if loaded.has_minimum else "citation_correctness_micro",
        params=Params(
            temperature=_TEMPERATURE if temperature is None else temperature,
            max_tokens=_MAX_TOKENS,
        ),
        files=tuple(FileInfo.of(str(file), file) for file in loaded.files),
        prompts=prompt.files,
        questions=_GraphQuestions(options, chosen, prompt, loaded.first_round, sources, notices),
        notices=notices,
    )


def _metrics(options: KalmaOptions, loaded: LoadedQuestions) -> tuple[str, ...]:
    names: tuple[str, ...] = _CORRECTNESS
    if loaded.has_minimum:
        names += _AGAINST_MINIMUM
    metrics: tuple[str, ...] = (*names, "alignment")
    if options.remove or any(entry.absent is not None for entry in loaded.entries):
        metrics += _MISSING
    if loaded.first_round:
        metrics += tuple(f"{name}{_VARIANT}" for name in (*names, *_MISSING))
    if options.rated:
        metrics += _RATED
    return metrics


def _identity(
    options: KalmaOptions,
    loaded: LoadedQuestions,
    prompt: KalmaPrompt,
    library: GraphLibrary | None,
) -> dict[str, str | bool | None]:
    """Return the options that determine the questions, with numbers as text."""
    temperature = options.at_temperature
    remove = options.remove
    accuracy = options.retrieval_accuracy
    identity: dict[str, str | bool | None] = {
        "knowledge": options.shown,
        "minimum": loaded.minimum,
        "remove": None if remove is None else str(remove),
        "retrieval-accuracy": None if accuracy is None else str(accuracy),
        "at-temperature": None if temperature is None else f"{temperature:g}",
        "demonstration": prompt.files[1].id if prompt.demonstration else NO_DEMONSTRATION,
    }
    if library is not None:
        identity["graph"] = library.signature
    if library is not None and options.shown == "linked":
        identity["recognizer"] = options.finder
        identity["types"] = ",".join(options.classes) or ANY_TYPE
        if library.pipeline is not None:
            identity["pipeline"] = library.pipeline
    if options.synthetic_minimum:
        identity["minimum-size"] = str(options.synthetic_minimum)
        identity["minimum-seed"] = str(options.minimum_seed)
    if accuracy is not None:
        identity["replace-seed"] = str(options.replace_seed)
    if loaded.first_round_sha256 is not None:
        identity["first-round"] = loaded.first_round_sha256
        if remove is not None:
            identity["remove-from"] = options.remove_from
    if options.rated:
        identity |= {"rated": str(options.rated), "rated-seed": str(options.rated_seed)}
    return identity


def load_questions(options: KalmaOptions, sources: Sources) -> LoadedQuestions:
    """Read the questions and minimum sets of the options.

    Raises:
        InputError: A file can't be read, or a question has a field that the run writes.
        UsageError: Options need minimum sets that aren't there.
    """
    entries, files = _read_entries(options, sources)
    _check_meta(entries, options)
    notices: list[str] = []
    size, seed = options.synthetic_minimum, options.minimum_seed
    if size is not None:
        sets, minimum = draw_sets(entries, size, seed), "synthetic"
        if all(minimum_set is None for minimum_set in sets):
            raise UsageError(
                "--synthetic-minimum takes triples of the questions' graphs, but these have no "
                "suitable triple. Name a file with --minimum"
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
        return LoadedQuestions(entries, files, minimum, notices)
    pairs = list(zip(entries, read_sets(path, entries), strict=True))
    needed = [triples for entry, triples in pairs if entry.minimum is not None]
    without = sum(triples is None for triples in needed)
    if without:
        notices.append(
            f"The file of the first round has nothing for {without:,} of {len(needed):,} questions "
            "with a minimum set: all of it counts as found later."
        )
    first_round = {entry.id: triples for entry, triples in pairs if triples is not None}
    return LoadedQuestions(entries, [*files, path], minimum, notices, first_round, _sha256(path))


def _check_meta(entries: Sequence[GraphQuestion], options: KalmaOptions) -> None:
    """Check that no question has a field that the run writes. Raises InputError."""
    for option, is_set, name in (
        ("--rated", options.rated, "sampled"),
        ("--first-round", options.first_round, "first_round_knowledge"),
    ):
        for entry in entries if is_set else ():
            if name in entry.meta:
                raise InputError(
                    f"question {entry.id!r}: found meta.{name}, which {option} writes; expected a "
                    f"question without it. Rename it, or leave {option} out"
                )


def _read_entries(
    options: KalmaOptions, sources: Sources
) -> tuple[list[GraphQuestion], list[Path]]:
    """Return the questions and their files. Runs of one command read a file only once.

    Files of minimum sets may refer to a published entry by its other question.
    """
    both = options.minimum is not None
    key = ("kalma", options.task, sources.data, both)
    if key not in sources.shared:
        if options.task == "questions":
            sources.shared[key] = read_own(sources.data)
        else:
            sources.shared[key] = read_published(options.task, sources.data, both=both)
    entries, files = sources.shared[key]
    return list(entries), list(files)


def _mixed(what: str, entries: Sequence[GraphQuestion], sets: Sets) -> list[str]:
    """Return a warning if some questions keep their declared set, as there is no other one."""
    pairs = zip(entries, sets, strict=True)
    n_declared = sum(new is None and entry.minimum is not None for entry, new in pairs)
    if not n_declared:
        return []
    n_new = sum(new is not None for new in sets)
    return [
        f"The minimum knowledge sets are of two sources: {n_new:,} of {len(sets):,} questions have "
        f"the one {what}, {n_declared:,} their own gold_knowledge."
    ]


def _with_sets(entries: Sequence[GraphQuestion], sets: Sets) -> list[GraphQuestion]:
    pairs = zip(entries, sets, strict=True)
    return [entry if new is None else replace(entry, minimum=new) for entry, new in pairs]


def _check_needed(options: KalmaOptions) -> None:
    """Raise UsageError if an option needs minimum sets, of which there are none."""
    for is_set, reason in (
        (options.remove is not None, "--remove removes pieces of the minimum sets"),
        (
            options.retrieval_accuracy is not None,
            "--retrieval-accuracy starts from the gold graphs",
        ),
        (options.shown == "gold", "--knowledge gold shows what the minimum sets name"),
    ):
        if is_set:
            remedies = "Name a file with --minimum"
            if options.task == "questions":
                remedies += ", add gold_knowledge to the questions"
            raise UsageError(
                f"{reason}, and there are none. {remedies}, or use --synthetic-minimum N"
            )


def _sha256(path: Path) -> str:
    return FileInfo.of(str(path), path).sha256


@dataclass(frozen=True)
class ChosenQuestions:
    """The questions to ask.

    Attributes:
        entries: The questions.
        graphs: Returns the graphs of each question, or None in a dry run that doesn't look them
            up. The first call looks them up.
        library: The knowledge graph, if one is used.
        notices: Warnings about questions that are left out.
    """

    entries: Sequence[GraphQuestion]
    graphs: Callable[[], Shown | None]
    library: GraphLibrary | None
    notices: Sequence[str]


def select_questions(
    options: KalmaOptions, loaded: LoadedQuestions, sources: Sources
) -> ChosenQuestions:
    """Leave out published questions without graphs or a minimum set, as they can't be scored.

    All questions of a user are asked. With a knowledge graph, only questions within the limit are
    looked up.

    Raises:
        GraphError: The knowledge graph can't be opened.
        InputError: No question is left.
        UsageError: There are no graphs.
    """
    every, is_users = loaded.entries, options.task == "questions"
    bare = {i for i, entry in enumerate(every) if loaded.has_minimum and entry.minimum is None}
    consequence = _WITHOUT_SETS if is_users else "are left out."

    def warn_about(indices: set[int], lack: str) -> list[str]:
        if not indices:
            return []
        return [f"{len(indices):,} of {len(every):,} questions have {lack} and {consequence}"]

    if options.asks_graph:
        numbers = [i for i in range(len(every)) if is_users or i not in bare]
        if options.retrieval_accuracy is None:
            numbers = numbers[: sources.limit]
        entries = [every[i] for i in numbers]
        library = open_library(options, every, sources)
        graphs = _graphs_of(options, entries, library, sources)
        return ChosenQuestions(entries, graphs, library, warn_about(bare, "no minimum set"))
    if options.shown == "given":
        all_graphs = [list(entry.graphs or ()) for entry in every]
    else:
        all_graphs = gold_graphs(every)
    blank = {i for i, graphs in enumerate(all_graphs) if not graphs}
    left_out = set() if is_users else blank | bare
    if len(blank | left_out) == len(every):
        raise InputError(_no_questions_message(options, loaded, len(blank)))
    numbers = [i for i in range(len(every)) if i not in left_out]
    notices = [] if is_users else warn_about(blank, "no graph to show")
    notices += warn_about(bare if is_users else bare - blank, "no minimum set")
    ready = [all_graphs[i] for i in numbers]
    return ChosenQuestions([every[i] for i in numbers], lambda: ready, None, notices)


def _graphs_of(
    options: KalmaOptions,
    entries: Sequence[GraphQuestion],
    library: GraphLibrary,
    sources: Sources,
) -> Callable[[], Shown | None]:
    """Return a function that looks up the graphs of the entries, once."""
    gold, questions = options.shown == "gold", [entry.question for entry in entries]
    if gold:
        for entry in entries:
            library.want(qids=entry.entities)
    else:
        library.want(questions=questions)

    @cache
    def graphs() -> Shown | None:
        message = library.dry_run_message()
        if message:
            sources.note_once(message)
            return None
        return gold_graphs(entries, library) if gold else library.linked(questions)

    return graphs


def _no_questions_message(options: KalmaOptions, loaded: LoadedQuestions, n_blank: int) -> str:
    total = len(loaded.entries)
    paths = ", ".join(map(str, loaded.files))
    if n_blank < total:
        return (
            f"{paths}: none of the {total:,} questions has both a graph and a minimum set; "
            "expected sets of questions with graphs. Name another file with --minimum"
        )
    lacks, instead = "comes with a graph", "linked"
    if options.shown == "gold":
        lacks = "has a graph to show: none comes with a question for what the minimum sets name"
        instead = "gold"
    return (
        f"{paths}: none of the {total:,} questions {lacks}; expected graphs with the questions, or "
        f"a knowledge graph: --knowledge {instead} --graph GRAPH"
    )


@dataclass
class _GraphQuestions:
    """Stream of the questions. The first call looks up, removes and replaces graphs.

    It also adds warnings about missing graphs to `notices`, and shows all warnings.
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
        fetched = self.chosen.graphs()
        all_graphs: Shown = [[] for _ in entries] if fetched is None else fetched
        if fetched is not None:
            self.notices += self._warn_of_missing(entries[:limit], all_graphs[:limit])
        wrong: Sequence[int | None] = [None] * len(entries)
        if options.retrieval_accuracy is not None:
            accuracy, seed = options.retrieval_accuracy, options.replace_seed
            all_graphs, wrong = replace_graphs(entries, all_graphs, accuracy, seed)
        pairs = list(zip(entries, all_graphs, strict=True))[:limit]
        with_graphs = [entry.id for entry, graphs in pairs if graphs]
        sampled = set(rank_by_seed(with_graphs, f"rated/{options.rated_seed}")[: options.rated])
        for entry, graphs, number in zip(entries, all_graphs, wrong, strict=True):
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
                meta["sampled"] = entry.id in sampled
            is_unknown = entry.absent is None and not options.remove
            yield Record(
                id=entry.id,
                response="",
                question=entry.question,
                knowledge=list(graphs),
                gold_knowledge=None if entry.minimum is None else list(entry.minimum),
                absent_knowledge=None if is_unknown else absent,
                group=entry.group or entry.id,
                meta=meta | entry.meta,
            )

    def _remove(
        self, entry: GraphQuestion, graphs: Sequence[Graph], number: int
    ) -> tuple[list[Graph], list[Triple]]:
        staying = self.first_round.get(entry.id, ()) if self.options.remove_from == "later" else ()
        return remove_pieces(graphs, entry.minimum or (), number, staying)

    def _warn_of_missing(self, entries: Sequence[GraphQuestion], all_graphs: Shown) -> list[str]:
        """Count questions without graphs, without all gold graphs, or with too few pieces."""
        pairs = list(zip(entries, all_graphs, strict=True))
        warnings = []
        total, number = f"of {len(pairs):,} questions", self.options.remove
        blank = sum(not graphs for _, graphs in pairs)
        if blank:
            warnings.append(
                f"{blank:,} {total} have no graph to show; their citations are not scored."
            )
        partly = sum(not {*entry.entities} <= set(map(qid_of, graphs)) for entry, graphs in pairs)
        if partly and self.options.shown == "gold":
            warnings.append(
                f"{partly:,} {total} lack the graph of some entity that their minimum set names."
            )
        fewer = number and sum(len(self._remove(*pair, number)[1]) < number for pair in pairs)
        if fewer:
            exception = ""
            if self.first_round and self.options.remove_from == "later":
                exception = " in addition to the first round's"
            warnings.append(
                f"{fewer:,} {total} lose fewer than {number} pieces: their graphs do not have so "
                f"many of their minimum set{exception}."
            )
        return warnings
