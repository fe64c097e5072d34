"""Public functions whose parameters are the fields of one class.

Every option of such a function is declared once, as a field. The function, its twin for event
loops, the command line and inner functions share the class instead of repeating the parameters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ForwardRef, ParamSpec, TypeVar, cast, get_args, get_origin

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
_MODULE_PREFIX = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Z])")


def takes_fields_of(request: Callable[P, R]) -> Callable[[Callable[[R], T]], Callable[P, T]]:
    """Let a function of one request take the fields of the request as its parameters.

    Args:
        request: The dataclass of the request.

    Returns:
        A decorator of functions, also of coroutine functions.

    Example:
        >>> @takes_fields_of(ScoreRequest)
        ... def score(request: ScoreRequest) -> Result: ...
        >>> score("answers.jsonl", metrics="f1")
    """
    signature = inspect.signature(request)

    def decorate(work: Callable[[R], T]) -> Callable[P, T]:
        def make(args: Any, kwargs: Any) -> R:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{work.__name__}() {error}") from None
            return request(*bound.args, **bound.kwargs)

        if inspect.iscoroutinefunction(work):

            @wraps(work)
            async def function(*args: Any, **kwargs: Any) -> Any:
                return await work(make(args, kwargs))

        else:

            @wraps(work)
            def function(*args: Any, **kwargs: Any) -> Any:
                return work(make(args, kwargs))

        public = cast(Any, function)
        del public.__wrapped__  # signatures would be read from it
        public.__signature__ = signature.replace(
            parameters=[_plain(parameter) for parameter in signature.parameters.values()],
            return_annotation=_shorten(inspect.signature(work).return_annotation),
        )
        return cast("Callable[P, T]", public)

    return decorate


class _TypeName(str):
    """A type that `help` shows without quotes and without names of modules."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter with its type alone, for `help`."""
    annotation = parameter.annotation
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return parameter.replace(annotation=_shorten(annotation))


def _shorten(annotation: Any) -> Any:
    """Return the name of a type, without modules. Simple classes are returned unchanged."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation
    is_text = isinstance(annotation, str)
    text = annotation if is_text else inspect.formatannotation(annotation)
    return _TypeName(_MODULE_PREFIX.sub("", text))
