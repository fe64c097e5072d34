"""`build grounding`: questions, gold facts, conflicting versions and distractors (Truly-Ground)."""

from __future__ import annotations

from collections.abc import Mapping

from trueground.benchmarks.base import BenchmarkOption, Value
from trueground.builders.base import Builder, BuildPlan, Material, Role
from trueground.builders.grounding.settings import OPTIONS, PROMPTS, ROLES

_OPTIONS = (
    BenchmarkOption(
        "decomposer", "rules", "takes contexts apart into facts: rules, or llm:MODEL(base_url=URL)"
    ),
    BenchmarkOption(
        "fact-judge", "lexical", "says whether a context holds a gold fact; any judge of `score`"
    ),
    BenchmarkOption(
        "conflict",
        "full",
        "none: the original version alone, without changed knowledge",
        ("full", "none"),
    ),
    BenchmarkOption("distractors", "40", "passages of other documents a question; 0: none"),
    BenchmarkOption("retriever", "bm25", "finds them: bm25 or dense:MODEL"),
)


def _prepare(options: Mapping[str, Value], material: Material) -> BuildPlan:
    from trueground.builders.grounding.plan import prepare

    return prepare(options, material)


BUILDER = Builder(
    name="grounding",
    doc="gold facts, a conflicting version and distractors: a benchmark as Truly-Ground",
    source="Lee et al. 2024, section 3.2",
    takes="documents with their popularity and links: JSON lines, CSV, or a folder of texts",
    roles=(*ROLES, Role("second-judge", "who proposes gold facts too, for kappa", needed=False)),
    options=(*OPTIONS, *_OPTIONS),
    prompts=(*PROMPTS, "gold", "enough", "conflict", "consistent", "follows"),
    prepare=_prepare,
)
