"""Which questions are asked: those that have what the scores need, and the graphs of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueground.benchmarks.base import Sources
from trueground.benchmarks.kalma import KalmaOptions
from trueground.benchmarks.kalma.knowing import KnownQuestions
from trueground.benchmarks.kalma.library import GraphLibrary
from trueground.benchmarks.kalma.shown import ShownGraphs, graphs_for
from trueground.benchmarks.kalma.source import GraphQuestion
from trueground.errors import InputError


@dataclass(frozen=True)
class ChosenQuestions:
    """The questions to ask with their graphs, and what to say of the others.

    `library` is the knowledge graph that the graphs come from, where one is asked.
    """

    entries: Sequence[GraphQuestion]
    graphs: ShownGraphs
    library: GraphLibrary | None
    notices: Sequence[str]


def choose(settings: KalmaOptions, known: KnownQuestions, sources: Sources) -> ChosenQuestions:
    """Published questions without a graph to show or a minimum set buy no score: they are left out.

    Of a user's own all are asked. What a knowledge graph has for a question is not known yet; only
    those within the limit are looked up there. UsageError, GraphError; InputError: none is left.
    """
    every = known.entries
    bare = {i for i, one in enumerate(every) if known.has_minimum and one.minimum is None}
    told = "are left out." if settings.task != "questions" else _WITHOUT_SETS
    if settings.asks_graph:
        numbers = [i for i in range(len(every)) if (settings.task == "questions") or i not in bare]
        within = numbers if settings.retrieval_accuracy is not None else numbers[: sources.limit]
        graphs, library = graphs_for(settings, every, within, sources)
        notices = _told(bare, every, "no minimum set", told)
        return ChosenQuestions([every[i] for i in within], graphs, library, notices)
    shown = graphs_for(settings, every, range(len(every)), sources)[0].get()
    blank = {i for i, own in enumerate(shown) if not own}
    left_out = set() if (settings.task == "questions") else blank | bare
    if len(blank | left_out) == len(every):
        raise InputError(_nothing(settings, known, len(blank)))
    kept = [i for i in range(len(every)) if i not in left_out]
    notices = (
        [] if (settings.task == "questions") else _told(blank, every, "no graph to show", told)
    )
    bare = bare if (settings.task == "questions") else bare - blank
    notices += _told(bare, every, "no minimum set", told)
    return ChosenQuestions(
        [every[i] for i in kept], ShownGraphs([shown[i] for i in kept]), None, notices
    )


_WITHOUT_SETS = "are asked without citation precision, recall and F1."


def _told(those: set[int], every: Sequence[GraphQuestion], what: str, told: str) -> list[str]:
    if not those:
        return []
    return [f"{len(those):,} of {len(every):,} questions have {what} and {told}"]


def _nothing(settings: KalmaOptions, known: KnownQuestions, blank: int) -> str:
    total, place = len(known.entries), ", ".join(map(str, known.files))
    if blank < total:
        return (
            f"{place}: none of the {total:,} questions has both a graph and a minimum set; "
            "expected sets of questions with graphs. Name another file with --minimum"
        )
    lacks = "comes with a graph"
    if settings.shown == "gold":
        lacks = "has a graph to show: none comes with a question for what the minimum sets name"
    return (
        f"{place}: none of the {total:,} questions {lacks}; expected graphs with the questions, or "
        f"a knowledge graph: --knowledge {'gold' if settings.shown == 'gold' else 'linked'} "
        "--graph GRAPH"
    )
