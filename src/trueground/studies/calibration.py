"""What a calibration found: the numbers, and the file that judges read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.errors import OutputError
from trueground.runs.directory import write_json

FORMAT = "trueground-calibration-1"


@dataclass(frozen=True)
class Calibration:
    """A judge's threshold and probabilities; `probability = 1 / (1 + exp(−(slope · score +
    intercept)))`, and a claim is supported where its score is greater than `threshold`.

    `raw` is everything, as it stands in the file and in the JSON output.
    """

    raw: dict[str, Any]

    @property
    def threshold(self) -> float:
        """The threshold chosen for the objective."""
        return float(self.raw["threshold"])

    @property
    def slope(self) -> float:
        """Log-odds per unit of the score."""
        return float(self.raw["slope"])

    @property
    def intercept(self) -> float:
        """Log-odds at the score 0."""
        return float(self.raw["intercept"])

    @property
    def auroc(self) -> float:
        """The chance that a positive record scores higher than a negative one."""
        return float(self.raw["auroc"]["value"])

    @property
    def notes(self) -> list[str]:
        """What to know before the numbers are used."""
        return list(self.raw["notes"])

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the file that a judge reads. Raises OutputError, WriteError."""
        see_free(Path(path), overwrite)
        write_json(Path(path), self.raw)


def see_free(path: Path, overwrite: bool = False) -> None:
    """OutputError where the file may not be written."""
    if path.is_dir():
        raise OutputError(f"{path} is a folder; --out must name a file, such as {path / 'c.json'}")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists; choose another --out, or pass --overwrite to replace it")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist; make it, or choose another")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is not writable; choose another --out")
