"""A scored run as Python sees it, in memory or in a run directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from trueground.errors import InputError, UsageError
from trueground.runs.files import RunFiles
from trueground.runs.schema import Item, ItemNumbers, Manifest, RecordTexts, Summary
from trueground.runs.worst import (
    COLUMNS,
    WorstItem,
    worst_items,
    write_worst_csv,
)
from trueground.types import Answered

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, repr=False)
class Result:
    """A scored run: `summary` by metric, `items` as a data frame, records by id.

    Attributes:
        summary: Means, intervals and verdicts.
        path: The run directory; None if the run is in memory only.
        lines: The lines of items.jsonl, or the file that has them.
        note: What you should know in addition to the numbers.
        texts: Questions and answers, if the run is in memory only.
    """

    summary: Summary
    path: Path | None
    lines: bytes | Path
    note: str | None = None
    texts: Sequence[tuple[str | None, str | None]] = ()

    @cached_property
    def manifest(self) -> Manifest:
        """What was computed, from what, and how the run ended.

        Raises:
            UsageError: The run is in memory only.
            InputError: manifest.json can't be read.

        Example:
            >>> tg.read_run("runs/mine").manifest.judge.name  # doctest: +SKIP
            'lexical'
        """
        return self._files("manifest").read_manifest()

    def records(self) -> Iterator[Answered]:
        """Yield the records as they were scored, in the order of the items.

        Returns:
            An iterator that reads the file as you go, so memory stays small. A record whose model
            call failed has `failure`.

        Raises:
            UsageError: The run is in memory only.
            InputError: The run kept no records, or a line can't be read.

        Example:
            >>> for record in tg.read_run("runs/mine").records():  # doctest: +SKIP
            ...     print(record.id, record.question)
        """
        return self._files("records").iter_records()

    def record(self, id_: str) -> Answered:
        """Return one record by its id.

        The first call reads the file once for an index of all ids; later calls are fast.

        Args:
            id_: The id, as `items` has it.

        Returns:
            The record as it was scored.

        Raises:
            UsageError: The run is in memory only.
            InputError: The run kept no records, or none has this id.

        Example:
            >>> tg.read_run("runs/mine").record("q7").question  # doctest: +SKIP
            'When was the tower finished?'
        """
        return self._files("records").read_record(id_)

    def item(self, id_: str) -> Item:
        """Return the scores, statuses, verdict and evidence of one answer.

        Args:
            id_: The id, as `items` has it.

        Returns:
            The line of items.jsonl. A metric without a value has the score None, and a status that
            says why.

        Raises:
            InputError: No item has this id.

        Example:
            >>> tg.read_run("runs/mine").item("q7").verdict  # doctest: +SKIP
            'grounded'
        """
        if isinstance(self.lines, Path):
            return self._files("items").read_item(id_)
        for line in self._lines():
            item = msgspec.json.decode(line, type=Item)
            if item.id == id_:
                return item
        raise InputError(f"no item has the id {id_!r}")

    def worst(self, n: int = 20) -> pl.DataFrame:
        """Return the worst items as a frame.

        Worst are those with the verdict not grounded, then those partly grounded; in each the
        lowest `support`. Without verdicts it is the first metric about grounding.

        Args:
            n: Number of items.

        Returns:
            Columns `id`, `question`, `response`, `verdict`, `score`, and lists of `unsupported`
            claims with their `reasons`. `question` and `response` are null if no records are kept.

        Raises:
            InputError: A file of the run can't be read.

        Example:
            >>> tg.read_run("runs/mine").worst(3)["id"].to_list()  # doctest: +SKIP
            ['q7', 'q2', 'q5']
        """
        import polars as pl

        text, texts = pl.String, pl.List(pl.String)
        types = (text, text, text, text, pl.Float64, texts, texts)
        return pl.DataFrame(
            self.worst_items(n), dict(zip(COLUMNS, types, strict=True)), orient="row"
        )

    def worst_items(self, n: int = 20) -> list[WorstItem]:
        """Return the same as named tuples."""
        return worst_items(self._lines, self._texts, n)

    def write_csv(self, path: str | Path) -> None:
        """Write all items as CSV, the worst first.

        The file has `rank` (1 is the worst) and the columns of `worst`. Several claims and reasons
        are on separate lines of their cell. The file is replaced as a whole.

        Args:
            path: The file to write.

        Raises:
            WriteError: The file can't be written.

        Example:
            >>> tg.read_run("runs/mine").write_csv("worst.csv")  # doctest: +SKIP
        """
        write_worst_csv(Path(path), self._lines, self._texts)

    @cached_property
    def evidence(self) -> list[dict[str, Any]]:
        """The lines of items.jsonl: id, scores, status and evidence of each item."""
        return [orjson.loads(line) for line in self._lines()]

    @cached_property
    def items(self) -> pl.DataFrame:
        """One row per item: `id`, a column per metric, and its status as `<metric>:status`.

        Numbers that only a whole run has, `…_micro`, are no columns.
        """
        import polars as pl

        decode = msgspec.json.Decoder(ItemNumbers).decode
        columns: dict[str, list[Any]] = {"id": []}
        keys: list[str] = []
        for line in self._lines():
            item = decode(line)
            if not keys:
                keys = list(item.scores)
                for key in keys:
                    columns |= {key: [], f"{key}:status": []}
            columns["id"].append(item.id)
            for key in keys:
                columns[key].append(item.scores[key])
                columns[f"{key}:status"].append(item.status[key])
        floats = dict.fromkeys(keys, pl.Float64)
        return pl.DataFrame(columns, schema_overrides=floats)

    def _files(self, what: str) -> RunFiles:
        """The files of the run directory, read once for all calls."""
        if self.path is None:
            raise UsageError(
                f"this run is in memory only, so it has no {what}; score with out=FOLDER to keep "
                "them"
            )
        return self._run_files

    @cached_property
    def _run_files(self) -> RunFiles:
        assert self.path is not None
        return RunFiles(self.path)

    def _texts(self) -> Iterator[RecordTexts]:
        """Questions and answers of the items, in their order."""
        if self.path is not None:
            yield from self._run_files.iter_texts()
        else:
            yield from (RecordTexts(*pair) for pair in self.texts)
            yield from repeat(RecordTexts())

    def _lines(self) -> Iterator[bytes]:
        if isinstance(self.lines, bytes):
            yield from self.lines.splitlines()
            return
        with self.lines.open("rb") as file:
            yield from file


def read_run(path: str | Path) -> Result:
    """Read the run directory of a finished run; see `tg.read_run`."""
    files = RunFiles(Path(path))
    files.check_finished()
    files.check_items()
    return Result(files.read_summary(), files.path, files.items)
