"""The tables of the page, as Markdown: plain dicts in, text out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from training.offline_judge.sets import LabeledSet
from training.trust.measuring import LeftOut
from trueground.judges.people import LabeledVerdicts, VerdictCount

Raw = Mapping[str, Any]
NONE = "–"
MEAN = "**mean**"
_KEPT = "\u00a0"  # a space at which no line breaks
STAR = _KEPT + "\\*"
_SPREAD = (
    "support_min",
    "grounding_precision",
    "k_precision",
    "k_precision_pp",
    "k_f1",
    "k_f1_pp",
    "k_recall",
)
_JUDGED = ("support_min", "k_precision")
_CALIBRATED = ("support", "support_min", "k_precision")
_RANKED = ("support", "support_min", "grounding_precision", "k_precision", "k_f1")


def grid(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the columns after the first `left` are set to the right."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *rows))


def number(found: Raw | None, digits: int = 2, ci: bool = True, plus: bool = False) -> str:
    """An estimate as text: value and interval; a dash where it is undefined."""
    if found is None or found["value"] is None:
        return NONE
    shape = f"{'+' if plus else ''}.{digits}f"

    def shown(value: float) -> str:
        text = format(value, shape).replace("-", "−")
        return text[1:] if text[0] in "+−" and not float(text[1:]) else text

    low_high = found.get("ci") if ci else None
    if low_high is None:
        return shown(found["value"])
    return f"{shown(found['value'])} [{shown(low_high[0])},{_KEPT}{shown(low_high[1])}]"


def sets_table(raw: Raw, table: Mapping[str, LabeledSet]) -> str:
    """What the sets are: unit, size, share of positives, license, whether they train."""
    rows = []
    for one in raw["sets"]:
        about = table[one["name"]]
        share = one["positives"] / one["n"]
        groups = f"{one['groups']:,}" if one["groups"] else NONE
        trains = "yes" if about.trains and about.label == "faithful" else "no"
        size = (f"{one['n']:,}", groups, f"{share:.0%}")
        rows.append((f"`{one['name']}`", about.unit, about.license, trains, *size))
    head = ("set", "unit", "license", "trains the judge", "records", "groups", "positive")
    return grid(head, rows, 4)


def ranking(raw: Raw, left_out: LeftOut, trained: Sequence[str]) -> str:
    """AUROC of `support` with shipped weights and left out, of K-Precision, and the difference."""
    rows = []
    for one in raw["sets"]:
        name, own = one["name"], one["metrics"]
        shipped = number(_of(own, "support", "auroc"), 3) + (STAR if name in trained else "")
        rival = number(left_out.rival[name]["auroc"], 3)
        out = number(left_out.sets[name]["auroc"], 3)
        gain = number(left_out.beyond[name], 3, plus=True)
        rows.append((f"`{name}`", shipped, out, rival, gain))
    mean = raw["mean"]
    last = (number(mean["support"]["auroc"], 3) + STAR, number(left_out.mean["auroc"], 3))
    rival = number(left_out.mean_rival["auroc"], 3)
    rows.append((MEAN, *last, rival, number(left_out.mean_beyond, 3, plus=True)))
    head = ("set", "`support`, as shipped", "`support`, set left out", "`k_precision`")
    return grid((*head, "left out − `k_precision`"), rows)


def spread(raw: Raw) -> str:
    """AUROC of the other metrics."""
    names = [name for name in _SPREAD if name in raw["mean"]]
    rows = [
        (f"`{one['name']}`", *(number(_of(one["metrics"], m, "auroc")) for m in names))
        for one in raw["sets"]
    ]
    means = [_mean_of(raw, name) for name in names]
    return grid(("set", *(f"`{m}`" for m in names)), [*rows, (MEAN, *means)])


def _mean_of(raw: Raw, name: str) -> str:
    found = raw["mean"][name]["auroc"]
    few = f" ({found['sets']} sets)" if found["sets"] < len(raw["sets"]) else ""
    return number(found) + few


def ranks(raw: Raw, left_out: LeftOut) -> str:
    """Spearman's ρ and Kendall's τ-b with the 0/1 label."""

    def cell(found: Callable[[str], Raw | None]) -> str:
        both = [number(found(measure), ci=False) for measure in ("spearman", "kendall")]
        return NONE if NONE in both else " / ".join(both)

    rows = []
    for one in raw["sets"]:
        own, out = one["metrics"], left_out.sets[one["name"]]
        cells = [cell(lambda m, own=own, name=name: _of(own, name, m)) for name in _RANKED]  # type: ignore[misc]
        rows.append((f"`{one['name']}`", cell(out.__getitem__), *cells))
    cells = [cell(raw["mean"][name].__getitem__) for name in _RANKED]
    rows.append((MEAN, cell(left_out.mean.__getitem__), *cells))
    head = ("set", "`support`, left out", *(f"`{name}`" for name in _RANKED))
    return grid(head, rows)


def verdicts(raw: Raw, left_out: LeftOut) -> str:
    """What the verdict "above 0.5" lets pass, and its balanced accuracy."""
    rows = []
    for one in raw["sets"]:
        out, own = left_out.sets[one["name"]], one["metrics"]
        cells = [number(_of(own, name, "balanced_accuracy")) for name in _JUDGED]
        rows.append((f"`{one['name']}`", *_passed(out), number(out["balanced_accuracy"]), *cells))
    mean = left_out.mean
    cells = [number(raw["mean"][name]["balanced_accuracy"]) for name in _JUDGED]
    rows.append((MEAN, *_passed(mean), number(mean["balanced_accuracy"]), *cells))
    head = ("set", "of supported, pass", "of unsupported, pass", "`support`, left out: balanced")
    return grid((*head, *(f"`{name}`: balanced" for name in _JUDGED)), rows)


def people(found: LabeledVerdicts) -> str:
    """For each set and verdict how many answers had it, and the share that people refused."""
    names = ("grounded", "partly_grounded", "not_grounded")
    rows = [
        (
            f"`{one.name}`",
            f"{one.total.n:,}",
            _refused(one.total),
            *_counts(one.verdicts, names),
        )
        for one in found.sets
    ]
    pooled = {name: found.pooled(name) for name in names}
    total = found.total
    rows.append(("**pooled**", f"{total.n:,}", _refused(total), *_counts(pooled, names)))
    shares = [found.mean(name) for name in names]
    prevalence = [one.total.share or 0.0 for one in found.sets]
    mean = sum(prevalence) / len(prevalence)
    cells = [NONE if share is None else f"{share:.0%}" for share in (mean, *shares)]
    rows.append((MEAN, "", *cells))
    head = ("set", "answers", "unsupported", "called grounded", "called partly grounded")
    return grid((*head, "called not grounded"), rows)


def _refused(count: VerdictCount) -> str:
    return NONE if count.share is None else f"{count.share:.0%}"


def _counts(counts: Mapping[str, VerdictCount], names: Iterable[str]) -> list[str]:
    return [f"{_refused(counts[name])} of {counts[name].n:,}" for name in names]


def _passed(found: Raw) -> tuple[str, str]:
    """The shares of supported and of unsupported answers that the verdict lets pass."""
    missed, wrong = found["false_negative_rate"], found["false_positive_rate"]
    if missed["value"] is None:
        return NONE, number(wrong, ci=False)
    return f"{1 - missed['value']:.2f}", number(wrong, ci=False)


def calibration(raw: Raw, left_out: LeftOut) -> str:
    """How far scores are from shares of supported answers, on each set and over all."""
    key = "calibration_error"
    rows = []
    for one in raw["sets"]:
        cells = [number(_of(one["metrics"], name, key)) for name in _CALIBRATED]
        rows.append((f"`{one['name']}`", number(left_out.sets[one["name"]][key]), *cells))
    for head, out, own in (
        (MEAN, left_out.mean[key], raw["mean"]),
        ("**all together**", left_out.pooled, raw["pooled"]),
    ):
        rows.append((head, number(out, 3), *(number(own[n][key], 3) for n in _CALIBRATED)))
    return grid(("set", "`support`, left out", *(f"`{name}`" for name in _CALIBRATED)), rows)


def correctness(raw: Raw) -> str:
    """For each set of answers the metrics against references, the best first."""
    blocks = []
    for one in raw["sets"]:
        entries = one["metrics"]
        order = sorted(entries, key=lambda m: (-(entries[m]["measures"]["auroc"]["value"] or 0), m))
        rows = []
        for key in order:
            found = entries[key]["measures"]
            cells = [number(found["auroc"], 3)]
            cells += [number(found[name]) for name in ("spearman", "kendall")]
            cells += [number(found[n]) for n in ("balanced_accuracy", "calibration_error")]
            rows.append((f"`{plain(key)}`", *cells))
        head = (f"`{one['name']}`, n = {one['n']:,}", "AUROC", "ρ", "τ-b", "verdict")
        blocks.append(grid((*head, "calibration error"), rows))
    return "\n\n".join(blocks)


def plain(key: str) -> str:
    """A metric's name without its options."""
    return key.partition("(")[0]


def _of(entries: Raw, metric: str, measure: str) -> Raw | None:
    """The estimate, or None where the set has no scores of the metric."""
    entry = next((entries[key] for key in entries if plain(key) == metric), None)
    return None if entry is None else entry["measures"][measure]
