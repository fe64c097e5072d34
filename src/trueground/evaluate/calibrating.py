"""A calibration file beside the judges of a run: which of them it is of."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from trueground.errors import InputError
from trueground.judges import Judge, get_judge
from trueground.judges.calibrated import basis_of, calibrated, with_option
from trueground.judges.calibration import CalibrationFile, open_calibration
from trueground.plugins import read_given


def with_calibration(
    judges: Sequence[str | Judge], path: str | Path, *, cache: bool = True
) -> list[str | Judge]:
    """The same judges, in order, with the calibration in those that it is of.

    A judge that is named stays a name, with `calibration=FILE` among its options. Of several with
    the name that the file tells, those whose signature it tells are meant. UsageError: such a judge
    has a calibration already. InputError: a file that cannot be used, or is of none of them.
    """
    found = open_calibration(str(path))
    alike = [number for number, judge in enumerate(judges) if _name(judge) == found.judge]
    if not alike:
        others = ", ".join(_name(judge) for judge in judges)
        raise InputError(
            f"calibration file {path}: it is of the judge {found.judge!r}, and the judges here are "
            f"{others}; add --judge {found.judge}, or make one with: trueground judge calibrate "
            "FILE --judge NAME"
        )
    meant = alike
    if len(alike) > 1:
        meant = _same(judges, alike, found, path, cache)
    return [_put(judge, str(path)) if n in meant else judge for n, judge in enumerate(judges)]


def _name(judge: str | Judge) -> str:
    return read_given("judge", judge).name if isinstance(judge, str) else judge.name


def _same(
    judges: Sequence[str | Judge],
    alike: list[int],
    found: CalibrationFile,
    path: str | Path,
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
