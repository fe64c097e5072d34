"""The options of `build kalma`, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.benchmarks.kalma.source import TRIVIAL
from trueground.benchmarks.values import number_of, path_of, share_of, text_of, whole_of
from trueground.errors import UsageError
from trueground.text.triples import plain_property

# What Wikidata keeps for its own housekeeping, or for Wikipedia's: no fact about the entity.
_HOUSEKEEPING = frozenset(
    {
        *(f"topic's main {what}" for what in ("infobox", "template", "Wikimedia portal")),
        *(f"Commons {what}" for what in ("category", "gallery", "Creator page", "maps category")),
        "category for people born here",
        "category for people who died here",
        "category of associated people",
        "category related to list",
        "copyright status as a creator",
        "described at URL",
        "different from",
        "discography",
        "filmography",
        "has list",
        "image",
        "list of works",
        "maintained by WikiProject",
        "on focus list of Wikimedia project",
        "permanent duplicated item",
        "pronunciation audio",
        "related category",
        "said to be the same as",
        "signature",
        "spoken text audio",
        "Wikimedia outline",
    }
)


@dataclass(frozen=True)
class KalmaBuildSettings:
    """What holds for the build. `skipped` are plain names of properties that nobody cites.

    `types` are names or ids of classes, none where entities may be anything; `perplexity` is None
    where `alpha` is 1; `scaled` says how it is weighed. `counts` is a file of counts that are not
    to be taken anew.
    """

    graph: str
    name_words: int
    types: tuple[str, ...]
    relation_map: Path | None
    all_edges: bool
    skipped: frozenset[str]
    alpha: float
    scaled: bool
    perplexity: str | None
    candidates: int
    templates: Path | None
    rounds: int
    minimum_rounds: int
    language: bool
    require_authentic: bool
    require_said: bool
    counts: Path | None
    skip_bad: bool


def read_settings(options: Mapping[str, Value], *, judge: bool) -> KalmaBuildSettings:
    """The settings behind the options; `judge`: was one given? UsageError."""
    graph = text_of(options, "graph")
    if graph is None:
        raise UsageError(
            "build kalma needs --graph: a folder of `trueground graph load`, a file of triples or "
            "graphs, wikidata, or sparql:URL"
        )
    rounds = whole_of(options, "rounds", 1)
    least = number_of(options, "minimum-rounds", 1)
    if least is not None and least > rounds:
        raise UsageError(f"--minimum-rounds {least}: expected no more than --rounds {rounds}")
    alpha = share_of(options, "alpha")
    return KalmaBuildSettings(
        graph=graph,
        name_words=whole_of(options, "name-words", 1),
        types=_types(options),
        relation_map=path_of(options, "relation-map"),
        all_edges=options["all-edges"] == "yes",
        skipped=_skipped(options),
        alpha=alpha,
        scaled=options["coherence"] == "scaled",
        perplexity=_perplexity(options, alpha, rounds),
        candidates=whole_of(options, "candidates", 1),
        templates=path_of(options, "templates"),
        rounds=rounds,
        minimum_rounds=rounds if least is None else least,
        language=options["language"] == "check",
        require_authentic=_required(options, "require-authentic", judge),
        require_said=_required(options, "require-said", judge),
        counts=path_of(options, "counts"),
        skip_bad=options["on-bad-row"] == "skip",
    )


def _perplexity(options: Mapping[str, Value], alpha: float, rounds: int) -> str | None:
    written = text_of(options, "perplexity")
    if alpha == 1.0 or rounds == 1:
        return None
    if written is None:
        raise UsageError(
            f"--alpha {alpha:g} weighs how fluent a sentence is, which needs --perplexity: an "
            "endpoint that returns prompt log-probabilities, or hf:PATH; --alpha 1 goes without"
        )
    return written


def _required(options: Mapping[str, Value], name: str, judge: bool) -> bool:
    """Whether a judge decides; auto: wherever there is one."""
    if options[name] == "yes" and not judge:
        raise UsageError(f"--{name} yes needs --judge-model NAME: who judges")
    return judge if options[name] == "auto" else options[name] == "yes"


def _types(options: Mapping[str, Value]) -> tuple[str, ...]:
    named = tuple(dict.fromkeys(filter(None, map(str.strip, str(options["types"]).split(",")))))
    if not named:
        raise UsageError("--types is empty; expected classes with commas between, or any")
    return () if named == ("any",) else named


def _skipped(options: Mapping[str, Value]) -> frozenset[str]:
    written = text_of(options, "skip-properties")
    if written == "none":
        return frozenset({"name"})
    if written is None or written == "trivial":
        return TRIVIAL | _HOUSEKEEPING
    named = {plain_property(one) for one in written.split(",") if one.strip()}
    return frozenset({"name"} | named)
