"""What papers print of the same label, beside what was measured here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trueground.benchmarks.published import PublishedNumber, PublishedTable, published
from trueground.benchmarks.registry import all_benchmarks
from trueground.errors import InputError

Row = dict[str, Any]
_RATES = {"false_negatives": "false_negative_rate", "false_positives": "false_positive_rate"}


def beside_published(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables that papers print of the label of a validation, row by row.

    A row is a metric as the paper names it, with the paper's numbers by measure, and under `here`
    the same numbers of the validation's metric `key` (None: it has none). Of several sets the
    numbers here are means over sets; those by label are told of a single set alone.

    InputError: no paper prints anything of this label.
    """
    tables = [
        {"benchmark": name, "id": one.id, "place": one.place, "source": one.source, "rows": rows}
        for name in all_benchmarks()
        for one in published(name)
        if (rows := list(_rows(one, raw)))
    ]
    if not tables:
        known = {one.of_label for name in all_benchmarks() for one in published(name)} - {""}
        raise InputError(
            f"no paper prints agreement with the label {raw['label']!r}; expected one of "
            f"{', '.join(sorted(known))}. Leave --with-published out"
        )
    return tables


def _rows(table: PublishedTable, raw: Mapping[str, Any]) -> Iterator[Row]:
    for number in table.numbers:
        if raw["label"] in (number.of_label, table.of_label):
            yield _number(number, raw)
    if table.of_label != raw["label"]:
        return
    for score in table.scores:
        name = f"{score.metric} of {score.printed or score.model}"
        yield _row(None, name, None, {"value": score.value}, {})
    for one in table.correlations:
        key = _key(raw, one.metric)
        paper = {"spearman": one.spearman, "kendall": one.kendall}
        yield _row(key, one.printed or one.metric, one.judge, paper, _measured(raw, key))
    for each in table.distributions:
        key = _key(raw, each.metric)
        paper = {"mean": each.mean, "median": each.median, "sd": each.sd}
        name = f"{each.printed or each.metric}, label {each.label}"
        yield _row(key, name, each.judge, paper, _by_label(raw, key, each.label))


def _number(number: PublishedNumber, raw: Mapping[str, Any]) -> Row:
    """A rate of errors stands beside ours; any other number by itself."""
    *_, kind, metric = ("", *number.name.split("."))
    if kind not in _RATES:
        return _row(None, number.name, None, {"value": number.value}, {})
    key = _key(raw, metric)
    return _row(key, metric, None, {_RATES[kind]: number.value}, _measured(raw, key))


def _row(
    key: str | None,
    name: str,
    judge: str | None,
    paper: Mapping[str, float],
    here: Mapping[str, float | None],
) -> Row:
    own = {measure: here.get(measure) for measure in paper}
    return {"metric": key, "name": name, "judge": judge, "paper": dict(paper), "here": own}


def _key(raw: Mapping[str, Any], metric: str) -> str | None:
    """The validation's metric of that name: plain, or the first with options or another judge."""
    near = [key for key in raw["mean"] if key.partition("@")[0].partition("(")[0] == metric]
    return metric if metric in near else next(iter(near), None)


def _measured(raw: Mapping[str, Any], key: str | None) -> dict[str, float | None]:
    return {} if key is None else {name: one["value"] for name, one in raw["mean"][key].items()}


def _by_label(raw: Mapping[str, Any], key: str | None, label: int) -> dict[str, float | None]:
    if key is None or len(raw["sets"]) != 1:
        return {}
    for one in raw["sets"][0]["metrics"][key]["by_label"]:
        if one["label"] == label:
            return {name: one[name]["value"] for name in ("mean", "median", "sd")}
    return {}
