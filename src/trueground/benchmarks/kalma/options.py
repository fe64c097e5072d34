"""The benchmark's options on the command line, with their defaults."""

from __future__ import annotations

from trueground.benchmarks.base import BenchmarkOption

OPTIONS = (
    BenchmarkOption(
        "knowledge",
        None,
        "given: the graphs that come with a question; gold: those of the entities that its minimum "
        "set names; linked: those of the entities that are found by their names in the question. "
        "Default: given",
    ),
    BenchmarkOption(
        "graph",
        None,
        "knowledge graph for gold and linked: a folder made by `trueground graph load`, a file of "
        "graphs or RDF, sparql:URL or wikidata. Default: all graphs of the data together",
    ),
    BenchmarkOption(
        "recognizer",
        None,
        "linked: how names are found, dictionary or spacy:MODEL. Default: dictionary",
    ),
    BenchmarkOption(
        "types",
        None,
        "linked: names or ids of classes, with commas between, of which an entity must have one, "
        "or any. Default: human,Q5; for your own questions any",
    ),
    BenchmarkOption(
        "minimum", None, "file of minimum sets: [[question, [[qid, property, value], …]], …]"
    ),
    BenchmarkOption(
        "first-round", None, "file of the first round's knowledge, for variant=reference-code"
    ),
    BenchmarkOption(
        "synthetic-minimum",
        None,
        "draw minimum sets of this size from the graphs; every page says that they are made up",
    ),
    BenchmarkOption("minimum-seed", None, "seed of that draw. Default: 0"),
    BenchmarkOption(
        "remove",
        None,
        "gold graphs without the first so many pieces of the minimum set: 0, 1, 2, 3",
        varied=True,
    ),
    BenchmarkOption(
        "remove-from",
        None,
        "with --first-round, what --remove takes: later, only what later rounds added, as the "
        "authors do; all, the set in its order. Default: later",
    ),
    BenchmarkOption(
        "retrieval-accuracy",
        None,
        "gold graphs, of which so many percent stay and the others are replaced: 100, 80, 60 …",
        varied=True,
    ),
    BenchmarkOption("replace-seed", None, "seed of what is replaced, and by what. Default: 0"),
    BenchmarkOption(
        "at-temperature",
        None,
        "temperature of the answers, where several are compared; without it 0.5, or --temperature",
        varied=True,
    ),
    BenchmarkOption(
        "demonstration", None, 'worked example, {"question", "knowledge", "answer"}, or none'
    ),
    BenchmarkOption(
        "rated",
        None,
        "rate the answers to so many of the questions asked, three times each, for coherence, "
        "consistency, fluency and relevance (needs a rater: --rater)",
    ),
    BenchmarkOption("rated-seed", None, "seed of whose answers are rated. Default: 0"),
)
