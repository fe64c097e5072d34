"""The assignment of calibration files to the judges of a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from trueground.components import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.judges.base import Judge
from trueground.judges.calibrated import add_calibration_option, calibrated, open_calibration
from trueground.judges.registry import get_judge


def with_calibration(
    judges: Sequence[str | Judge], paths: Sequence[str], *, cache: bool = True
) -> list[str | Judge]:
    """Return the judges in order, each with its calibration if one of the files has one.

    Args:
        judges: Names or objects. A name stays a name and gets the option `calibration=FILE`.
        paths: Calibration files. If several judges have the name in a file, its signature decides.
        cache: False if cached results must not be used.

    Raises:
        UsageError: A judge has a calibration already, or two files are for the same judge.
        InputError: A file can't be used, or none of the judges matches it.
    """
    chosen: dict[int, str] = {}
    for path in paths:
        for number in _find_judges(judges, path, cache):
            if number in chosen:
                raise UsageError(
                    f"--judge-calibration {chosen[number]} and {path} are both for the judge "
                    f"{_judge_name(judges[number])}; leave one out"
                )
            chosen[number] = path
    combined = list(judges)
    for number, path in chosen.items():
        judge = judges[number]
        if isinstance(judge, str):
            combined[number] = add_calibration_option(judge, path)
        else:
            combined[number] = calibrated(judge, path)
    return combined


def _find_judges(judges: Sequence[str | Judge], path: str, cache: bool) -> list[int]:
    """Return the numbers of the judges that a file is for. Raises InputError without any.

    If several have the name in the file, its signature decides.
    """
    file = open_calibration(path)
    with_name = [number for number, judge in enumerate(judges) if _judge_name(judge) == file.judge]
    if not with_name:
        names = ", ".join(_judge_name(judge) for judge in judges)
        raise InputError(
            f"calibration file {path}: it is for the judge {file.judge!r}, but the judges here are "
            f"{names}; add --judge {file.judge}, or make one with: trueground judge calibrate "
            "FILE --judge NAME"
        )
    if len(with_name) == 1:
        return with_name
    bases = {number: _basis(judges[number], cache) for number in with_name}
    matching = [number for number, basis in bases.items() if basis == file.signature]
    if not matching:
        raise InputError(
            f"calibration file {path}: it was made with {file.signature!r}, but the judges "
            f"{file.judge} here are {', '.join(map(repr, bases.values()))}; make one with: "
            f"trueground judge calibrate FILE --judge {file.judge}"
        )
    return matching


def _judge_name(judge: str | Judge) -> str:
    return ComponentSpec.parse("judge", judge).name if isinstance(judge, str) else judge.name


def _basis(judge: str | Judge, cache: bool) -> str:
    if not isinstance(judge, str):
        return judge.basis
    with closing(get_judge(judge, cache=cache)) as opened:
        return opened.basis
