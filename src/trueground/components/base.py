"""What judges, decomposers, raters and comparers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from trueground.components.checks import check_answers, check_members
from trueground.errors import fails_alone
from trueground.net import raised
from trueground.types import PromptFile, Usage

Q = TypeVar("Q", bound=Hashable)
A = TypeVar("A")
C = TypeVar("C", bound="Component[Any, Any]")


class Component(ABC, Generic[Q, A]):
    """A judge, decomposer, rater or comparer of a run.

    A component has a `name`, a `signature` that fixes its answers, and a method that answers many
    requests at once. Everything else has a default. Nothing heavy is loaded before the first
    request.

    Attributes:
        in_one_process: Whether it holds a model in memory or asks one, so that it must not be
            copied to other processes.
        uses_encoder: Whether a small model computes its numbers, which may differ between machines.
    """

    kind: ClassVar[str]
    answers: ClassVar[str]  # noun for the answers, in the plural: "verdicts"
    answer_type: ClassVar[type | None] = None  # Struct of each answer; None: see `check`
    members: ClassVar[Mapping[str, str]]  # required members, see `check_members`
    abilities: ClassVar[tuple[str, ...]] = (  # optional members
        "in_one_process",
        "uses_encoder",
        "prompts",
        "spent",
        "problem",
        "trouble",
        "close",
        "again",
    )
    in_one_process: bool = False
    uses_encoder: bool = False

    if TYPE_CHECKING:  # attributes or properties, as a component prefers

        @property
        def name(self) -> str:
            """The name under which it is registered."""

        @property
        def signature(self) -> str:
            """Everything that fixes its answers."""

        @property
        def prompts(self) -> tuple[PromptFile, ...]:
            """The prompts that it asks a language model with."""

        @property
        def spent(self) -> Usage | None:
            """The usage of its language model. None if it has none."""

        @property
        def problem(self) -> str | None:
            """Why results are no longer saved on disk. None if they are saved."""

        @property
        def trouble(self) -> str | None:
            """The error of the first failed call. None if no call failed."""

    else:
        prompts = ()
        spent = problem = trouble = None

    def close(self) -> None:
        """Release memory and connections. The next request opens them again."""

    def again(self) -> AbstractContextManager[None]:
        """Return a context in which replies that were paid for are used again."""
        return nullcontext()

    @abstractmethod
    def answer(self, requests: Sequence[Q]) -> Sequence[A]:
        """Return one answer for each request, in their order."""

    @abstractmethod
    def failed(self, reason: str) -> A:
        """Return the answer to a request on which the component raises."""

    def check(self, requests: Sequence[Q], answers: object) -> Sequence[A]:
        """Return the answers if they are valid.

        Raises:
            ProtocolError: They aren't valid, see `check_answers`.
        """
        return check_answers(self.label, self.answers, answers, len(requests), self.answer_type)

    @property
    def label(self) -> str:
        """The name of the component in error messages: "the judge 'x'"."""
        return f"the {self.kind} {self.name!r}"

    def answer_once(self, requests: Sequence[Q], cache: dict[Q, A] | None = None) -> list[A]:
        """Answer every different request once.

        If the component raises, the requests are halved until the failing one is isolated.

        Args:
            requests: The requests. Equal requests share one answer.
            cache: Earlier answers, which aren't requested again. New ones are added.

        Returns:
            One answer for each request, in their order.

        Raises:
            ProtocolError: The component returns anything but one valid answer for each request.
        """
        cache = {} if cache is None else cache
        new = [request for request in dict.fromkeys(requests) if request not in cache]
        if new:
            cache.update(zip(new, self._answer_or_halve(new), strict=True))
        return [cache[request] for request in requests]

    @staticmethod
    def sum_spent(components: Iterable[Component[Any, Any]]) -> Usage | None:
        """Return the total usage of components. None if none of them asks a model."""
        costs = [component.spent for component in components]
        paid = [cost for cost in costs if cost is not None]
        return sum(paid[1:], paid[0]) if paid else None

    @classmethod
    def fits(cls, component: object) -> bool:
        """Return whether an object has all members of a component of this kind."""
        return all(hasattr(component, name) for name in cls.members)

    @classmethod
    def adapt(cls, component: Any) -> Self:
        """Return a component of this kind: the object itself, or a wrapper of it.

        A user's object needs only the members of its kind. Optional members that it lacks get
        their defaults.

        Raises:
            UsageError: It lacks a member, or one has another type.
        """
        check_members(cls.kind, component, cls.members)
        if isinstance(component, cls):
            return component
        return _delegate(cls, component)

    def _answer_or_halve(self, requests: Sequence[Q]) -> Sequence[A]:
        try:
            answers = self.answer(requests)
        except BaseException as error:
            if not fails_alone(error):
                raise
            if len(requests) == 1:
                return [self.failed(f"{self.label} failed: {raised(error)}")]
        else:
            return self.check(requests, answers)
        middle = len(requests) // 2
        with self.again():
            first_half = self._answer_or_halve(requests[:middle])
            second_half = self._answer_or_halve(requests[middle:])
        return [*first_half, *second_half]


def _delegate(kind: type[C], component: object) -> C:
    """Return a component of a kind that reads its members from an object."""
    names = [name for name in (*kind.members, *kind.abilities) if hasattr(component, name)]
    members = {name: _read_from(component, name) for name in names}
    wrapper: C = type(type(component).__name__, (kind,), members)()
    return wrapper


def _read_from(component: object, name: str) -> property:
    return property(lambda _: getattr(component, name))
