"""Calibration files beside the judges of a run: which of them each is of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from trueground.errors import InputError, UsageError
from trueground.judges import Judge, get_judge
from trueground.judges.calibrated import (
    CalibrationFile,
    basis_of,
    calibrated,
    open_calibration,
    with_option,
)
from trueground.plugins import parse_part

Calibrations = str | Path | Sequence[str | Path]


def listed(paths: Calibrations | None) -> tuple[str, ...]:
    """The paths of one file or several, as texts."""
    if paths is None:
        return ()
    return (str(paths),) if isinstance(paths, str | Path) else tuple(map(str, paths))


def with_calibration(
    judges: Sequence[str | Judge], paths: Calibrations, *, cache: bool = True
) -> list[str | Judge]:
    """The same judges, in order, each with the calibration that is of it.

    A judge that is named stays a name, with `calibration=FILE` among its options. Of several with
    the name that a file tells, those whose signature it tells are meant. UsageError: such a judge
    has a calibration already, or two files are of it. InputError: a file that cannot be used, or is
    of none of them.
    """
    files: dict[int, str] = {}
    for path in listed(paths):
        for number in _meant(judges, path, cache):
            if number in files:
                raise UsageError(
                    f"--judge-calibration {files[number]} and {path} are both of the judge "
                    f"{_name(judges[number])}; leave one out"
                )
            files[number] = path
    return [_put(judge, files[n]) if n in files else judge for n, judge in enumerate(judges)]


def _meant(judges: Sequence[str | Judge], path: str, cache: bool) -> list[int]:
    """The judges that a file is of."""
    found = open_calibration(path)
    alike = [number for number, judge in enumerate(judges) if _name(judge) == found.judge]
    if not alike:
        others = ", ".join(_name(judge) for judge in judges)
        raise InputError(
            f"calibration file {path}: it is of the judge {found.judge!r}, and the judges here are "
            f"{others}; add --judge {found.judge}, or make one with: trueground judge calibrate "
            "FILE --judge NAME"
        )
    return _same(judges, alike, found, path, cache) if len(alike) > 1 else alike


def _name(judge: str | Judge) -> str:
    return parse_part("judge", judge).name if isinstance(judge, str) else judge.name


def _same(
    judges: Sequence[str | Judge],
    alike: list[int],
    found: CalibrationFile,
    path: str,
    cache: bool,
) -> list[int]:
    """Those of one name whose scores depend on what the file tells. InputError where none does."""
    bases = {number: _basis(judges[number], cache) for number in alike}
    same = [number for number, basis in bases.items() if basis == found.signature]
    if not same:
        raise InputError(
            f"calibration file {path}: it was made with {found.signature!r}, and the judges "
            f"{found.judge} here are {', '.join(map(repr, bases.values()))}; make one with: "
            f"trueground judge calibrate FILE --judge {found.judge}"
        )
    return same


def _basis(judge: str | Judge, cache: bool) -> str:
    made = get_judge(judge, cache=cache) if isinstance(judge, str) else judge
    with _closing(made) if made is not judge else nullcontext():
        return basis_of(made)


def _closing(made: Any) -> Any:
    return closing(made) if hasattr(made, "close") else nullcontext()


def _put(judge: str | Judge, path: str) -> str | Judge:
    return with_option(judge, path) if isinstance(judge, str) else calibrated(judge, path)
