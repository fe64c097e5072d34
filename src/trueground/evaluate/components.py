"""Who supplies claims, verdicts, ratings and comparisons in a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from trueground.claims import Decomposer, get_decomposer
from trueground.components import Component, ComponentSpec, Registry
from trueground.errors import UsageError
from trueground.judges import Judge, get_judge, with_calibration
from trueground.metrics import Role

if TYPE_CHECKING:
    from trueground.judges import Comparer, Rater
    from trueground.types import PromptFile, Usage


JudgeName = str | Judge
Calibrations = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Components:
    """The judges, decomposer, rater and comparers of a run.

    Attributes:
        names: The texts from which another process can make the same components. None if it can't:
            for objects, and for components that hold a model in memory or ask one.
        written: What the user wrote of each judge, then of the decomposer; None for an object.
        own: Components that were made here. They are closed here, too.
        rater_spec: What the user wrote of the rater.
        comparers: Comparers by what a metric wrote; made when a metric names them.
        calibrations: Calibration files of the judges.
    """

    judges: tuple[Judge, ...]
    decomposer: Decomposer
    rater: Rater | None = None
    names: tuple[tuple[str, ...], str] | None = None
    written: tuple[str | None, ...] = ()
    own: tuple[Component[Any, Any], ...] = field(default=(), repr=False)
    rater_spec: ComponentSpec | None = None
    cache: bool = True
    comparers: dict[str, Comparer] = field(default_factory=dict, repr=False)
    calibrations: tuple[str, ...] = ()

    @classmethod
    def make(
        cls,
        judge: JudgeName | Sequence[JudgeName] | None = "lexical",
        decomposer: str | Decomposer = "rules",
        rater: str | Rater | None = None,
        *,
        cache: bool = True,
        calibration: Calibrations | None = None,
    ) -> Self:
        """Return the components of these names, or adapt the objects.

        Args:
            judge: Names `NAME:MODEL(option=value)`, or objects. None for no judge.
            decomposer: The same for who splits answers.
            rater: The same for who rates. If None, a judge that is a language model rates, too.
            cache: Whether replies are kept and reused.
            calibration: Files of `judge calibrate`, each for the judge that it is of.

        Raises:
            UsageError: A name or option is unknown.
            InputError: A model can't be found, or a calibration can't be used.
        """
        requested = _as_list(judge)
        for name, component in (("judge", requested or judge), ("decomposer", decomposer)):
            if not component:
                raise UsageError(f"{name}={component!r}; leave it out for the default, or name one")
        if twice := [text for text in requested if requested.count(text) > 1]:
            raise UsageError(f"the judge {twice[0]!r} is named twice; name each judge once")
        adapted = [one if isinstance(one, str) else Judge.adapt(one) for one in requested]
        if not isinstance(decomposer, str):
            decomposer = Decomposer.adapt(decomposer)
        if rater is not None and not isinstance(rater, str):
            from trueground.judges import Rater

            rater = Rater.adapt(rater)
        written = tuple(one if isinstance(one, str) else None for one in (*requested, decomposer))
        files = _as_paths(calibration)
        named = with_calibration(adapted, files, cache=cache)
        judges = tuple(get_judge(one, cache=cache) for one in named)
        splits = get_decomposer(decomposer, cache=cache)
        if rater is None:
            rater = _find_rater(named)
        rater_spec = (
            ComponentSpec.parse("rater", rater, cache=cache) if isinstance(rater, str) else None
        )
        if isinstance(rater, str):
            from trueground.judges import Rater

            rates: Rater | None = Rater.make(rater, cache=cache)
        else:
            rates = rater
        own: list[Component[Any, Any]] = []
        specs = (*named, decomposer, rater)
        for written_as, made in zip(specs, (*judges, splits, rates), strict=True):
            if isinstance(written_as, str) and made is not None:
                own.append(made)
        return cls(
            judges,
            splits,
            rates,
            _names_of(named, decomposer, (*judges, splits)),
            written,
            tuple(own),
            rater_spec,
            cache,
            calibrations=files,
        )

    def comparer(self, written: str) -> Comparer:
        """The comparer `NAME:MODEL(option=value)`, one for all metrics that name the same.

        UsageError: an unknown name or option, no language model where one is needed. InputError.
        """
        if written not in self.comparers:
            from trueground.judges import Comparer

            self.comparers[written] = Comparer.make(written, self.rater_spec, cache=self.cache)
        return self.comparers[written]

    def component(self, role: Role) -> Component[Any, Any]:
        """The component in a role."""
        if role.kind == "judge":
            return self.judges[int(role.name)]
        if role.kind == "comparer":
            return self.comparer(str(role.name))
        assert self.rater is not None  # a plan with ratings has one
        return self.rater

    @property
    def labels(self) -> list[str]:
        """A name for each judge; where two have the same, they are numbered."""
        names = [judge.name for judge in self.judges]
        return [
            f"{name}#{names[: i + 1].count(name)}" if names.count(name) > 1 else name
            for i, name in enumerate(names)
        ]

    def all(self) -> Iterator[Component[Any, Any]]:
        """Yield every component once."""
        rater = (self.rater,) if self.rater else ()
        found: tuple[Component[Any, Any], ...] = (
            *self.judges,
            self.decomposer,
            *rater,
            *self.comparers.values(),
        )
        yield from {id(component): component for component in found}.values()

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompts that judges and decomposer ask language models with."""
        asked = (component for component in self.all() if component is not self.rater)
        return tuple(prompt for component in asked for prompt in component.prompts)

    @property
    def spent(self) -> Usage | None:
        """Calls, tokens and cache hits of all components. None if none of them asks a model."""
        return Component.sum_spent(self.all())

    @property
    def problem(self) -> str | None:
        """Why what was computed or paid for is no longer kept; None while it is."""
        return next((component.problem for component in self.all() if component.problem), None)

    @property
    def note(self) -> str | None:
        """What the user should know of the asking: calls that failed, replies not kept."""
        spent = self.spent
        found = [self.problem] if self.problem else []
        if spent is not None and spent.failed:
            why = next((component.trouble for component in self.all() if component.trouble), "")
            found.append(
                f"{spent.failed:,} of {spent.calls:,} calls of judges, decomposer and rater "
                f"failed, such as: {why}. What they were for has no score"
            )
        return "; ".join(found) or None

    def close(self) -> None:
        """Close the components that were made here."""
        with ExitStack() as stack:  # one that fails keeps no other open
            for component in (*self.own, *self.comparers.values()):
                stack.callback(component.close)


def _find_rater(judges: Sequence[str | Judge]) -> str | None:
    """Return the spec of a rater with the model of the first judge that is a language model."""
    specs = [judge for judge in judges if isinstance(judge, str)]
    llms = [spec for spec in specs if spec.strip().startswith("llm:")]
    if not llms:
        return None
    from trueground.models import LLMComponent

    spec = ComponentSpec.parse("judge", llms[0])  # without the options that only judges have
    options = LLMComponent.shared_options(spec)
    return ComponentSpec("rater", "llm", spec.model, options).written


def _as_paths(paths: Calibrations | None) -> tuple[str, ...]:
    return (str(paths),) if isinstance(paths, str | Path) else tuple(map(str, paths or ()))


def _as_list(judge: JudgeName | Sequence[JudgeName] | None) -> list[JudgeName]:
    """One judge or several, as a list; what is neither is left to `Judge.adapt`."""
    if isinstance(judge, Iterable) and not isinstance(judge, str) and not Judge.fits(judge):
        return list(judge)
    return [cast("JudgeName", judge)] if judge else []


def _names_of(
    judges: Sequence[str | Judge],
    decomposer: str | Decomposer,
    components: Sequence[Component[Any, Any]],
) -> tuple[tuple[str, ...], str] | None:
    """The texts from which another process can make the same; None where it cannot."""
    texts = tuple(judge for judge in judges if isinstance(judge, str))
    if len(texts) < len(judges) or not isinstance(decomposer, str):
        return None
    if any(component.in_one_process for component in components):
        return None
    specs = [ComponentSpec.parse("judge", text) for text in texts]
    specs.append(ComponentSpec.parse("decomposer", decomposer))
    return (texts, decomposer) if Registry.shares(specs) else None
