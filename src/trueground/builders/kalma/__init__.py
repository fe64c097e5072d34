"""`build kalma`: questions that need a minimum set of triples of a graph (Li et al. 2024).

Only the declaration stands here, so that listing builders loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping

from trueground.benchmarks.base import BenchmarkOption, Value
from trueground.builders.base import Builder, BuildPlan, Material, Role

_OPTIONS = (
    BenchmarkOption("graph", None, "folder of `graph load`, file, wikidata or sparql:URL; needed"),
    BenchmarkOption(
        "on-bad-row", "stop", "what a wrong row does: end all, or be left out", ("stop", "skip")
    ),
    BenchmarkOption("name-words", "1", "names of fewer words are incomplete; 2 for people"),
    BenchmarkOption("types", "any", "classes of the entities, as human,Q5"),
    BenchmarkOption("relation-map", None, 'JSON: {"relation": ["property of the graph", …], …}'),
    BenchmarkOption("all-edges", "no", "accept any edge between the two", ("yes", "no")),
    BenchmarkOption(
        "skip-properties",
        "trivial",
        "never cited: properties with commas between, trivial, or none",
    ),
    BenchmarkOption("alpha", "0.5", "weight of a rare relation against a fluent sentence, 0 to 1"),
    BenchmarkOption(
        "coherence",
        "softmax",
        "how fluency is weighed: softmax, the paper's, decides near-ties only and rates no others; "
        "scaled weighs as --alpha says, and rates every candidate",
        ("softmax", "scaled"),
    ),
    BenchmarkOption("perplexity", None, "who rates sentences; needed unless --alpha is 1"),
    BenchmarkOption("candidates", "100", "triples that are rated in a round, rarest relations"),
    BenchmarkOption("counts", None, "counts.json of a build, in place of those of these rows"),
    BenchmarkOption("templates", None, "JSON: sentences for noun, verb and adjective relations"),
    BenchmarkOption("rounds", "5", "the first annotates, each other adds a triple"),
    BenchmarkOption("minimum-rounds", None, "items of fewer rounds fall; default: all rounds"),
    BenchmarkOption("language", "check", "check: no other language; any", ("check", "any")),
    BenchmarkOption(
        "require-authentic", "no", "leave out what the judge finds wrong", ("yes", "no")
    ),
    BenchmarkOption(
        "require-said",
        "auto",
        "leave out sentences that do not say what they cite; auto: where there is a judge",
        ("auto", "yes", "no"),
    ),
)


def _prepare(options: Mapping[str, Value], material: Material) -> BuildPlan:
    from trueground.builders.kalma.plan import prepare

    return prepare(options, material)


BUILDER = Builder(
    name="kalma",
    doc="General and specific questions about linked entities, with the triples that they need",
    source="Li et al. 2024, KaLMA",
    takes="files or folders of rows with paragraph, head, relation and tail",
    roles=(
        Role("writer", "who annotates, extends and asks"),
        Role("judge", "who judges the new sentences and the questions.", needed=False),
    ),
    options=_OPTIONS,
    prompts=("annotate", "extend", "said", "general", "specific", "judge"),
    prepare=_prepare,
)
