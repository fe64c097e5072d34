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
        str | None, Option("folder of `graph load`, file, wikidata or sparql:URL; needed")
    ] = None
    on_bad_row: Annotated[
        Literal["stop", "skip"], Option("what a wrong row does: end all, or be left out")
    ] = "stop"
    name_words: Annotated[
        int, Option("names of fewer words are incomplete; 2 for people", min=1)
    ] = 1
    types: Annotated[
        tuple[str, ...],
        Option(
            "classes of the entities, as human,Q5", expected="classes with commas between, or any"
        ),
    ] = ("any",)
    relation_map: Annotated[
        Path | None, Option('JSON: {"relation": ["property of the graph", …], …}')
    ] = None
    all_edges: Annotated[_YesNo, Option("accept any edge between the two")] = "no"
    skip_properties: Annotated[
        str,
        Option("never cited: properties with commas between, trivial, or none"),
    ] = "trivial"
    alpha: Annotated[
        float,
        Option("weight of a rare relation against a fluent sentence, 0 to 1", min=0, max=1),
    ] = 0.5
    coherence: Annotated[
        Literal["softmax", "scaled"],
        Option(
            "how fluency is weighed: softmax, the paper's, decides near-ties only and rates no "
            "others; scaled weighs as --alpha says, and rates every candidate"
        ),
    ] = "softmax"
    perplexity: Annotated[str | None, Option("who rates sentences; needed unless --alpha is 1")] = (
        None
    )
    candidates: Annotated[
        int, Option("triples that are rated in a round, rarest relations", min=1)
    ] = 100
    counts: Annotated[
        Path | None, Option("counts.json of a build, in place of those of these rows")
    ] = None
    rounds: Annotated[int, Option("the first annotates, each other adds a triple", min=1)] = 5
    minimum_rounds: Annotated[
        int | None, Option("items of fewer rounds fall; default: all rounds", min=1)
    ] = None
    language: Annotated[Literal["check", "any"], Option("check: no other language; any")] = "check"
    require_authentic: Annotated[_YesNo, Option("leave out what the judge finds wrong")] = "no"
    require_said: Annotated[
        Literal["auto", "yes", "no"],
        Option("leave out sentences that do not say what they cite; auto: where there is a judge"),
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
    doc="General and specific questions about linked entities, with the triples that they need",
    source="Li et al. 2024, KaLMA",
    takes="files or folders of rows with paragraph, head, relation and tail",
    roles=(
        Role("writer", "who annotates, extends and asks"),
        Role("judge", "who judges the new sentences and the questions.", needed=False),
    ),
    options=declared_options(KalmaBuildOptions),
    prompts=("annotate", "extend", "said", "general", "specific", "judge"),
    prepare=prepare_in(f"{__name__}.plan"),
)
add_builder(BUILDER)
