"""What a calibration found: the numbers, and the file that judges read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueground.errors import OutputError
from trueground.judges.calibrated import FAMILY
from trueground.runs.directory import write_json
from trueground.runs.outfile import check_ours, check_out_file


@dataclass(frozen=True)
class Calibration:
    """A judge's threshold and probabilities; a claim is supported where its score is greater than
    `threshold`.

    With the method "platt" `probability = 1 / (1 + exp(−(slope · score + intercept)))`; with
    "isotonic" it is read between `knots`. `raw` is everything, as it stands in the file and in the
    JSON output.
    """

    raw: dict[str, Any]

    @property
    def threshold(self) -> float:
        """The threshold chosen for the objective; 0.5 for a judge that gives verdicts only."""
        return float(self.raw["threshold"])

    @property
    def slope(self) -> float | None:
        """Log-odds per unit of the score; None with an isotonic curve."""
        return None if self.raw["slope"] is None else float(self.raw["slope"])

    @property
    def intercept(self) -> float | None:
        """Log-odds at the score 0; None with an isotonic curve."""
        return None if self.raw["intercept"] is None else float(self.raw["intercept"])

    @property
    def knots(self) -> list[tuple[float, float]] | None:
        """Corners (score, probability) of the isotonic curve; None with Platt's."""
        found = self.raw["knots"]
        return None if found is None else [(float(score), float(p)) for score, p in found]

    @property
    def auroc(self) -> float:
        """The chance that a positive record scores higher than a negative one."""
        return float(self.raw["auroc"]["value"])

    @property
    def notes(self) -> list[str]:
        """What to know before the numbers are used."""
        return list(self.raw["notes"])

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the file that a judge reads. Raises OutputError, WriteError."""
        check_free(Path(path), overwrite)
        write_json(Path(path), self.raw)


def check_free(path: Path, overwrite: bool = False) -> None:
    """OutputError where the file may not be written; only a calibration is ever replaced."""
    check_out_file(path, "calibration.json")
    if path.exists() and not overwrite:
        raise OutputError(f"{path} exists; choose another --out, or pass --overwrite to replace it")
    check_ours(path, FAMILY, "calibration file of ours")
