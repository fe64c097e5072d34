"""`build kalma`: questions that need a minimum set of triples of a graph (Li et al. 2024).

Only the declaration stands here, so that listing builders loads nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from trueground.errors import UsageError
from trueground.options import Option, declared_options
from trueground.wings.papers.builders.base import Builder, Role, prepare_in
from trueground.wings.papers.builders.registry import add_builder

_YesNo = Literal["yes", "no"]


@dataclass(frozen=True, kw_only=True)
class KalmaBuildOptions:
    """How pairs of names become questions. `judge`: was a model given that judges? UsageError."""

    judge: bool = False
    graph: Annotated[
        str | None,
        Option("Folder written by `graph load`, a file, sparql:URL or wikidata. Required."),
    ] = None
    on_bad_row: Annotated[
        Literal["stop", "skip"], Option("Whether to stop at an invalid row or skip it.")
    ] = "stop"
    name_words: Annotated[int, Option("Minimum words per name; use 2 for people.", min=1)] = 1
    types: Annotated[
        tuple[str, ...],
        Option(
            "Classes of entities, comma-separated, such as human,Q5.",
            expected="classes with commas between, or any",
        ),
    ] = ("any",)
    relation_map: Annotated[
        Path | None, Option('JSON file: {"relation": ["property of the graph"]}')
    ] = None
    all_edges: Annotated[_YesNo, Option("Accept any edge between two entities.")] = "no"
    skip_properties: Annotated[
        str,
        Option("Properties that are never cited, comma-separated; or trivial, or none."),
    ] = "trivial"
    alpha: Annotated[
        float,
        Option("Weight of relation rarity versus fluency, 0 to 1.", min=0, max=1),
    ] = 0.5
    coherence: Annotated[
        Literal["softmax", "scaled"],
        Option(
            "How fluency is weighted. softmax (as in the paper): only near-ties "
            "are rated. scaled: weighted by --alpha, all candidates are rated."
        ),
    ] = "softmax"
    perplexity: Annotated[
        str | None, Option("Model that rates sentences. Required unless --alpha is 1.")
    ] = None
    candidates: Annotated[
        int, Option("Triples rated per round, rarest relations first.", min=1)
    ] = 100
    counts: Annotated[
        Path | None,
        Option("counts.json of another build, to use instead of counts from these rows."),
    ] = None
    rounds: Annotated[
        int, Option("Number of rounds; each after the first adds a triple.", min=1)
    ] = 5
    minimum_rounds: Annotated[
        int | None, Option("Drop items with fewer rounds. Default: all rounds.", min=1)
    ] = None
    language: Annotated[
        Literal["check", "any"],
        Option("check: skip texts in another language. any: accept any language."),
    ] = "check"
    require_authentic: Annotated[_YesNo, Option("Drop items that the judge finds wrong.")] = "no"
    require_said: Annotated[
        Literal["auto", "yes", "no"],
        Option("Drop sentences that don't state what they cite. auto: if there is a judge."),
    ] = "auto"

    def __post_init__(self) -> None:
        if self.graph is None:
            raise UsageError(
                "build kalma needs --graph: a folder of `trueground graph load`, a file of triples "
                "or graphs, wikidata, or sparql:URL"
            )
        if self.least_rounds > self.rounds:
            expected = f"expected no more than --rounds {self.rounds}"
            raise UsageError(f"--minimum-rounds {self.least_rounds}: {expected}")
        if self.weighs_fluency and self.perplexity is None:
            raise UsageError(
                f"--alpha {self.alpha:g} weighs how fluent a sentence is, which needs --perplexity:"
                " an endpoint that returns prompt log-probabilities, or hf:PATH; --alpha 1 goes "
                "without"
            )
        for name in ("require-authentic", "require-said"):
            if getattr(self, name.replace("-", "_")) == "yes" and not self.judge:
                raise UsageError(f"--{name} yes needs --judge-model NAME: who judges")

    @property
    def least_rounds(self) -> int:
        """The rounds that an item needs."""
        return self.minimum_rounds or self.rounds

    @property
    def weighs_fluency(self) -> bool:
        """Whether perplexities choose the next triple."""
        return self.alpha != 1.0 and self.rounds > 1

    @property
    def judges_sentences(self) -> bool:
        """Whether the judge must find that new sentences say what they cite."""
        auto = self.judge if self.require_said == "auto" else self.require_said == "yes"
        return auto and self.rounds > 1


BUILDER = Builder(
    name="kalma",
    doc="Questions about linked entities, with required triples",
    source="Li et al. 2024, KaLMA",
    takes="files or folders of rows with paragraph, head, relation and tail",
    roles=(
        Role("writer", "model that annotates, extends and asks"),
        Role("judge", "Model that judges the new sentences and questions.", needed=False),
    ),
    options=declared_options(KalmaBuildOptions),
    prompts=("annotate", "extend", "said", "general", "specific", "judge"),
    prepare=prepare_in(f"{__name__}.plan"),
)
add_builder(BUILDER)
