"""Calibration files of several judges: which of the judges each is of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from trueground.components import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.judges.base import Judge
from trueground.judges.calibrated import calibrated, open_calibration, with_option
from trueground.judges.registry import get_judge


def with_calibration(
    judges: Sequence[str | Judge], paths: Sequence[str], *, cache: bool = True
) -> list[str | Judge]:
    """The same judges, in order, each with the calibration that is of it.

    A judge that is named stays a name, with `calibration=FILE` among its options. Of several with
    the name that a file tells, those whose signature it tells are meant. UsageError: such a judge
    has a calibration already, or two files are of it. InputError: a file that cannot be used, or is
    of none of them.
    """
    chosen: dict[int, str] = {}
    for path in paths:
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
    return ComponentSpec.parse("judge", judge).name if isinstance(judge, str) else judge.name


def _basis(judge: str | Judge, cache: bool) -> str:
    if not isinstance(judge, str):
        return judge.basis
    with closing(get_judge(judge, cache=cache)) as opened:
        return opened.basis
