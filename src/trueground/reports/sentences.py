"""A run in sentences: how grounded its answers are, how far to trust that, how it was made.

Out of summary.json and manifest.json, for pages and the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import msgspec

from trueground.judges import FitFigures, LabeledVerdicts
from trueground.metrics import AnswerVerdict
from trueground.reports.blocks import Rich, Span
from trueground.text import REFUSAL_RULES, percent, several
from trueground.types import Status

_CHECKSUM_DIGITS = 12  # that are shown
_CHECKSUM = re.compile(r"[0-9a-f]{32,}")
_THRESHOLD = re.compile(r"\|threshold:([\d.e-]+)")
# The verdicts in the order in which sentences name them.
CHECKED_VERDICTS = ("not_grounded", "partly_grounded", "grounded")
PEOPLE_SAY = {"faithful": "grounded", "correct": "correct"}
# Of which metric the corrected rate is told, by the label; else of the first.
_FIRST_OF = {"faithful": ("support", "grounding_precision"), "correct": ("correct_support",)}
_PROBABILITIES = ("support", "correct_support")


# ---- verdicts, by the judge and by people ----


def has_verdicts(summary: Mapping[str, Any]) -> bool:
    """Whether any answer could be judged."""
    verdicts = summary.get("verdicts") or {}
    return bool(verdicts) and verdicts["unscored"]["n"] < verdicts["n"]


def opening(summary: Mapping[str, Any]) -> str:
    """How many answers are grounded, by people where they labeled some and by the judge, or why
    no answer has a verdict; empty where none was asked for.
    """
    verdicts, missing = summary.get("verdicts"), summary.get("missing") or ""
    if has_verdicts(summary):
        found = grounded_to_people(summary)
        if found is None:
            verdicts = summary["verdicts"]
            return f"Of {several(verdicts['n'], 'answer')} {_shares(verdicts, 'are grounded')}."
        alone = _shares(summary["verdicts"], "grounded")
        return f"{_rate_sentence(*found, summary)} The judge alone calls {alone}."
    if not verdicts:
        told = "contexts" in missing  # else nobody asked whether the answers are grounded
        return f"{missing[0].upper()}{missing[1:]}" if told else ""
    n, why = verdicts["n"], verdicts.get("why_unscored") or {}
    if why.keys() == {Status.NO_CLAIMS}:
        empty = summary["empty_responses"]
        said = " All are empty." if empty == n else f" {empty:,} of {n:,} are empty." * bool(empty)
        return f"No answer had anything to check, so none is called grounded or not.{said}"
    return f"None of {n:,} answers could be judged: {missing or _count_statuses(why)}"


def _count_statuses(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {Status(name).description}" for name, count in counts.items())


def _shares(verdicts: Mapping[str, Any], first: str) -> str:
    share = {name: percent(verdicts[name]["share"]) for name in AnswerVerdict.NAMES}
    told = f"{share['grounded']} {first}"
    for name in ("partly_grounded", "not_grounded", "abstained"):
        told += f", {share[name]} {AnswerVerdict.LABELS[name]}"
    return told + (f" ({share['unscored']} unscored)" if verdicts["unscored"]["n"] else "")


def first_of_labels(found: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return for each label the corrected metric that is reported, with what people call it."""
    words = {}
    for label, word in PEOPLE_SAY.items():
        own = [key for key, one in found.items() if one["label"] == label]
        if own:
            words[next(key for key in (*_FIRST_OF[label], *own) if key in own)] = word
    return words


def grounded_to_people(summary: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The metric by which, and the entry of, the rate of answers that people would call grounded;
    None where nobody labeled any.
    """
    found: Mapping[str, Mapping[str, Any]] = summary.get("corrected") or {}
    own = [key for key in first_of_labels(found) if found[key]["label"] == "faithful"]
    return (own[0], found[own[0]]) if own else None


def corrected_rates(summary: Mapping[str, Any]) -> list[str]:
    """What people would call these answers, by their labels of some, and on what of the judge's
    that rests: a sentence for each label. Where the opening has told the rate, only the rest.
    """
    found: Mapping[str, Mapping[str, Any]] = summary.get("corrected") or {}
    told = grounded_to_people(summary) if has_verdicts(summary) else None
    sentences = []
    for key in first_of_labels(found):
        one = found[key]
        said = [_rate_sentence(key, one, summary)] * (told is None or told[0] != key)
        if one["method"] != "exact" and one["drawn"] != "all":
            what = (
                "the mean of the judge's probabilities"
                if key in _PROBABILITIES
                else "the judge's mean"
            )
            said.append(f"The labels correct {what}, {percent(one['judge_mean'])} ({key}).")
        said += [f"Note: {note}." for note in one["notes"]]
        sentences += [" ".join(said)] * bool(said)
    return sentences


def _rate_sentence(key: str, one: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """`People would call 33 % [26, 42] of 707 answers grounded (100 labels).`"""
    low, high = (f"{100 * end:.0f}" for end in one["ci"])
    said = f"People would call {percent(one['mean'])} [{low}, {high}]"
    labels = f"{one['labels']:,} labels"
    if one["method"] == "exact":
        labels += " alone, fewer than 10 of one kind"
    if one["drawn"] == "all":
        said, labels = f"People call {percent(one['mean'])}", "all labeled"
    if one["n"] < summary["n"]:
        lost = _count_statuses(summary["metrics"][key]["unscored"])
        labels += f"; left out of {summary['n']:,}: {lost}"
    return f"{said} of {several(one['n'], 'answer')} {PEOPLE_SAY[one['label']]} ({labels})."


# ---- how far to trust them: by labels of the run, else of sets like it, else of the judge ----


def trust_sentence(verdicts: Mapping[str, Any]) -> str:
    """How often verdicts agree with people; `verdicts` are those of a summary."""
    if labeled := verdicts.get("labeled"):
        return _of_labels(labeled)
    if (measured := similar_sets(verdicts)) is not None:
        return f"{measured.sentence()} The sets one by one: docs/trust.md."
    if fitted := verdicts.get("fitted"):
        return msgspec.convert(fitted, FitFigures).sentence()
    judge = str(verdicts.get("judge"))
    if threshold := _THRESHOLD.search(str(verdicts.get("signature"))):
        judge += f" with the threshold {float(threshold[1]):g}"
    return (
        "How often these verdicts agree with people was not measured for this judge "
        f"({judge}): `trueground validate` does it on your labels."
    )


def similar_sets(verdicts: Mapping[str, Any]) -> LabeledVerdicts | None:
    """The labeled sets from which the sentence is; None where it is from something else."""
    if verdicts.get("labeled"):
        return None
    measured = LabeledVerdicts.of(str(verdicts.get("signature")))
    return measured and measured.like(verdicts.get("questions"), verdicts["n"])


def _of_labels(counts: Mapping[str, tuple[int, int]]) -> str:
    """`On your 100 labels, answers called not grounded were unsupported 30 times of 33, …`"""
    told = [
        (AnswerVerdict.LABELS[name], *counts[name]) for name in CHECKED_VERDICTS if counts[name][0]
    ]
    n = sum(labels for labels, _ in counts.values())
    if not told:
        return f"None of the answers of your {n:,} labels has such a verdict."
    (word, of, times), *rest = told
    first = f"answers called {word} were unsupported {times:,} times of {of:,}"
    others = "".join(f", called {word} {times:,} of {of:,}" for word, of, times in rest)
    without = n - sum(of for _, of, _ in told)
    declined = f"; {without:,} of them declined or could not be judged" if without else ""
    return f"On your {n:,} labels, {first}{others}{declined}."


# ---- how it was made, by the manifest ----


def short_checksums(text: str) -> str:
    """The text with the beginning of each checksum only."""
    return _CHECKSUM.sub(lambda match: f"{match[0][:_CHECKSUM_DIGITS]}…", text)


def input_names(source: object) -> list[str]:
    """File names without their folders, from a path, `{"path": …}`, or a list of either."""
    if isinstance(source, list):
        return [name for part in source for name in input_names(part)]
    if isinstance(source, dict):
        return input_names(source.get("path"))
    if not isinstance(source, str) or not source:
        return []
    if source == "-":
        return ["standard input"]
    path = urlsplit(source).path if "://" in source else source
    return [PurePath(path.replace("\\", "/")).name]


def asked(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Which model answered which task how; None for answers that came from a file."""
    if manifest.get("kind") != "run":
        return None
    benchmark, params = manifest["benchmark"], manifest.get("params") or {}
    options = {**benchmark.get("options", {}), **params}
    return {
        "model": manifest["model"]["name"],
        "task": f"{benchmark['name']}/{benchmark['task']}",
        "how": short_checksums(_format_options(options)),
        "prompts": ", ".join(prompt["id"] for prompt in manifest.get("prompts") or []),
    }


def _format_options(options: Mapping[str, Any]) -> str:
    """Format the options that have a value; lists and objects as JSON."""
    texts = []
    for name, value in options.items():
        if value is not None:
            shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            texts.append(f"{name} {shown}")
    return ", ".join(texts)


def notices(manifest: Mapping[str, Any]) -> list[str]:
    """What every page of a run must say, such as that something in it is made up."""
    return list((manifest.get("benchmark") or {}).get("notices") or [])


def signatures(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What exactly was computed: signatures of metrics, judges, decomposer and rater."""
    pairs = [(str(name), str(text)) for name, text in (manifest.get("metrics") or {}).items()]
    parts: list[tuple[str, Any]] = [("judge", judge) for judge in _judges(manifest)]
    parts += [(part, manifest.get(part)) for part in ("decomposer", "rater")]
    return pairs + [(part, str(f.get("signature") or f["name"])) for part, f in parts if f]


def judges(manifest: Mapping[str, Any]) -> list[str]:
    """The names of the judges of a run, the first of them that of the metrics without `@LABEL`."""
    return [str(judge["name"]) for judge in _judges(manifest)]


def first_judge(manifest: Mapping[str, Any]) -> str | None:
    """What the first judge is called beside the others, which are numbered if they share a name."""
    names = judges(manifest)
    if not names:
        return None
    return f"{names[0]}#1" if names.count(names[0]) > 1 else names[0]


def _judges(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Runs of one judge have it under `judge`."""
    return [judge for judge in manifest.get("judges") or [manifest.get("judge")] if judge]


def refusal_rules(summary: Mapping[str, Any]) -> str:
    """Return how far the rules find refusals, for p_ir and p_g. Empty for older runs."""
    rules = summary.get("abstention_rules")
    return REFUSAL_RULES.describe_agreement(rules) if rules else ""


def page_title(manifest: Mapping[str, Any]) -> str:
    """What was run, in words."""
    if run := asked(manifest):
        return f"{run['model']} on {run['task']}"
    names = input_names(manifest.get("input"))
    return "Are the answers grounded?" + (f" {', '.join(names)}" if names else "")


def run_lead(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> Rich:
    """How many answers of what, asked how, judged by whom."""
    n = summary.get("n", 0)
    names = input_names(manifest.get("input"))
    lead: list[Any] = [f"{n:,} {'answer' if n == 1 else 'answers'}"]
    if names:
        lead += [" from ", Span.strong(", ".join(names))]
    if run := asked(manifest):
        lead.append(f", asked with {run['how']}" if run["how"] else "")
        lead.append(f"; prompts {run['prompts']}" if run["prompts"] else "")
    for place, judge in enumerate(judges(manifest)):
        lead += [" and " if place else "; claims judged by ", Span.strong(judge)]
    return lead


def reading_notes(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], of_items: Sequence[str]
) -> list[Rich]:
    """How the numbers of a page are to be read; `of_items` are the metrics that items have."""
    metrics = summary.get("metrics") or {}
    levels = sorted({e["ci_level"] for e in metrics.values() if e.get("ci_level")})
    covered = ", ".join(f"{100 * level:.4g} %" for level in levels)
    over = (
        f"whole groups of answers ({n:,} of them)" if (n := summary.get("clusters")) else "answers"
    )
    settings = [f"Intervals{f' of {covered}' if levels else ''}: percentile bootstrap over {over}"]
    if resamples := manifest.get("resamples"):
        settings.append(f"{resamples:,} resamples")
    if (seed := manifest.get("seed")) is not None:
        settings.append(f"seed {seed}")
    whole = [name for name in metrics if of_items and name not in of_items]
    notes: list[Rich] = [
        "An answer without a score counts neither as 0 nor as 1.",
        f"{', '.join(settings)}.",
        "How to read these numbers: docs/run-directory.md.",
    ]
    if whole:
        notes.append(
            f"{', '.join(whole)}: of the whole run, over all its answers together; no answer has "
            "such a number by itself."
        )
    return notes
