"""What a finished evaluation gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from trueground.errors import unknown_name
from trueground.metrics.grounding import ANSWER_VERDICTS
from trueground.plugins import keys_named

if TYPE_CHECKING:
    import polars as pl

    from trueground.runs.worst import Texts, WorstItem


@dataclass(frozen=True)
class MetricSummary:
    """One metric over a run: `mean` and `ci` are None where nothing could be scored."""

    mean: float | None
    ci: tuple[float, float] | None
    ci_level: float
    n: int
    scored: int
    unscored: Mapping[str, int]

    @property
    def coverage(self) -> float:
        """Share scored among the items to which the metric applies; 1 if it applies to none."""
        applies = self.n - self.unscored.get("not_applicable", 0)
        return self.scored / applies if applies else 1.0


@dataclass(frozen=True)
class VerdictShare:
    """How many answers have a verdict, their share of all, and its interval."""

    n: int
    share: float | None
    ci: tuple[float, float] | None


class Summary(Mapping[str, MetricSummary]):
    """Metrics by name. A bare name finds its metric also where that was given with options."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self._metrics = {key: MetricSummary(**entry) for key, entry in raw["metrics"].items()}

    @property
    def verdicts(self) -> dict[str, VerdictShare] | None:
        """How many answers are grounded, partly, not, declined, unscored.

        None where no metric checked the claims of the answers against contexts.
        """
        told = self.raw.get("verdicts")
        return told and {name: VerdictShare(**told[name]) for name in ANSWER_VERDICTS}

    @property
    def corrected(self) -> Mapping[str, Mapping[str, Any]]:
        """Metric → the rate that people would give, by their labels (docs/rates.md)."""
        found: Mapping[str, Mapping[str, Any]] = self.raw.get("corrected") or {}
        return found

    def __getitem__(self, name: str) -> MetricSummary:
        near = keys_named(name, self._metrics) or keys_named(_our_name(name), self._metrics)
        if len(near) != 1:
            raise KeyError(str(unknown_name("metric of this run", name, self._metrics)))
        return self._metrics[near[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)

    def __repr__(self) -> str:
        from trueground.reports.terminal import render_short

        return render_short(self.raw)

    def _repr_html_(self) -> str:
        from trueground.reports.terminal import summary_as_html

        return summary_as_html(self.raw)


class _Item(msgspec.Struct):
    id: str
    scores: dict[str, float | None]
    status: dict[str, str]


@dataclass(frozen=True, repr=False)
class Result:
    """A scored file: `summary` by metric, `items` as a data frame, `path` of the run directory.

    `path` is None where no output folder was asked for. `lines` are those of items.jsonl, or the
    file that holds them. `note` is what the user should know beside the numbers. `texts` are
    questions and answers, where they lie in no folder.
    """

    summary: Summary
    path: Path | None
    lines: bytes | Path
    note: str | None = None
    texts: Sequence[tuple[str | None, str | None]] = ()

    def __repr__(self) -> str:
        where = "in memory" if self.path is None else f"in {self.path}"
        return f"{self.summary!r}\n{where}; .items, .worst(20), .evidence, .summary"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def worst(self, n: int = 20) -> pl.DataFrame:
        """The `n` worst items: `id`, `question`, `response`, `verdict`, `score`, and lists of
        `unsupported` claims with their `reasons`.

        Worst are those called not grounded, then partly; in each the lowest `support`. Without
        verdicts it is the first metric that tells of grounding.
        `question` and `response` are null where no records are kept.
        """
        import polars as pl

        from trueground.runs.worst import COLUMNS

        text, texts = pl.String, pl.List(pl.String)
        types = (text, text, text, text, pl.Float64, texts, texts)
        return pl.DataFrame(
            self.worst_items(n), dict(zip(COLUMNS, types, strict=True)), orient="row"
        )

    def worst_items(self, n: int = 20) -> list[WorstItem]:
        """The same as tuples with names."""
        from trueground.runs.worst import worst_items

        return worst_items(self._lines, self._texts, n)

    def write_csv(self, path: str | Path) -> None:
        """Write all items, the worst first, as CSV: `rank` (1 is the worst) and what `worst` has.

        Several claims and reasons stand on lines of their own in their cell. The file is replaced
        as a whole. Raises WriteError.
        """
        from trueground.runs.worst import write_worst_csv

        write_worst_csv(Path(path), self._lines, self._texts)

    def _texts(self) -> Iterator[Texts]:
        """Questions and answers of the items, in their order."""
        from trueground.runs.worst import Texts, read_texts

        if self.path is not None:
            yield from read_texts(self.path)
        else:
            yield from (Texts(*pair) for pair in self.texts)
            yield from repeat(Texts())

    def _lines(self) -> Iterator[bytes]:
        if isinstance(self.lines, bytes):
            yield from self.lines.splitlines()
            return
        with self.lines.open("rb") as file:
            yield from file

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

        decode = msgspec.json.Decoder(_Item).decode
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


def _our_name(name: str) -> str:
    """The name of a metric that other tools call so; else the name."""
    from trueground.metrics.registry import SAME, plain_name

    return SAME.get(plain_name(name), name)
