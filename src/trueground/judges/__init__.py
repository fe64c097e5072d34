"""Judges: does this evidence support this claim? One protocol, one contract test for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trueground.judges.base import MODELS, Judge, ask, lazy_factory
from trueground.judges.lexical import LexicalJudge
from trueground.plugins import PartSpec, load_plugins, make_part, parse_part, register_part

__all__ = ["Judge", "LexicalJudge", "ask", "get_judge", "judge", "judges", "kinds"]

Factory = Callable[..., Judge]


def _lexical(given: PartSpec) -> Judge:
    """Rules over words, names, values and signs of contradiction: no model, nothing to install."""
    given.check(("calibration", "threshold"), model=False)
    if not given.options:
        return LexicalJudge()
    from trueground.judges.calibrated import rethresholded

    return rethresholded(LexicalJudge(), given)


def _stack(given: PartSpec) -> Judge:
    """Several judges weighed by a file of `judge fit`; of a model: lexical and all-MiniLM-L6-v2."""
    from trueground.judges.stack import make_stack

    return make_stack(given, get_judge)


judges: dict[str, Factory] = {
    "lexical": _lexical,
    "bi-encoder": lazy_factory(
        "encoder",
        "bi_encoder",
        "Cosine of a claim's and a passage's vector: sees what a text is about, not what it "
        "denies.",
    ),
    "cross-encoder": lazy_factory(
        "encoder",
        "cross_encoder",
        "A ranking model reads claim and passage together: the judge of the Truly-Ground paper.",
    ),
    "nli": lazy_factory(
        "classifiers",
        "nli",
        "A model of entailment: a classifier with such a label, or a T5 trained as TRUE's was.",
    ),
    "minicheck": lazy_factory(
        "encoder", "minicheck", "MiniCheck's Flan-T5, trained on claims beside whole documents."
    ),
    "token-classifier": lazy_factory(
        "classifiers",
        "token_classifier",
        "LettuceDetect and its like: which words of a claim the context does not support.",
    ),
    "hhem": lazy_factory(
        "classifiers",
        "hhem",
        "Vectara's model of consistency, version 1.0 (the one that needs no code of its own).",
    ),
    "llm": lazy_factory(
        "llm", "LLMJudge", "A chat model that says True or False: llm:MODEL(base_url=URL)."
    ),
    "stack": _stack,
}


def get_judge(text: str, *, cache: bool = True) -> Judge:
    """Return a new judge from `NAME:MODEL(option=value)`; any takes `calibration=FILE`.

    FILE.json is `stack:FILE.json`: what `judge fit` or `judge calibrate` wrote.

    Raises UsageError, and InputError for a model or a calibration that cannot be used.
    """
    given = parse_part("judge", text, cache=cache)
    path = given.options.get("calibration")
    # These read a calibration themselves, because a threshold of theirs stands beside it.
    if path is None or given.name == "lexical" or given.name in MODELS:
        return make_part("judge", judges, given)
    from trueground.judges.calibrated import calibrated

    others = {name: value for name, value in given.options.items() if name != "calibration"}
    inner = make_part("judge", judges, replace(given, options=others))
    return calibrated(inner, path, keep_threshold="threshold" in others)


def judge(name: str) -> Callable[[Factory], Factory]:
    """Decorator: register a class, or a function that makes a judge, under a name.

    It is called without arguments, or with a `PartSpec` where it has a parameter `given`.
    """

    def register(factory: Factory) -> Factory:
        register_part("judge", judges, name, factory)
        return factory

    return register


def kinds() -> list[dict[str, Any]]:
    """Every kind of judge, those of other packages included; none is made.

    `name` as a user writes it, `doc` in one line, `extra` that must be installed (None: nothing),
    and the `model` where none is named (None: there is no default).
    """
    load_plugins()
    shown = {"llm": "llm:MODEL", **{name: f"{name}[:MODEL]" for name in MODELS}}
    return [
        {
            "name": shown.get(name, name),
            "doc": (factory.__doc__ or "").strip().partition("\n")[0],
            "extra": "onnx or hf" if name in MODELS else None,
            "model": MODELS.get(name),
        }
        for name, factory in judges.items()
    ]
