"""What a validation found, and the folder or file that it is written to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from trueground.errors import OutputError, UsageError
from trueground.runs.directory import MANIFEST, replacing, safe_name, write_error, write_json
from trueground.runs.outfile import see_ours, see_out_file, see_page_file

FORMAT = "trueground-validation-1"
VALIDATION = "validation.json"
PAGE = "validation.html"
ITEMS = "items"
_KIND = "validation file of ours"


@dataclass(frozen=True)
class Validation:
    """How far metrics agree with people. `raw` is everything, as in the JSON output."""

    raw: dict[str, Any]

    @property
    def metrics(self) -> list[str]:
        """Every metric that was measured somewhere, in order."""
        names = [*self.raw["sets"], *(self.raw["preferences"] or ())]
        return list(dict.fromkeys(metric for one in names for metric in one["metrics"]))

    @property
    def notes(self) -> list[str]:
        """What to know before the numbers are used."""
        return list(self.raw["notes"])

    def value(self, metric: str, measure: str = "auroc", of: str | None = None) -> float | None:
        """One measure of a metric: of the set of that name, or the mean over all sets.

        None where it is undefined. UsageError: an unknown set, metric or measure.
        """
        if of is None:
            found = self.raw["mean"]
        else:
            sets = {one["name"]: one for one in self.raw["sets"]}
            if of not in sets:
                raise UsageError(f"no set {of!r}; there are {', '.join(sets)}")
            found = {key: entry["measures"] for key, entry in sets[of]["metrics"].items()}
        if metric not in found:
            raise UsageError(f"no metric {metric!r} there; there are {', '.join(found)}")
        if measure not in self._measures:
            raise UsageError(f"no measure {measure!r}; there are {', '.join(self._measures)}")
        told = found[metric].get(measure)
        return None if told is None else told["value"]

    @property
    def _measures(self) -> list[str]:
        entries = (entry for one in self.raw["sets"] for entry in one["metrics"].values())
        return list(next(entries)["measures"])

    def to_json(self) -> bytes:
        """`raw` as indented JSON; the same bytes for the same input, options and seed."""
        return orjson.dumps(self.raw, option=orjson.OPT_INDENT_2) + b"\n"


@dataclass
class Out:
    """Where a validation goes: a folder, a JSON file, or a page. Seen before any work is done.

    OutputError: a folder that is not empty, another's file, a path that cannot be written.
    """

    path: Path
    overwrite: bool = False
    folder: bool = field(init=False)
    _begun: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        suffix = self.path.suffix.lower()
        self.folder = self.path.is_dir() or suffix not in (".json", ".html")
        if self.folder:
            self._see_folder()
            return
        if suffix == ".html":
            see_page_file(self.path, FORMAT, self.overwrite)
            return
        see_out_file(self.path, VALIDATION)
        see_ours(self.path, FORMAT, _KIND)
        if self.path.exists() and not self.overwrite:
            raise OutputError(
                f"{self.path} exists; choose another --out, or pass --overwrite to replace it"
            )

    def write(self, found: Validation, manifest: dict[str, Any]) -> None:
        """Write what was found. In a folder the items are there already. Raises WriteError."""
        if not self.folder:
            if self.path.suffix.lower() == ".json":
                write_json(self.path, found.raw)
            else:
                _write_page(self.path, found.raw)
            return
        write_json(self.path / VALIDATION, found.raw)
        _write_page(self.path / PAGE, found.raw)
        write_json(self.path / MANIFEST, manifest)

    def write_items(self, name: str, lines: Iterable[dict[str, Any]]) -> None:
        """The items of a set, one line each; only a folder has them. Raises WriteError."""
        if not self.folder:
            return
        try:
            (self.path / ITEMS).mkdir(parents=True, exist_ok=True)
            for old in () if self._begun else (self.path / ITEMS).glob("*.jsonl"):
                old.unlink()
        except OSError as error:
            raise write_error(self.path / ITEMS, error) from error
        self._begun = True
        with replacing(self.path / ITEMS / f"{safe_name(name)}.jsonl") as file:
            for line in lines:
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def _see_folder(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            names = {entry.name for entry in self.path.iterdir()}
        except OSError as error:
            raise OutputError(
                f"cannot use {self.path} as output folder: {error.strerror or error}; choose "
                "another --out"
            ) from error
        if names and not self.overwrite:
            raise OutputError(
                f"{self.path} exists and is not empty; choose another --out, or pass --overwrite "
                "to replace the validation in it"
            )
        if names and VALIDATION not in names:
            raise OutputError(
                f"{self.path} holds files but no validation, so --overwrite leaves it alone; "
                "choose another --out"
            )
        see_ours(self.path / VALIDATION, FORMAT, _KIND)


def _write_page(path: Path, raw: dict[str, Any]) -> None:
    from trueground.reports.validation_page import write_validation

    write_validation(path, raw)
