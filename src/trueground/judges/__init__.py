"""Judges: does this evidence support this claim? One protocol, one contract test for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trueground.judges.base import Judge, ask
from trueground.judges.lexical import LexicalJudge
from trueground.plugins import PartSpec, add, load_plugins, make, parse_part

__all__ = ["Judge", "LexicalJudge", "ask", "get_judge", "judge", "judges", "kinds"]

Factory = Callable[..., Judge]


def _lexical(given: PartSpec | None = None) -> Judge:
    """Rules over words, names, values and signs of contradiction: no model, nothing to install."""
    if given is None:
        return LexicalJudge()
    given.check(("calibration", "threshold"), model=False)
    if not given.options:
        return LexicalJudge()
    from trueground.judges.calibrated import rethresholded

    return rethresholded(LexicalJudge(), given)


def _bi_encoder(given: PartSpec | None = None) -> Judge:
    """Cosine of a claim's and a passage's vector: sees what a text is about, not what it denies."""
    from trueground.judges.bi_encoder import bi_encoder

    return bi_encoder(given)


def _cross_encoder(given: PartSpec | None = None) -> Judge:
    """A ranking model reads claim and passage together: the judge of the Truly-Ground paper."""
    from trueground.judges.cross_encoder import cross_encoder

    return cross_encoder(given)


def _nli(given: PartSpec | None = None) -> Judge:
    """A model of entailment: a classifier with such a label, or a T5 trained as TRUE's was."""
    from trueground.judges.nli import nli

    return nli(given)


def _minicheck(given: PartSpec | None = None) -> Judge:
    """MiniCheck's Flan-T5, trained on claims beside whole documents."""
    from trueground.judges.nli import minicheck

    return minicheck(given)


def _hhem(given: PartSpec | None = None) -> Judge:
    """Vectara's model of consistency, version 1.0 (the one that needs no code of its own)."""
    from trueground.judges.nli import hhem

    return hhem(given)


def _llm(given: PartSpec) -> Judge:
    """A chat model that says True or False: llm:MODEL(base_url=URL)."""
    from trueground.judges.llm import LLMJudge

    return LLMJudge(given)


judges: dict[str, Factory] = {
    "lexical": _lexical,
    "bi-encoder": _bi_encoder,
    "cross-encoder": _cross_encoder,
    "nli": _nli,
    "minicheck": _minicheck,
    "hhem": _hhem,
    "llm": _llm,
}
# Those that read a calibration themselves, because a threshold of theirs stands beside it.
_WITH_THRESHOLD = ("lexical", "bi-encoder", "cross-encoder", "nli", "minicheck", "hhem")
_ENCODERS = "onnx or hf"
# What a user writes, the extra that must be installed, and the model where none is named.
_SHOWN: dict[str, dict[str, Any]] = {
    "bi-encoder": {
        "name": "bi-encoder[:MODEL]",
        "extra": _ENCODERS,
        "model": "sentence-transformers/all-MiniLM-L6-v2",
    },
    "cross-encoder": {
        "name": "cross-encoder[:MODEL]",
        "extra": _ENCODERS,
        "model": "cross-encoder/ms-marco-MiniLM-L-12-v2",
    },
    "nli": {
        "name": "nli[:MODEL]",
        "extra": _ENCODERS,
        "model": "google/t5_xxl_true_nli_mixture",
    },
    "minicheck": {
        "name": "minicheck[:MODEL]",
        "extra": _ENCODERS,
        "model": "lytang/MiniCheck-Flan-T5-Large",
    },
    "hhem": {
        "name": "hhem[:MODEL]",
        "extra": _ENCODERS,
        "model": "vectara/hallucination_evaluation_model",
    },
    "llm": {"name": "llm:MODEL"},
}


def get_judge(text: str, *, cache: bool = True) -> Judge:
    """Return a new judge from `NAME:MODEL(option=value)`; any takes `calibration=FILE`.

    Raises UsageError, and InputError for a model or a calibration that cannot be used.
    """
    given = parse_part("judge", text, cache=cache)
    path = given.options.get("calibration")
    if path is None or given.name in _WITH_THRESHOLD:
        return make("judge", judges, given)
    from trueground.judges.calibrated import calibrated

    others = {name: value for name, value in given.options.items() if name != "calibration"}
    inner = make("judge", judges, replace(given, options=others))
    return calibrated(inner, path, keep_threshold="threshold" in others)


def judge(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a judge, under a name.

    It is called without arguments, or with a `Given` where it has a parameter `given`.
    """

    def register(factory: Factory) -> Factory:
        add("judge", judges, name, factory)
        return factory

    return register


def kinds() -> list[dict[str, Any]]:
    """Every kind of judge, those of other packages included; none is made.

    `name` as a user writes it, `doc` in one line, `extra` that must be installed (None: nothing),
    and the `model` where none is named (None: there is no default).
    """
    load_plugins()
    return [
        {"name": name, "doc": _first_line(factory), "extra": None, "model": None}
        | _SHOWN.get(name, {})
        for name, factory in judges.items()
    ]


def _first_line(factory: Factory) -> str:
    return (factory.__doc__ or "").strip().partition("\n")[0]
