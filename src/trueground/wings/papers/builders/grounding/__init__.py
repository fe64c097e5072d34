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
            "Field with the popularity of a document; links counts the documents that link to "
            f"it. Default: the first of {', '.join(NUMBERS)} that exists."
        ),
    ] = None
    popularity_share: Annotated[
        float,
        Option(
            "Share of documents counted as popular, and as unpopular.", min=0, max=0.5, above=True
        ),
    ] = 0.3
    meta: Annotated[
        Path | None,
        Option("File of rows with path, id or title of a document, its popularity and its links."),
    ] = None
    hops: Annotated[
        int,
        Option("Maximum links between two documents of a question.", min=1),
    ] = 3
    sets: Annotated[
        int | None,
        Option("Maximum document sets per class (popularity, one document or two).", min=1),
    ] = None
    context_words: Annotated[int, Option("Maximum words per passage.", min=20)] = 250
    max_document_words: Annotated[int, Option("Skip longer documents.", min=20)] = 20000
    candidates: Annotated[int, Option("Question-answer pairs per document set.", min=1, max=50)] = (
        10
    )
    min_quality: Annotated[
        int,
        Option("Minimum quality of a question, 1 to 5.", min=1, max=5),
    ] = 3
    decomposer: Annotated[
        str,
        Option("How contexts are split into facts: rules or llm:MODEL(base_url=URL)."),
    ] = "rules"
    fact_judge: Annotated[
        str, Option("Judge that checks whether a context contains a gold fact.")
    ] = "lexical"
    conflict: Annotated[
        Literal["full", "none"],
        Option("full: add a version with changed knowledge. none: only the original version."),
    ] = "full"
    distractors: Annotated[int, Option("Distracting passages per question.", min=0)] = 40
    retriever: Annotated[str, Option("Retriever that finds distractors: bm25 or dense:MODEL.")] = (
        "bm25"
    )


BUILDER = Builder(
    name="grounding",
    doc="Questions with gold facts, conflicts and distractors",
    source="Lee et al. 2024, section 3.2",
    takes="documents with their popularity and links: JSON lines, CSV, or a folder of texts",
    roles=(
        Role("writer", "model that writes questions and answers"),
        Role(
            "judge",
            "Model that classifies and rates questions. Use another model than the writer.",
        ),
        Role(
            "second-judge",
            "Model that also proposes gold facts, to measure agreement.",
            needed=False,
        ),
    ),
    options=declared_options(GroundingBuildOptions),
    prompts=("candidates", "classify", "gold", "enough", "conflict", "consistent", "follows"),
    prepare=prepare_in(f"{__name__}.plan"),
)
add_builder(BUILDER)
