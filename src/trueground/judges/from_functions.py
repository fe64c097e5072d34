"""Judges that are functions of one claim: `@tg.judge def verbatim(claim, texts)`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from trueground.components import ComponentSpec, UserFunction
from trueground.errors import ProtocolError, UsageError
from trueground.judges.base import Judge
from trueground.judges.calibrated import sign_judge, with_threshold_option
from trueground.net import raised
from trueground.types import JudgeRequest, ReasonKind, Status, Verdict

P = ParamSpec("P")
R = TypeVar("R")
PARAMETERS = ("claim", "texts", "question")
REQUIRED = ("claim", "texts")
EXPECTED = "True, False, or a probability from 0 to 1 that the texts support the claim"


class FunctionJudge(Judge, Generic[P, R]):
    """A judge that calls a user's function once for each claim.

    You can call it like the function: `verbatim("It is tall.", ["The tower is tall."])`.

    Attributes:
        name: The name under which it is registered.
        threshold: A claim is supported if its probability is above this.
        signature: Name, version and threshold.
    """

    name: str
    signature: str
    threshold: float
    basis = ""  # set when a judge is made

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        threshold: float = 0.5,
        version: int | str | None = None,
    ) -> None:
        user = UserFunction("judge", function, allowed=PARAMETERS, name=name, version=version)
        for parameter in REQUIRED:
            if parameter not in user.required:
                raise UsageError(
                    f"{user.label}: the function {user.function.__name__}() has no parameter "
                    f"{parameter!r} without a default; a judge has claim and texts, and may have "
                    "question"
                )
        if not 0 <= threshold < 1:
            raise UsageError(
                f"{user.label}: threshold={threshold!r}; expected a probability, 0 or more and "
                "less than 1"
            )
        self.function = user
        self.name = user.name
        self.threshold = float(threshold)
        self.basis = f"{user.name}-{user.version}"
        self.signature = sign_judge(self.basis, self.threshold, None)
        # An async function mostly waits, so more processes don't make it faster.
        self.in_one_process = user.is_async
        self.__name__ = user.function.__name__
        self.__qualname__ = user.function.__qualname__
        self.__module__ = user.function.__module__
        self.__doc__ = user.function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<judge {self.name!r}: {self.function.origin}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self.__wrapped__(*args, **kwargs)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[Verdict]:
        """Return one verdict for each request, in their order.

        A claim without any text isn't supported, and the function isn't called. If the function
        raises, the verdict has the status `error`.

        Raises:
            ProtocolError: The function returned neither a bool nor a number from 0 to 1.
        """
        readable = [request for request in requests if _has_text(request)]
        results = iter(self.function.call_each([self._arguments(request) for request in readable]))
        verdicts = []
        for request in requests:
            if _has_text(request):
                verdicts.append(self._read_verdict(next(results)))
            else:
                verdicts.append(_without_text(request))
        return verdicts

    def close(self) -> None:
        """End the thread in which an async function ran."""
        self.function.close()

    def _arguments(self, request: JudgeRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {"claim": request.claim, "texts": list(request.texts)}
        if "question" in self.function.required or (
            "question" in self.function.optional and request.asked
        ):
            arguments["question"] = request.asked
        return arguments

    def _read_verdict(self, result: object) -> Verdict:
        """Return the verdict of a call. Raises ProtocolError if its return value is invalid."""
        error = self.function.error_of(result)
        if error is not None:
            reason = f"{self.function.label} failed: {raised(error)}"
            return Verdict(status=Status.ERROR, reasons=(reason,))
        try:
            probability = self.function.number(result, EXPECTED)
            if not 0 <= probability <= 1:
                raise self.function.wrong_return(result, EXPECTED)
        except ProtocolError as error:
            raise ProtocolError(f"{self.function.label}: {error}") from None
        if probability > self.threshold:
            return Verdict(supported=True, probability=probability)
        reason = f"probability of support {probability:.2f}, threshold {self.threshold:g}"
        if isinstance(result, bool | np.bool_):
            reason = f"{self.name}() returned False"
        return Verdict(
            supported=False,
            probability=probability,
            reasons=(reason,),
            kind=ReasonKind.BELOW_THRESHOLD,
        )


def is_judge_function(component: object) -> bool:
    """Return whether this is a function of a claim, not a factory of judges."""
    if not isinstance(component, FunctionType):
        return False
    return not inspect.signature(component).parameters.keys().isdisjoint(PARAMETERS)


def judge_factory(judge: FunctionJudge[P, R]) -> Callable[[ComponentSpec], Judge]:
    """Return the factory of the judges `NAME` and `NAME(threshold=X)`."""

    def make(spec: ComponentSpec) -> Judge:
        spec.check(("threshold",), model=False)
        return with_threshold_option(judge, spec) if spec.options else judge

    make.__doc__ = judge.function.summary
    return make


def _has_text(request: JudgeRequest) -> bool:
    return any(text.strip() for text in request.texts)


def _without_text(request: JudgeRequest) -> Verdict:
    return Verdict(
        supported=False,
        probability=0.0,
        reasons=(f"no {request.source}",),
        kind=ReasonKind.NO_CONTEXT,
    )
