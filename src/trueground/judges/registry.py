"""The registry of judges, and the decorator that adds to it."""

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


def _lexical(spec: ComponentSpec) -> Judge:
    """Compares words, names and numbers by rules. Needs no model and nothing to install."""
    spec.check(("calibration", "threshold"), model=False)
    if not spec.options:
        return LexicalJudge()
    from trueground.judges.calibrated import with_threshold_option

    return with_threshold_option(LexicalJudge(), spec)


def _stack(spec: ComponentSpec) -> Judge:
    """Weighs several judges by a file of `judge fit`. Default: lexical and all-MiniLM-L6-v2."""
    from trueground.judges.stack import make_stack

    return make_stack(spec, get_judge)


_JUDGES: dict[str, Factory] = {
    "lexical": _lexical,
    "bi-encoder": lazy_factory(
        "encoder",
        "bi_encoder",
        "Cosine of the vectors of claim and passage. Sees topics, not negations.",
    ),
    "cross-encoder": lazy_factory(
        "encoder",
        "cross_encoder",
        "A ranking model for pairs of claim and passage. The judge of the Truly-Ground paper.",
    ),
    "nli": lazy_factory(
        "classifiers",
        "nli",
        "An entailment model: a classifier with such a label, or a T5 trained like TRUE's.",
    ),
    "minicheck": lazy_factory(
        "encoder", "minicheck", "MiniCheck's Flan-T5, trained on claims with whole documents."
    ),
    "token-classifier": lazy_factory(
        "classifiers",
        "token_classifier",
        "LettuceDetect and similar models. Finds the unsupported words of a claim.",
    ),
    "hhem": lazy_factory(
        "classifiers",
        "hhem",
        "Vectara's model of consistency, version 1.0 (which runs without the model's own code).",
    ),
    "llm": lazy_factory(
        "llm", "LLMJudge", "A chat model that answers True or False: llm:MODEL(base_url=URL)."
    ),
    "stack": _stack,
}
judges = Registry("judge", _JUDGES)
# Judges that are functions of this process, by name.
_functions: dict[str, FunctionJudge[..., Any]] = {}


def get_judge(judge: str | SupportsJudge, *, cache: bool = True) -> Judge:
    """Return a new judge from `NAME:MODEL(option=value)`, or the object that was passed.

    Every judge takes the option `calibration=FILE`.

    Args:
        judge: A name with model and options. `FILE.json`, written by `judge fit` or
            `judge calibrate`, is short for `stack:FILE.json`.
        cache: False if cached results must not be used.

    Returns:
        The judge. It loads its model on the first request.

    Raises:
        UsageError: A name or option is unknown, or the object isn't a judge.
        InputError: A model or a calibration file can't be used.

    Example:
        >>> get_judge("lexical(threshold=0.6)").threshold
        0.6
    """
    if not isinstance(judge, str):
        return Judge.adapt(judge)
    spec = ComponentSpec.parse("judge", judge, cache=cache)
    path = spec.options.get("calibration")
    # These judges read the calibration themselves, because it sets their threshold.
    if path is None or spec.name == "lexical" or spec.name in MODELS:
        return Judge.adapt(judges.make(spec))
    from trueground.judges.calibrated import calibrated

    options = {name: value for name, value in spec.options.items() if name != "calibration"}
    inner = Judge.adapt(judges.make(replace(spec, options=options)))
    return calibrated(inner, path, keep_threshold="threshold" in options)


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
    arguments, or with a `ComponentSpec` if it has a parameter `spec`.

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
        function_judge = FunctionJudge(
            component,
            name=name,
            threshold=0.5 if threshold is None else threshold,
            version=version,
        )
        _remove_earlier(function_judge)
        judges.register(function_judge.name, judge_factory(function_judge))
        _functions[function_judge.name] = function_judge
        return function_judge

    return register if function is None else register(function)


def _remove_earlier(judge: FunctionJudge[..., Any]) -> None:
    """Free the name if this is the same function, defined again in a notebook cell."""
    earlier = _functions.get(judge.name)
    if earlier is not None and judge.function.redefines(earlier.function):
        judges.pop(judge.name, None)


def kinds() -> list[dict[str, Any]]:
    """Return every kind of judge, including those of other packages. No judge is created.

    Returns:
        For each kind `name` as a user writes it, `doc` in one line, the `extra` to install (None:
        nothing), and the default `model` (None: there is no default).
    """
    labels = {"llm": "llm:MODEL", **{name: f"{name}[:MODEL]" for name in MODELS}}
    return [
        {
            "name": labels.get(name, name),
            "doc": (factory.__doc__ or "").strip().partition("\n")[0],
            "extra": "onnx or hf" if name in MODELS else None,
            "model": MODELS.get(name),
        }
        for name, factory in judges.load().items()
    ]
