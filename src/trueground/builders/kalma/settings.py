"""The options of `build kalma`, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from trueground.benchmarks.base import Value
from trueground.benchmarks.kalma.minimum import TRIVIAL
from trueground.benchmarks.values import number_of, path_of, text_of
from trueground.errors import UsageError
from trueground.text.citations.triples import plain_property


@dataclass(frozen=True)
class Settings:
    """What holds for the build. `skipped` are plain names of properties that nobody cites.

    `types` are names or ids of classes, none where entities may be anything; `perplexity` is None
    where `alpha` is 1.
    """

    graph: str
    name_words: int
    types: tuple[str, ...]
    relation_map: Path | None
    all_edges: bool
    skipped: frozenset[str]
    alpha: float
    perplexity: str | None
    candidates: int
    templates: Path | None
    rounds: int
    minimum_rounds: int
    language: bool
    require_authentic: bool


def read_settings(options: Mapping[str, Value]) -> Settings:
    """The settings behind the options. UsageError."""
    graph = text_of(options, "graph")
    if graph is None:
        raise UsageError(
            "build kalma needs --graph: a folder of `trueground graph load`, a file of triples or "
            "graphs, wikidata, or sparql:URL"
        )
    rounds = _whole(options, "rounds")
    least = number_of(options, "minimum-rounds", 1)
    if least is not None and least > rounds:
        raise UsageError(f"--minimum-rounds {least}: expected no more than --rounds {rounds}")
    alpha = _alpha(options)
    return Settings(
        graph=graph,
        name_words=_whole(options, "name-words"),
        types=_types(options),
        relation_map=path_of(options, "relation-map"),
        all_edges=options["all-edges"] == "yes",
        skipped=_skipped(options),
        alpha=alpha,
        perplexity=_perplexity(options, alpha, rounds),
        candidates=_whole(options, "candidates"),
        templates=path_of(options, "templates"),
        rounds=rounds,
        minimum_rounds=rounds if least is None else least,
        language=options["language"] == "check",
        require_authentic=options["require-authentic"] == "yes",
    )


def _whole(options: Mapping[str, Value], name: str) -> int:
    found = number_of(options, name, 1)
    assert found is not None  # it has a default
    return found


def _alpha(options: Mapping[str, Value]) -> float:
    try:
        alpha = float(str(options["alpha"]))
    except ValueError:
        alpha = -1.0
    if not (isfinite(alpha) and 0.0 <= alpha <= 1.0):
        raise UsageError(f"--alpha {options['alpha']}: expected a number from 0 to 1, such as 0.5")
    return alpha


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
        return TRIVIAL
    named = {plain_property(one) for one in written.split(",") if one.strip()}
    return frozenset({"name"} | named)
