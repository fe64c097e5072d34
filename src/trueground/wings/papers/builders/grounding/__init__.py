"""`build grounding`: questions, gold facts, conflicting versions and distractors (Truly-Ground).

Only the declaration stands here, so that listing builders loads nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from trueground.options import Option, declared_options
from trueground.wings.papers.builders.base import Builder, Role, prepare_in
from trueground.wings.papers.builders.registry import add_builder

LINKS = "links"
NUMBERS = ("popularity", "views", "pageviews")


@dataclass(frozen=True, kw_only=True)
class GroundingBuildOptions:
    """How documents become sets, questions and instances."""

    popularity_field: Annotated[
        str | None,
        Option(
            "which field holds the number of a document's popularity; links: how many other "
            f"documents link to it. Default: the first there is of {', '.join(NUMBERS)}"
        ),
    ] = None
    popularity_share: Annotated[
        float,
        Option(
            "share of the documents that are popular, and unpopular", min=0, max=0.5, above=True
        ),
    ] = 0.3
    meta: Annotated[
        Path | None,
        Option("file of rows {path, id or title; a number of popularity; links} of documents"),
    ] = None
    hops: Annotated[
        int,
        Option("most links between two documents that are asked about together", min=1),
    ] = 3
    sets: Annotated[
        int | None,
        Option("most document sets of each class (popularity, one document or two)", min=1),
    ] = None
    context_words: Annotated[int, Option("words of a document's passage, at most", min=20)] = 250
    max_document_words: Annotated[int, Option("longer documents are left out", min=20)] = 20000
    candidates: Annotated[
        int, Option("question-answer pairs to write for a document set", min=1, max=50)
    ] = 10
    min_quality: Annotated[
        int,
        Option("least quality (1-5) that the judge must give a question", min=1, max=5),
    ] = 3
    decomposer: Annotated[
        str,
        Option("takes contexts apart into facts: rules, or llm:MODEL(base_url=URL)"),
    ] = "rules"
    fact_judge: Annotated[
        str, Option("says whether a context holds a gold fact; any judge of `score`")
    ] = "lexical"
    conflict: Annotated[
        Literal["full", "none"],
        Option("none: the original version alone, without changed knowledge"),
    ] = "full"
    distractors: Annotated[
        int, Option("passages of other documents a question; 0: none", min=0)
    ] = 40
    retriever: Annotated[str, Option("finds them: bm25 or dense:MODEL")] = "bm25"


BUILDER = Builder(
    name="grounding",
    doc="gold facts, a conflicting version and distractors: a benchmark as Truly-Ground",
    source="Lee et al. 2024, section 3.2",
    takes="documents with their popularity and links: JSON lines, CSV, or a folder of texts",
    roles=(
        Role("writer", "who writes questions and answers"),
        Role(
            "judge",
            "who classifies and rates the questions; best another model than the writer.",
        ),
        Role("second-judge", "who proposes gold facts too, for kappa", needed=False),
    ),
    options=declared_options(GroundingBuildOptions),
    prompts=("candidates", "classify", "gold", "enough", "conflict", "consistent", "follows"),
    prepare=prepare_in(f"{__name__}.plan"),
)
add_builder(BUILDER)
