"""The result of a validation, and the folder or file that it is written to."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from trueground._version import __version__
from trueground.errors import OutputError, RunInterrupted, UsageError, WriteError
from trueground.files import NewFolders, OutputPath

if TYPE_CHECKING:
    from trueground.evaluate import Components
    from trueground.reports import Page
    from trueground.studies.labeled import LabeledSet


FORMAT = "trueground-validation-1"
VALIDATION = "validation.json"
PAGE = "validation.html"
ITEMS = "items"
_KIND = "validation file of ours"
Lines = Iterable[dict[str, Any]]


@dataclass(frozen=True)
class Validation:
    """How far metrics agree with people. `raw` is everything, as in the JSON output."""

    raw: dict[str, Any]

    @property
    def metrics(self) -> list[str]:
        """Every metric that was measured somewhere, in order."""
        entries = [*self.raw["sets"], *(self.raw["preferences"] or ())]
        return list(dict.fromkeys(metric for entry in entries for metric in entry["metrics"]))

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
            pairs = {entry["set"]: entry for entry in self.raw["preferences"] or ()}
            sets = {entry["name"]: entry for entry in self.raw["sets"]} | pairs
            if of not in sets:
                raise UsageError(f"no set {of!r}; there are {', '.join(sets)}")
            entries = sets[of]["metrics"].items()
            metrics = {key: entry.get("measures", entry) for key, entry in entries}
        if metric not in metrics:
            raise UsageError(f"no metric {metric!r} there; there are {', '.join(metrics)}")
        measure = measure or ("sign_agreement" if self.raw["preferences"] else "auroc")
        measures = dict.fromkeys(name for entry in self.raw["mean"].values() for name in entry)
        if measure not in measures:
            raise UsageError(f"no measure {measure!r}; there are {', '.join(measures)}")
        estimate = metrics[metric].get(measure)
        return None if estimate is None else estimate["value"]

    def page(self) -> Page:
        """The page with all numbers."""
        from trueground.studies.validation.page import validation_page

        return validation_page(self.raw)

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
        output = OutputPath(path)
        suffix = path.suffix.lower()
        self._folder = path.is_dir() or suffix not in (".json", ".html")
        self._created: NewFolders | None = None
        if not self._folder or not (path.is_dir() or not output.has_file_ending):
            output.find_files(FORMAT, overwrite=overwrite, numbers=FORMAT)
            return
        try:
            self._created = NewFolders(path)
            path.mkdir(parents=True, exist_ok=True)
            names = {entry.name for entry in path.iterdir()}
        except OSError as error:
            raise OutputError.unusable(path, error) from error
        if names:
            _check_replaceable(path, VALIDATION in names, overwrite)
        OutputPath(path / VALIDATION).check_mark(FORMAT, _KIND)

    def write(
        self, result: Validation, manifest: dict[str, Any], items: Sequence[tuple[str, Lines]]
    ) -> None:
        """Write the result, in a folder with the `items` of each set. Raises WriteError."""
        from trueground.studies.validation.page import write_validation

        if self._folder:
            self._write_items(items)
            OutputPath(self.path / VALIDATION).write_json(result.raw)
            write_validation(self.path / PAGE, result.raw)
            OutputPath(self.path / "manifest.json").write_json(manifest)
        elif self.path.suffix.lower() == ".json":
            OutputPath(self.path).write_json(result.raw)
        else:
            write_validation(self.path, result.raw)

    def undo(self) -> None:
        """Remove the folders that were created and are empty."""
        if self._created is not None:
            self._created.remove_empty()

    def _write_items(self, items: Sequence[tuple[str, Lines]]) -> None:
        """A file for each set, in the place of those of an earlier validation."""
        folder = self.path / ITEMS
        try:
            OutputPath(folder).make_directory()
            for old in folder.glob("*.jsonl"):
                old.unlink()
        except OSError as error:
            raise WriteError.stopped(folder, error) from error
        for name, lines in items:
            with OutputPath(folder / f"{OutputPath.safe_name(name)}.jsonl").replacing() as file:
                file.writelines(orjson.dumps(x, option=orjson.OPT_APPEND_NEWLINE) for x in lines)


def _check_replaceable(path: Path, has_validation: bool, overwrite: bool) -> None:
    """Raise OutputError unless the folder's files are of a validation and may be replaced."""
    if not overwrite:
        raise OutputError(
            f"{path} exists and is not empty; choose another --out, or pass --overwrite to replace "
            "the validation in it"
        )
    if not has_validation:
        raise OutputError(
            f"{path} holds files but no validation, so --overwrite leaves it alone; choose another "
            "--out"
        )


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
    sets: Sequence[LabeledSet], parts: Components, command: Sequence[str], start: str
) -> dict[str, Any]:
    """The manifest in the folder of a finished validation; `start` is a time (ISO 8601)."""
    from trueground.net import redact_command
    from trueground.runs import Manifest

    return {
        "trueground": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "kind": "validate",
        "status": "finished",
        "command": redact_command(command),
        "input": [{"path": entry.path, "sha256": entry.sha256, "n": entry.n} for entry in sets],
        "start": start,
        "end": datetime.now(UTC).isoformat(),
        **({} if parts.spent is None else Manifest.describe_usage(parts.spent)),
    }
