"""Functions of users as components: parameters, versions and calls."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from types import FunctionType
from typing import Any

import numpy as np

from trueground.components.checks import describe_value
from trueground.errors import ProtocolError, UsageError, fails_alone
from trueground.execution import LoopThread

MAX_CONCURRENT_CALLS = 16  # of one async function
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_HASH_DIGITS = 12


@dataclass(frozen=True)
class CallError:
    """An exception that a user's function raised for one set of arguments."""

    error: BaseException


class UserFunction:
    """A user's function, sync or async, under the name of a component.

    Args:
        kind: What the component is, such as "metric".
        function: The function that the user decorated.
        allowed: Names that its parameters may have.
        name: Name of the component. None: the function's name.
        version: Version for signatures. None: a hash of the function's source.

    Raises:
        UsageError: It isn't a function, a parameter has another name or no name, the name can't be
            written on the command line, or there is no version.
    """

    def __init__(
        self,
        kind: str,
        function: Callable[..., Any],
        *,
        allowed: Iterable[str],
        name: str | None = None,
        version: int | str | None = None,
    ) -> None:
        if not isinstance(function, FunctionType):
            raise UsageError(
                f"@tg.{kind} takes a function; found {describe_value(function)}. Write "
                f'@tg.{kind}("name", ...) to register anything else'
            )
        self.kind = kind
        self.function = function
        self.name = function.__name__ if name is None else name
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name!r} isn't a name of a {kind}; pass name= with letters, digits, _, - "
                "and dots, a letter first"
            )
        self.required, self.optional = self._read_parameters(tuple(allowed))
        self.version = self._hash_source() if version is None else str(version)
        self.is_async = inspect.iscoroutinefunction(function)
        self._loop = LoopThread(f"trueground-{self.name}", _end_nothing)

    @property
    def label(self) -> str:
        """The name of the component in error messages: "the judge 'x'"."""
        return f"the {self.kind} {self.name!r}"

    @property
    def summary(self) -> str:
        """The first line of the docstring, or where the function is defined."""
        first_line = (self.function.__doc__ or "").strip().partition("\n")[0]
        return first_line or f"the function {self.origin}"

    @property
    def origin(self) -> str:
        """Module and qualified name of the function."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def call_each(self, arguments: Sequence[Mapping[str, Any]]) -> Iterable[object]:
        """Call the function once for each set of arguments.

        Args:
            arguments: Keyword arguments of each call.

        Returns:
            What each call returned, in order, or its error, see `error_of`. A sync function is
            called as you iterate. An async function is called at once, concurrently.
        """
        if not arguments:
            return ()
        if self.is_async:
            return self._loop.run(_gather(self.function, arguments))
        return (_call(self.function, keywords) for keywords in arguments)

    @staticmethod
    def error_of(result: object) -> BaseException | None:
        """Return the exception with which a call of `call_each` ended; None if it returned."""
        return result.error if isinstance(result, CallError) else None

    def redefines(self, other: UserFunction) -> bool:
        """Return whether both are the same function, as after rerunning a notebook cell."""
        is_local = "<locals>" in self.origin or "<lambda>" in self.origin
        return self.origin == other.origin and not is_local

    def number(self, value: object, expected: str) -> float:
        """Return what the function returned as a number: 1.0 for True, 0.0 for False.

        Raises:
            ProtocolError: It isn't a finite number or a bool.
        """
        if isinstance(value, int | float | np.bool_ | np.integer | np.floating):
            number = float(value)
            if isfinite(number):
                return number
        raise self.wrong_return(value, expected)

    def wrong_return(self, value: object, expected: str) -> ProtocolError:
        """Return the error for an invalid return value."""
        if inspect.iscoroutine(value):
            value.close()  # Otherwise, Python warns that it was never awaited.
        return ProtocolError(
            f"the function {self.function.__name__}() returned {describe_value(value)}; expected "
            f"{expected}"
        )

    def close(self) -> None:
        """End the thread of an async function. The next call starts a new one."""
        self._loop.close()

    def _read_parameters(self, allowed: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the parameters without and with a default."""
        required: list[str] = []
        optional: list[str] = []
        for name, parameter in inspect.signature(self.function).parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise UsageError(
                    f"{self.label}: the parameter {name!r} can't be passed by keyword; name "
                    f"each parameter. It may be {', '.join(allowed)}"
                )
            if name not in allowed:
                raise UsageError.unknown_name(
                    f"parameter of the {self.kind} {self.name}", name, allowed
                )
            (required if parameter.default is parameter.empty else optional).append(name)
        if not required and not optional:
            raise UsageError(
                f"{self.label}: the function {self.function.__name__}() has no parameters; name "
                f"what it reads: {', '.join(allowed)}"
            )
        return tuple(required), tuple(optional)

    def _hash_source(self) -> str:
        """Return a short hash of the function's source."""
        if self.function.__closure__:
            variables = ", ".join(self.function.__code__.co_freevars)
            raise UsageError(
                f"{self.label}: its values depend on {variables} around the function, which its "
                "source doesn't show; pass version=, and change it when these change"
            )
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            raise UsageError(
                f"{self.label}: the source of {self.function.__name__}() can't be read; pass "
                "version=, and change it with the function"
            ) from None
        return sha256(source.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS]


def _call(function: Callable[..., Any], keywords: Mapping[str, Any]) -> object:
    try:
        return function(**keywords)
    except BaseException as error:
        if not fails_alone(error):
            raise
        return CallError(error)


async def _gather(
    function: Callable[..., Awaitable[Any]], arguments: Sequence[Mapping[str, Any]]
) -> list[object]:
    slots = asyncio.Semaphore(MAX_CONCURRENT_CALLS)

    async def call(keywords: Mapping[str, Any]) -> object:
        async with slots:
            try:
                return await function(**keywords)
            except BaseException as error:
                if not fails_alone(error):
                    raise
                return CallError(error)

    return await asyncio.gather(*map(call, arguments))


async def _end_nothing() -> None:
    """Do nothing: the event loop of a function holds no other resources."""
