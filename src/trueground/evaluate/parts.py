"""Who supplies claims, verdicts, ratings and comparisons in a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.claims import Decomposer, get_decomposer
from trueground.errors import InputError, UsageError
from trueground.judges import Judge, get_judge
from trueground.plugins import PartSpec, format_part, known_everywhere, parse_part
from trueground.protocols import check_members

if TYPE_CHECKING:
    from trueground.judges.comparing import Comparer
    from trueground.judges.rating import LLMRater
    from trueground.models.prompts import PromptFile
    from trueground.models.usage import Usage

# What each component has to have, by its protocol.
MEMBERS = {
    "judge": {"name": "text", "signature": "text", "threshold": "number", "judge": "method"},
    "decomposer": {"name": "text", "signature": "text", "decompose": "method"},
    "rater": {"name": "text", "signature": "text", "rate": "method"},
    "model": {"name": "text", "signature": "text", "generate": "method", "close": "method"},
}
JudgeName = str | Judge
Calibrations = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Parts:
    """The parts of a run. `names` are the texts from which another process can make the same.

    `names` is None where that cannot be done: for parts handed in as objects, and for those that
    hold a model in memory or ask one. `written` is what the user wrote of each judge, and of the
    decomposer after them; None for an object. `own` are those that were made here and are closed
    here. `rater_spec` is what was written of the rater, where it was named. Comparers are made
    when a metric names them. `calibrations` are the files that were given for the judges.
    """

    judges: tuple[Judge, ...]
    decomposer: Decomposer
    rater: LLMRater | None = None
    names: tuple[tuple[str, ...], str] | None = None
    written: tuple[str | None, ...] = ()
    own: tuple[Any, ...] = field(default=(), repr=False)
    rater_spec: PartSpec | None = None
    cache: bool = True
    comparers: dict[str, Comparer] = field(default_factory=dict, repr=False)
    calibrations: tuple[str, ...] = ()

    def comparer(self, written: str) -> Comparer:
        """The comparer `NAME:MODEL(option=value)`, one for all metrics that name the same.

        UsageError: an unknown name or option, no language model where one is needed. InputError.
        """
        if written not in self.comparers:
            from trueground.judges.comparing import make_comparer

            self.comparers[written] = make_comparer(written, self.rater_spec, cache=self.cache)
        return self.comparers[written]

    @property
    def labels(self) -> list[str]:
        """A name for each judge; where two have the same, they are numbered."""
        names = [judge.name for judge in self.judges]
        return [
            f"{name}#{names[: i + 1].count(name)}" if names.count(name) > 1 else name
            for i, name in enumerate(names)
        ]

    def all(self) -> Iterator[Any]:
        """Every part, once."""
        rater = (self.rater,) if self.rater else ()
        found = (*self.judges, self.decomposer, *rater, *self.comparers.values())
        yield from {id(part): part for part in found}.values()

    @property
    def prompts(self) -> tuple[PromptFile, ...]:
        """The prompts that judges and decomposer ask language models with."""
        asked = (*self.judges, self.decomposer, *self.comparers.values())
        return tuple(p for part in asked for p in getattr(part, "prompts", ()))

    @property
    def spent(self) -> Usage | None:
        """Calls, tokens and cache hits of all parts; None where no part asks a model."""
        spent = [part.spent for part in self.all() if hasattr(part, "spent")]
        return sum(spent[1:], spent[0]) if spent else None

    @property
    def problem(self) -> str | None:
        """Why what was computed or paid for is no longer kept; None while it is."""
        found = (getattr(part, "problem", None) for part in self.all())
        return next(filter(None, found), None)

    @property
    def note(self) -> str | None:
        """What the user should know of the asking: calls that failed, replies not kept."""
        spent = self.spent
        found = [self.problem] if self.problem else []
        if spent is not None and spent.failed:
            why = next(filter(None, (getattr(part, "trouble", None) for part in self.all())), "")
            found.append(
                f"{spent.failed:,} of {spent.calls:,} calls of judges, decomposer and rater "
                f"failed, such as: {why}. What they were for has no score"
            )
        return "; ".join(found) or None

    def close(self) -> None:
        """Give connections and memory of the parts back that were made here."""
        with ExitStack() as stack:  # one that fails keeps no other open
            for part in (*self.own, *self.comparers.values()):
                if hasattr(part, "close"):
                    stack.callback(part.close)


def make_parts(
    judge: JudgeName | Sequence[JudgeName] | None = "lexical",
    decomposer: str | Decomposer = "rules",
    rater: str | LLMRater | None = None,
    *,
    cache: bool = True,
    calibration: Calibrations | None = None,
) -> Parts:
    """The parts behind these names, `NAME:MODEL(option=value)` each, or as they are.

    A judge that is a language model rates too, where no rater is named. `calibration` is a file of
    `judge calibrate` for the one of the judges that it is of, or several such files. Raises
    UsageError, and InputError for a model that cannot be found, and a calibration that cannot be
    used.
    """
    wanted = _as_list(judge)
    for name, part in (("judge", wanted or judge), ("decomposer", decomposer)):
        if not part:
            raise UsageError(f"{name}={part!r}; leave it out for the default, or name one")
    if twice := [text for text in wanted if wanted.count(text) > 1]:
        raise UsageError(f"the judge {twice[0]!r} is named twice; name each judge once")
    for kind, components in (("judge", wanted), ("decomposer", [decomposer]), ("rater", [rater])):
        for component in components:
            if component is not None and not isinstance(component, str):
                check_members(kind, component, MEMBERS[kind])
    written = tuple(part if isinstance(part, str) else None for part in (*wanted, decomposer))
    wanted = with_calibration(wanted, files := _as_paths(calibration), cache=cache)
    judges = tuple(get_judge(j, cache=cache) if isinstance(j, str) else j for j in wanted)
    splits = get_decomposer(decomposer, cache=cache) if isinstance(decomposer, str) else decomposer
    for made in judges:  # a plug-in may have made it
        check_members("judge", made, MEMBERS["judge"])
    check_members("decomposer", splits, MEMBERS["decomposer"])
    llms = [j for j in wanted if isinstance(j, str) and j.strip().startswith("llm:")]
    if rater is None and llms:
        from trueground.models.options import OPTIONS

        spec = parse_part("judge", llms[0])  # without the options that only judges have
        shared = spec.options.keys() & {*OPTIONS, "temperature", "max_tokens"}
        rater = format_part(
            "llm", spec.model, {k: v for k, v in spec.options.items() if k in shared}
        )
    rater_spec = parse_part("rater", rater, cache=cache) if isinstance(rater, str) else None
    if isinstance(rater, str):
        from trueground.judges.rating import make_rater

        rates: LLMRater | None = make_rater(rater, cache=cache)
    else:
        rates = rater
    pairs = zip((*wanted, decomposer, rater), (*judges, splits, rates), strict=True)
    return Parts(
        judges,
        splits,
        rates,
        _names_of(wanted, decomposer, (*judges, splits)),
        written,
        tuple(part for name, part in pairs if isinstance(name, str)),
        rater_spec,
        cache,
        calibrations=files,
    )


def _as_list(judge: JudgeName | Sequence[JudgeName] | None) -> list[JudgeName]:
    """One judge or several, as a list; what is neither is left to `check_members`."""
    if isinstance(judge, Iterable) and not isinstance(judge, str | Judge):
        return list(judge)
    return [judge] if judge else []


def _names_of(
    judges: Sequence[JudgeName], decomposer: str | Decomposer, parts: Sequence[Any]
) -> tuple[tuple[str, ...], str] | None:
    """The texts from which another process can make the same; None where it cannot."""
    texts = tuple(judge for judge in judges if isinstance(judge, str))
    if len(texts) < len(judges) or not isinstance(decomposer, str):
        return None
    if any(getattr(part, "in_one_process", False) for part in parts):
        return None
    judge_names = [parse_part("judge", text).name for text in texts]
    decomposers = [parse_part("decomposer", decomposer).name]
    found = known_everywhere("judge", judge_names) and known_everywhere("decomposer", decomposers)
    return (texts, decomposer) if found else None


# Calibration files: which of the judges each is of.


def _as_paths(paths: Calibrations | None) -> tuple[str, ...]:
    return (str(paths),) if isinstance(paths, str | Path) else tuple(map(str, paths or ()))


def with_calibration(
    judges: Sequence[str | Judge], paths: Calibrations, *, cache: bool = True
) -> list[str | Judge]:
    """The same judges, in order, each with the calibration that is of it.

    A judge that is named stays a name, with `calibration=FILE` among its options. Of several with
    the name that a file tells, those whose signature it tells are meant. UsageError: such a judge
    has a calibration already, or two files are of it. InputError: a file that cannot be used, or is
    of none of them.
    """
    if not (files := _as_paths(paths)):
        return list(judges)
    from trueground.judges.calibrated import calibrated, with_option

    chosen: dict[int, str] = {}
    for path in files:
        for number in _find_judges(judges, path, cache):
            if number in chosen:
                raise UsageError(
                    f"--judge-calibration {chosen[number]} and {path} are both of the judge "
                    f"{_judge_name(judges[number])}; leave one out"
                )
            chosen[number] = path
    return [
        judge
        if n not in chosen
        else with_option(judge, chosen[n])
        if isinstance(judge, str)
        else calibrated(judge, chosen[n])
        for n, judge in enumerate(judges)
    ]


def _find_judges(judges: Sequence[str | Judge], path: str, cache: bool) -> list[int]:
    """The judges that a file is of: of several with one name, those whose scores depend on what the
    file tells. InputError where none does.
    """
    from trueground.judges.calibrated import open_calibration

    file = open_calibration(path)
    alike = [number for number, judge in enumerate(judges) if _judge_name(judge) == file.judge]
    if not alike:
        others = ", ".join(_judge_name(judge) for judge in judges)
        raise InputError(
            f"calibration file {path}: it is of the judge {file.judge!r}, and the judges here are "
            f"{others}; add --judge {file.judge}, or make one with: trueground judge calibrate "
            "FILE --judge NAME"
        )
    if len(alike) == 1:
        return alike
    bases = {number: _basis(judges[number], cache) for number in alike}
    same = [number for number, basis in bases.items() if basis == file.signature]
    if not same:
        raise InputError(
            f"calibration file {path}: it was made with {file.signature!r}, and the judges "
            f"{file.judge} here are {', '.join(map(repr, bases.values()))}; make one with: "
            f"trueground judge calibrate FILE --judge {file.judge}"
        )
    return same


def _judge_name(judge: str | Judge) -> str:
    return parse_part("judge", judge).name if isinstance(judge, str) else judge.name


def _basis(judge: str | Judge, cache: bool) -> str:
    from trueground.judges.calibrated import basis_of

    if not isinstance(judge, str):
        return basis_of(judge)
    opened = get_judge(judge, cache=cache)
    with closing(opened) if hasattr(opened, "close") else nullcontext():  # type: ignore[type-var]
        return basis_of(opened)
