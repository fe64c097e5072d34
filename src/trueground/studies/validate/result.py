"""What a validation found, and the folder or file that it is written to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from trueground.errors import OutputError, UsageError
from trueground.net.files import made, missing, remove_empty
from trueground.runs.directory import MANIFEST, replacing, safe_name, write_error, write_json
from trueground.runs.outfile import check_ours, check_out_file, check_page_file

FORMAT = "trueground-validation-1"
VALIDATION = "validation.json"
PAGE = "validation.html"
ITEMS = "items"
_UNFINISHED = "items.unfinished"  # so that what fails half way leaves nothing behind
_OTHER_FILE = re.compile(r"\.[a-z][a-z0-9]{1,6}")  # v1.2 and run.7 may be folders
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

    def value(self, metric: str, measure: str | None = None, of: str | None = None) -> float | None:
        """One measure of a metric: of the set of that name, or the mean over all sets.

        Without `measure` it is AUROC, of pairs the agreement of signs. None where it is undefined.

        UsageError: an unknown set, metric or measure.
        """
        if of is None:
            found = self.raw["mean"]
        else:
            pairs = {one["set"]: one for one in self.raw["preferences"] or ()}
            sets = {one["name"]: one for one in self.raw["sets"]} | pairs
            if of not in sets:
                raise UsageError(f"no set {of!r}; there are {', '.join(sets)}")
            entries = sets[of]["metrics"].items()
            found = {key: entry.get("measures", entry) for key, entry in entries}
        if metric not in found:
            raise UsageError(f"no metric {metric!r} there; there are {', '.join(found)}")
        measure = measure or ("sign_agreement" if self.raw["preferences"] else "auroc")
        if measure not in self._measures:
            raise UsageError(f"no measure {measure!r}; there are {', '.join(self._measures)}")
        told = found[metric].get(measure)
        return None if told is None else told["value"]

    @property
    def _measures(self) -> list[str]:
        return list(dict.fromkeys(name for found in self.raw["mean"].values() for name in found))

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
    _made: list[Path] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        suffix = self.path.suffix.lower()
        self.folder = self.path.is_dir() or suffix not in (".json", ".html")
        if self.folder:
            if not self.path.is_dir() and _OTHER_FILE.fullmatch(suffix):
                raise UsageError(
                    f"--out {self.path}: {suffix} is no kind of file that is written; name a "
                    "folder, FILE.json or FILE.html"
                )
            self._check_folder()
            return
        if suffix == ".html":
            check_page_file(self.path, FORMAT, self.overwrite)
            return
        check_out_file(self.path, VALIDATION)
        check_ours(self.path, FORMAT, _KIND)
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
        self._move_items()
        write_json(self.path / VALIDATION, found.raw)
        _write_page(self.path / PAGE, found.raw)
        write_json(self.path / MANIFEST, manifest)

    def write_items(self, name: str, lines: Iterable[dict[str, Any]]) -> None:
        """The items of a set, one line each; only a folder has them. Raises WriteError."""
        if not self.folder:
            return
        try:
            made(self.path / _UNFINISHED)
        except OSError as error:
            raise write_error(self.path / _UNFINISHED, error) from error
        with replacing(self.path / _UNFINISHED / f"{safe_name(name)}.jsonl") as file:
            for line in lines:
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def undo(self) -> None:
        """Take away what was begun: unfinished items, and folders that were made and are empty."""
        if not self.folder:
            return
        shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)
        remove_empty(self._made)

    def _move_items(self) -> None:
        """The items of all sets take the place of those of an earlier validation."""
        fresh, items = self.path / _UNFINISHED, self.path / ITEMS
        try:
            made(items)
            for old in items.glob("*.jsonl"):
                old.unlink()
            for new in fresh.glob("*.jsonl"):
                new.replace(items / new.name)
            if fresh.is_dir():
                fresh.rmdir()
        except OSError as error:
            raise write_error(items, error) from error

    def _check_folder(self) -> None:
        try:
            self._made = missing(self.path)
            self.path.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)
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
        check_ours(self.path / VALIDATION, FORMAT, _KIND)


def _write_page(path: Path, raw: dict[str, Any]) -> None:
    from trueground.reports.validation_page import write_validation

    write_validation(path, raw)
