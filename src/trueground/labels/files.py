"""Files of labels: lines with `id` and `human`, tables, and formats of other packages."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from trueground.errors import InputError, UsageError
from trueground.labels.base import LabelDraw, LabelRule, Votes
from trueground.labels.formats import LabelScope, TaskLabels, label_formats
from trueground.labels.lines import decode_lines
from trueground.records import UNREADABLE, DataPath, shorten
from trueground.types import Record

_LABELS: dict[str, LabelScope] = {"faithful": "record", "correct": "record"}
_EXAMPLE = '{"id": "q1", "human": {"faithful": 1}}'


class LabelLine(msgspec.Struct):
    """A line with the labels of a record, by its id, and by its run if several have that id.

    `drawn` is "random", or a probability with a stratum (LabelDraw). `probability` is short for it.
    """

    id: str | int
    human: dict[str, float | bool | None] | None = None
    run: str | int | None = None
    drawn: Any = None
    probability: float | None = None


class LabelFiles:
    """The labels of some files.

    A file has lines with `id` and `human`, is a table with the same, or has the format of another
    package: `trueground annotate` labels tasks.

    Attributes:
        draws: How records were sampled for labeling, by their ids, if the files say so.
        found: The ids of the records that got a label.
        label: The label that counts.
        of_parts: Whether it is about parts of records.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        wanted: str | None = None,
        *,
        claims: bool = False,
    ) -> None:
        """Read the files.

        Args:
            paths: One file or several.
            wanted: The label, such as "faithful" or "aligned". Default: the first in the files.
            claims: Make parts of records claims with their texts, as judges read them.

        Raises:
            InputError: A file can't be read, or has no such labels.
            UsageError: There is no label of that name.
        """
        formats = label_formats()
        scopes = dict(_LABELS)
        for format_ in formats:
            scopes |= format_.scopes
        if wanted is not None and wanted not in scopes:
            raise UsageError(
                f"--labels gives the labels {', '.join(scopes)}, not {wanted!r}; leave --label out"
            )
        self.draws: dict[str, Any] = {}
        self.found: set[str] = set()
        self._claims = claims
        self._by_id: dict[tuple[str, str], Votes] = {}  # id and run, "" if none is named
        files = list(dict.fromkeys(map(Path, [paths] if isinstance(paths, str | Path) else paths)))
        of_format: dict[type[TaskLabels], list[Path]] = {}
        for path in files:
            other_format = self._read_file(path, formats, scopes, wanted)
            if other_format is not None:
                of_format.setdefault(other_format, []).append(path)
        self._tasks = [format_(of_it) for format_, of_it in of_format.items()]
        for tasks in self._tasks:
            self.draws |= tasks.draws
        named = {LabelRule.label_of(name) for human in self._by_id.values() for name in human}
        available = [label for tasks in self._tasks for label in tasks.labels]
        available += [label for label in scopes if label in named]
        if not available or wanted not in (None, *available):
            raise _no_labels(files, formats, wanted, named)
        self.label = wanted or available[0]
        self.of_parts = scopes[self.label] == "part"

    @staticmethod
    def describe_changed(ids: Collection[str]) -> str:
        """Return the warning about labels of answers whose text has changed; empty without any."""
        if not ids:
            return ""
        labels, them = ("label is", "it") if len(ids) == 1 else ("labels are", "them")
        return (
            f"{len(ids):,} {labels} of another text than the answer has now, {next(iter(ids))!r} "
            f"the first: export and label {them} again, or give the answers as they were labeled"
        )

    @property
    def ids(self) -> set[str]:
        """The ids of all whole records that the files label, as written there."""
        ids = {id_ for id_, _ in self._by_id}
        return ids.union(*(tasks.record_ids for tasks in self._tasks))

    @property
    def changed(self) -> list[str]:
        """The ids in the files whose records had another text when they were labeled."""
        changed: dict[str, str] = {}
        for tasks in self._tasks:
            changed |= tasks.changed
        return [id_ for id_, record in changed.items() if record not in self.found]

    @property
    def anonymous(self) -> str | None:
        """The first id whose label names neither what was shown nor the run of the answer."""
        return next((id_ for id_, run in self._by_id if not run), None)

    def labeled(self, record: Record, source: int, runs: Sequence[str] = ()) -> Iterator[Record]:
        """Yield a record of the source of that number (from 1) with its labels in `human`.

        A line that names a run counts if the run is in `runs`, the names of the source. If labels
        are about parts of records, yield each labeled part as a record.
        """
        human: dict[str, float] = {}
        for tasks in self._tasks:
            human |= tasks.read_votes(record, source)
        for run in ("", *runs):
            human |= self._by_id.get((record.id, run), {})
        if human:
            self.found.add(record.id)
        # Labels in files replace those of the same name in the record.
        declared = (record.human or {}).items()
        others = {name: v for name, v in declared if LabelRule.label_of(name) != self.label}
        record = replace(record, human={**others, **human})
        if not self.of_parts:
            yield record
            return
        for tasks in self._tasks:
            for votes, part in tasks.find_parts(self.label, record, source, claims=self._claims):
                self.found.add(record.id)
                yield replace(part, human={**(record.human or {}), **votes})

    def _read_file(
        self,
        path: Path,
        formats: Sequence[type[TaskLabels]],
        labels: Collection[str],
        wanted: str | None,
    ) -> type[TaskLabels] | None:
        """Read lines or a table at once; return the format of another file. Raises InputError."""
        with DataPath(path).open() as lines:
            first_line = next((line for line in lines if line.strip()), b"")
        if path.suffix.lower() == ".csv":
            columns = next(csv.reader([first_line.decode("utf-8-sig", "replace")]), [])
            if "id" in columns and "kind" not in columns:
                self._read_lines(path, _read_table(path, labels))
                return None
        elif _is_label_line(first_line):
            expected = f"expected a line such as {_EXAMPLE}"
            rows = decode_lines(path, LabelLine, "no label", expected, strict=False)
            self._read_lines(path, rows)
            return None
        for format_ in formats:
            if format_.recognizes(path, first_line):
                return format_
        raise _no_labels([path], formats, wanted)

    def _read_lines(self, path: Path, rows: Iterator[tuple[int, LabelLine]]) -> None:
        """Keep the labels of lines or rows. Raises InputError if a record comes twice."""
        for number, line in rows:
            human = {k: float(v) for k, v in (line.human or {}).items() if v is not None}
            if not human:
                continue
            key = str(line.id), "" if line.run is None else str(line.run)
            if key in self._by_id:
                raise InputError(
                    f"{path}, line {number}: {key[0]!r} has a label already. Write the labels of "
                    'several people in one line, such as "faithful:ANN": 1, "faithful:BEN": 0'
                )
            self._by_id[key] = human
            share = line.probability
            drawn = line.drawn if share is None else {"probability": share}
            if drawn is not None:
                self.draws[key[0]] = LabelDraw.of(drawn) or drawn


def _no_labels(
    files: Sequence[Path],
    formats: Sequence[type[TaskLabels]],
    wanted: str | None,
    named: Collection[str] = (),
) -> InputError:
    """Return the error for files without the label."""
    kinds = [
        kind
        for format_ in formats
        for kind, label in format_.kinds.items()
        if wanted in (None, label)
    ]
    found = f"found the labels {', '.join(sorted(named))}; " if named else ""
    tasks = "a file that `trueground annotate import` wrote, one that an annotator filled in, "
    missing = "" if formats else ". No installed package reads files of `trueground annotate`"
    return InputError(
        f"{', '.join(map(str, files))}: no labels of the kind {', '.join(kinds or _LABELS)}; "
        f"{found}expected {tasks if formats else ''}lines such as {_EXAMPLE}, or a table (.csv) "
        f"with the columns id and {LabelRule.DEFAULT}{missing}"
    )


def _read_table(path: Path, labels: Collection[str]) -> Iterator[tuple[int, LabelLine]]:
    """Yield the rows of a table: `id`, a column per label, `run`, `drawn` or `probability`.

    Raises InputError.
    """
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.DictReader(file)
        for row in reader:
            filled = ((name, cell) for name, cell in row.items() if name and isinstance(cell, str))
            cells = {name: cell.strip() for name, cell in filled if cell.strip()}
            human = {
                name: cell for name, cell in cells.items() if LabelRule.label_of(name) in labels
            }
            try:
                yield (
                    reader.line_num,
                    msgspec.convert(cells | {"human": human}, LabelLine, strict=False),
                )
            except msgspec.ValidationError:
                found = ", ".join(f"{name} {shorten(cell)!r}" for name, cell in cells.items())
                raise InputError(
                    f"{path}, line {reader.line_num}: no label ({found}); expected an id, and 1 or "
                    f"0 under {', '.join(human) or LabelRule.DEFAULT}"
                ) from None


def _is_label_line(line: bytes) -> bool:
    """Return whether a line, readable or not, was meant as one with `id` and `human`."""
    try:
        content = msgspec.json.decode(line)
    except UNREADABLE:
        return b'"human"' in line
    return isinstance(content, dict) and "id" in content and "kind" not in content
