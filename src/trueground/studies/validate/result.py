"""The result of a validation, and the folder or file that it is written to."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from trueground._version import __version__
from trueground.errors import RunInterrupted, UsageError
from trueground.net.files import make_folder, missing_folders, remove_empty
from trueground.runs.directory import (
    MANIFEST,
    OTHER_FILE,
    check_ours,
    check_ours_inside,
    find_outputs,
    replacing,
    safe_name,
    unusable,
    write_error,
    write_json,
)

if TYPE_CHECKING:
    from trueground.evaluate.parts import Parts
    from trueground.studies.labelled import LabelledSet

FORMAT = "trueground-validation-1"
VALIDATION = "validation.json"
PAGE = "validation.html"
ITEMS = "items"
_UNFINISHED = "items.unfinished"  # so that what fails half way leaves nothing behind
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
        metrics = self.raw["mean"]
        if of is not None:
            pairs = {one["set"]: one for one in self.raw["preferences"] or ()}
            sets = {one["name"]: one for one in self.raw["sets"]} | pairs
            if of not in sets:
                raise UsageError(f"no set {of!r}; there are {', '.join(sets)}")
            entries = sets[of]["metrics"].items()
            metrics = {key: entry.get("measures", entry) for key, entry in entries}
        if metric not in metrics:
            raise UsageError(f"no metric {metric!r} there; there are {', '.join(metrics)}")
        measure = measure or ("sign_agreement" if self.raw["preferences"] else "auroc")
        known = dict.fromkeys(name for one in self.raw["mean"].values() for name in one)
        if measure not in known:
            raise UsageError(f"no measure {measure!r}; there are {', '.join(known)}")
        estimate = metrics[metric].get(measure)
        return None if estimate is None else estimate["value"]

    def to_json(self) -> bytes:
        """`raw` as indented JSON; the same bytes for the same input, options and seed."""
        return orjson.dumps(self.raw, option=orjson.OPT_INDENT_2) + b"\n"


class ValidationOutput:
    """Where a validation goes: a folder, a JSON file, or a page. Checked before any work is done.

    UsageError: another kind of file. OutputError: a folder that is not empty, another's file, a
    path that cannot be written.
    """

    def __init__(self, path: Path, overwrite: bool = False) -> None:
        self.path = path
        suffix = path.suffix.lower()
        self._folder = path.is_dir() or suffix not in (".json", ".html")
        self._created: list[Path] = []
        if self._folder and (path.is_dir() or not OTHER_FILE.fullmatch(suffix)):
            self._check_folder(overwrite)
        else:
            find_outputs(path, FORMAT, overwrite=overwrite, numbers=FORMAT)

    def write(self, result: Validation, manifest: dict[str, Any]) -> None:
        """Write the result. In a folder the items are there already. Raises WriteError."""
        from trueground.reports.validation import write_validation

        if self._folder:
            self._move_items()
            write_json(self.path / VALIDATION, result.raw)
            write_validation(self.path / PAGE, result.raw)
            write_json(self.path / MANIFEST, manifest)
        elif self.path.suffix.lower() == ".json":
            write_json(self.path, result.raw)
        else:
            write_validation(self.path, result.raw)

    def write_items(self, name: str, lines: Iterable[dict[str, Any]]) -> None:
        """The items of a set, one line each; only a folder has them. Raises WriteError."""
        if not self._folder:
            return
        try:
            make_folder(self.path / _UNFINISHED)
        except OSError as error:
            raise write_error(self.path / _UNFINISHED, error) from error
        with replacing(self.path / _UNFINISHED / f"{safe_name(name)}.jsonl") as file:
            for line in lines:
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def undo(self) -> None:
        """Remove what was begun: unfinished items, and folders that were created and are empty."""
        if self._folder:
            shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)
            remove_empty(self._created)

    def _move_items(self) -> None:
        """The items of all sets take the place of those of an earlier validation."""
        fresh, items = self.path / _UNFINISHED, self.path / ITEMS
        try:
            make_folder(items)
            for old in items.glob("*.jsonl"):
                old.unlink()
            for new in fresh.glob("*.jsonl"):
                new.replace(items / new.name)
            if fresh.is_dir():
                fresh.rmdir()
        except OSError as error:
            raise write_error(items, error) from error

    def _check_folder(self, overwrite: bool) -> None:
        try:
            self._created = missing_folders(self.path)
            self.path.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(self.path / _UNFINISHED, ignore_errors=True)
            names = {entry.name for entry in self.path.iterdir()}
        except OSError as error:
            raise unusable(self.path, error) from error
        if names:
            ours = VALIDATION in names
            check_ours_inside(self.path, overwrite, ours, "validation", "--overwrite")
        check_ours(self.path / VALIDATION, FORMAT, _KIND)


@contextmanager
def undo_on_failure(output: ValidationOutput | None, cache: bool) -> Iterator[None]:
    """Whatever fails leaves nothing behind; Ctrl-C becomes RunInterrupted."""
    try:
        yield
    except BaseException as error:
        if output is not None:
            output.undo()
        if isinstance(error, KeyboardInterrupt):
            kept = "; replies already paid for are kept in the cache" if cache else ""
            raise RunInterrupted(f"interrupted; nothing was written{kept}") from None
        raise


def make_manifest(
    sets: Sequence[LabelledSet], parts: Parts, command: Sequence[str], start: str
) -> dict[str, Any]:
    """The manifest in the folder of a finished validation; `start` is a time (ISO 8601)."""
    from trueground.evaluate.manifest import judging, shown_word

    return {
        "trueground": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "kind": "validate",
        "status": "finished",
        "command": [shown_word(word) for word in command],
        "input": [{"path": one.path, "sha256": one.sha256, "n": one.n} for one in sets],
        "start": start,
        "end": datetime.now(UTC).isoformat(),
        **judging(parts.spent),
    }
