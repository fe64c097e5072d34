"""Judges: does this evidence support this claim? One protocol, one contract test for all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from trueground.components import ComponentSpec, Registry
from trueground.judges.base import MODELS, Judge, SupportsJudge, lazy_factory
from trueground.judges.lexical import LexicalJudge

if TYPE_CHECKING:
    from trueground.judges.from_functions import FunctionJudge


__all__ = ["Judge", "LexicalJudge", "SupportsJudge", "get_judge", "judge", "judges", "kinds"]

Factory = Callable[..., SupportsJudge]
P = ParamSpec("P")
Scored = TypeVar("Scored", bound=float | Awaitable[float])


def _lexical(given: ComponentSpec) -> Judge:
    """Rules over words, names, values and signs of contradiction: no model, nothing to install."""
    given.check(("calibration", "threshold"), model=False)
    if not given.options:
        return LexicalJudge()
    from trueground.judges.calibrated import rethresholded

    return rethresholded(LexicalJudge(), given)


def _stack(given: ComponentSpec) -> Judge:
    """Several judges weighed by a file of `judge fit`; of a model: lexical and all-MiniLM-L6-v2."""
    from trueground.judges.stack import make_stack

    return make_stack(given, get_judge)


_JUDGES: dict[str, Factory] = {
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
judges = Registry("judge", _JUDGES)
# Those that are functions, by name.
_functions: dict[str, FunctionJudge[..., Any]] = {}


def get_judge(judge: str | SupportsJudge, *, cache: bool = True) -> Judge:
    """Return a new judge from `NAME:MODEL(option=value)`, or the object that was passed.

    Any takes `calibration=FILE`.

    FILE.json is `stack:FILE.json`: what `judge fit` or `judge calibrate` wrote.

    Raises UsageError, and InputError for a model or a calibration that cannot be used.
    """
    if not isinstance(judge, str):
        return Judge.adapt(judge)
    given = ComponentSpec.parse("judge", judge, cache=cache)
    path = given.options.get("calibration")
    # These read a calibration themselves, because a threshold of theirs stands beside it.
    if path is None or given.name == "lexical" or given.name in MODELS:
        return Judge.adapt(judges.make(given))
    from trueground.judges.calibrated import calibrated

    others = {name: value for name, value in given.options.items() if name != "calibration"}
    inner = Judge.adapt(judges.make(replace(given, options=others)))
    return calibrated(inner, path, keep_threshold="threshold" in others)


@overload
def judge(function: Callable[P, Scored], /) -> FunctionJudge[P, Scored]: ...


@overload
def judge(name: str, /) -> Callable[[Factory], Factory]: ...


@overload
def judge(
    *, name: str | None = None, threshold: float = 0.5, version: int | str | None = None
) -> Callable[[Callable[P, Scored]], FunctionJudge[P, Scored]]: ...


def judge(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    threshold: float | None = None,
    version: int | str | None = None,
) -> Any:
    """Register a judge: a function of one claim, or a class under a name.

    The short form decorates a function with the parameters `claim` and `texts`, and `question` if
    it needs to know what was asked. It returns True (1), False (0), or the probability from 0 to 1
    that the texts support the claim. It may be async. You can still call it yourself.

    `@tg.judge("name")` registers a class, or a function that makes a judge. It is called without
    arguments, or with a `ComponentSpec` if it has a parameter `given`.

    Args:
        function: The function to register, or a name.
        name: Name of the judge. Default: the function's name.
        threshold: Probability above which a claim is supported (short form). Default: 0.5.
        version: Version for the signature (short form). By default, a hash of the function's
            source, so a run with an edited judge isn't resumed. The hash doesn't cover other
            functions that it calls: if they change, pass another version.

    Returns:
        In the short form a judge that you can also call like the function, else the class.

    Raises:
        UsageError: The name is taken, or a parameter has another name. At the first call
            ProtocolError, if the function returns anything else.

    Example:
        >>> @tg.judge
        ... def verbatim(claim: str, texts: list[str]) -> bool:
        ...     return any(claim in text for text in texts)
        >>> tg.score("answers.jsonl", judge=verbatim)
    """
    from trueground.judges.from_functions import FunctionJudge, is_judge_function, judge_factory

    if isinstance(function, str):
        function, name = None, function

    def register(component: Any) -> Any:
        is_factory = name is not None and not is_judge_function(component)
        if is_factory and threshold is None and version is None:
            judges.register(str(name), component)
            return component
        limit = 0.5 if threshold is None else threshold
        made = FunctionJudge(component, name=name, threshold=limit, version=version)
        _forget_earlier(made)
        judges.register(made.name, judge_factory(made))
        _functions[made.name] = made
        return made

    return register if function is None else register(function)


def _forget_earlier(made: FunctionJudge[..., Any]) -> None:
    """Free the name if this is the same function, defined again in a notebook's cell."""

    earlier = _functions.get(made.name)
    if earlier is not None and made.function.redefines(earlier.function):
        judges.pop(made.name, None)


def kinds() -> list[dict[str, Any]]:
    """Every kind of judge, those of other packages included; none is made.

    `name` as a user writes it, `doc` in one line, `extra` that must be installed (None: nothing),
    and the `model` where none is named (None: there is no default).
    """
    shown = {"llm": "llm:MODEL", **{name: f"{name}[:MODEL]" for name in MODELS}}
    return [
        {
            "name": shown.get(name, name),
            "doc": (factory.__doc__ or "").strip().partition("\n")[0],
            "extra": "onnx or hf" if name in MODELS else None,
            "model": MODELS.get(name),
        }
        for name, factory in judges.load().items()
    ]
