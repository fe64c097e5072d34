"""Sentences about a run: its verdicts, how often they agree with people, and its settings.

The sentences are made from summary.json and manifest.json, for pages and the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import msgspec

from trueground.judges import FitFigures, LabeledVerdicts
from trueground.metrics import AnswerVerdict
from trueground.reports.blocks import Rich, Span
from trueground.text import REFUSAL_RULES, percent, several
from trueground.types import Status

_MAX_CHECKSUM_DIGITS = 12
_CHECKSUM = re.compile(r"[0-9a-f]{32,}")
_THRESHOLD = re.compile(r"\|threshold:([\d.e-]+)")
# The verdicts in the order in which sentences name them.
CHECKED_VERDICTS = ("not_grounded", "partly_grounded", "grounded")
ADJECTIVES = {"faithful": "grounded", "correct": "correct"}  # by the label
# The metrics whose corrected rate is reported, by the label. If there is none, the first metric.
_PREFERRED_METRICS = {
    "faithful": ("support", "grounding_precision"),
    "correct": ("correct_support",),
}
_PROBABILITY_METRICS = ("support", "correct_support")


# ---- verdicts, by the judge and by people ----


def has_verdicts(summary: Mapping[str, Any]) -> bool:
    """Whether any answer could be judged."""
    verdicts = summary.get("verdicts") or {}
    return bool(verdicts) and verdicts["unscored"]["n"] < verdicts["n"]


def opening(summary: Mapping[str, Any]) -> str:
    """Return how many answers are grounded, or the reason why no answer has a verdict.

    If people labeled some answers, the sentence begins with the rate that is corrected by their
    labels. It is empty if the run has no metric of grounding.
    """
    verdicts, missing = summary.get("verdicts"), summary.get("missing") or ""
    if has_verdicts(summary):
        corrected = grounded_to_people(summary)
        if corrected is None:
            verdicts = summary["verdicts"]
            return f"Of {several(verdicts['n'], 'answer')} {_shares(verdicts, 'are grounded')}."
        shares = _shares(summary["verdicts"], "grounded")
        return f"{_rate_sentence(*corrected, summary)} The judge alone calls {shares}."
    if not verdicts:
        # Without this reason the run has no verdicts because none were requested.
        lacks_contexts = "contexts" in missing
        return f"{missing[0].upper()}{missing[1:]}" if lacks_contexts else ""
    n, statuses = verdicts["n"], verdicts.get("why_unscored") or {}
    if statuses.keys() != {Status.NO_CLAIMS}:
        return f"None of {n:,} answers could be judged: {missing or _count_statuses(statuses)}"
    n_empty = summary["empty_responses"]
    sentence = "No answer had anything to check, so none is called grounded or not."
    if n_empty == n:
        sentence += " All are empty."
    elif n_empty:
        sentence += f" {n_empty:,} of {n:,} are empty."
    return sentence


def _count_statuses(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {Status(name).description}" for name, count in counts.items())


def _shares(verdicts: Mapping[str, Any], first: str) -> str:
    share = {name: percent(verdicts[name]["share"]) for name in AnswerVerdict.NAMES}
    told = f"{share['grounded']} {first}"
    for name in ("partly_grounded", "not_grounded", "abstained"):
        told += f", {share[name]} {AnswerVerdict.LABELS[name]}"
    return told + (f" ({share['unscored']} unscored)" if verdicts["unscored"]["n"] else "")


def first_of_labels(corrected: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the corrected metric that is reported for each label, with its adjective.

    Args:
        corrected: The corrected metrics of a summary, by their keys.
    """
    adjectives = {}
    for label, adjective in ADJECTIVES.items():
        keys = [key for key, entry in corrected.items() if entry["label"] == label]
        preferred = [key for key in _PREFERRED_METRICS[label] if key in keys]
        if keys:
            adjectives[[*preferred, *keys][0]] = adjective
    return adjectives


def grounded_to_people(summary: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Return metric and entry of the rate of answers that people would call grounded.

    None if the run has no labels.
    """
    corrected: Mapping[str, Mapping[str, Any]] = summary.get("corrected") or {}
    for key in first_of_labels(corrected):
        if corrected[key]["label"] == "faithful":
            return key, corrected[key]
    return None


def corrected_rates(summary: Mapping[str, Any]) -> list[str]:
    """Return the rates that labels of people correct, and what they correct, for each label.

    The rate that the opening reports is left out.
    """
    corrected: Mapping[str, Mapping[str, Any]] = summary.get("corrected") or {}
    reported = grounded_to_people(summary) if has_verdicts(summary) else None
    paragraphs = []
    for key in first_of_labels(corrected):
        entry = corrected[key]
        sentences = []
        if reported is None or reported[0] != key:
            sentences.append(_rate_sentence(key, entry, summary))
        if entry["method"] != "exact" and entry["drawn"] != "all":
            mean = "the judge's mean"
            if key in _PROBABILITY_METRICS:
                mean = "the mean of the judge's probabilities"
            sentences.append(f"The labels correct {mean}, {percent(entry['judge_mean'])} ({key}).")
        sentences += [f"Note: {note}." for note in entry["notes"]]
        if sentences:
            paragraphs.append(" ".join(sentences))
    return paragraphs


def _rate_sentence(key: str, entry: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """Return `People would call 33 % [26, 42] of 707 answers grounded (100 labels).`"""
    low, high = (f"{100 * end:.0f}" for end in entry["ci"])
    rate = f"People would call {percent(entry['mean'])} [{low}, {high}]"
    labels = f"{entry['labels']:,} labels"
    if entry["method"] == "exact":
        labels += " alone, fewer than 10 of one kind"
    if entry["drawn"] == "all":
        rate, labels = f"People call {percent(entry['mean'])}", "all labeled"
    if entry["n"] < summary["n"]:
        statuses = _count_statuses(summary["metrics"][key]["unscored"])
        labels += f"; left out of {summary['n']:,}: {statuses}"
    return f"{rate} of {several(entry['n'], 'answer')} {ADJECTIVES[entry['label']]} ({labels})."


# ---- agreement with people: by labels of the run, or of similar sets, or of the judge ----


def trust_sentence(verdicts: Mapping[str, Any]) -> str:
    """Return how often the verdicts of a summary agree with people."""
    if labeled := verdicts.get("labeled"):
        return _of_labels(labeled)
    if (measured := similar_sets(verdicts)) is not None:
        return f"{measured.sentence()} For each set: docs/trust.md."
    if fitted := verdicts.get("fitted"):
        return msgspec.convert(fitted, FitFigures).sentence()
    judge = str(verdicts.get("judge"))
    if threshold := _THRESHOLD.search(str(verdicts.get("signature"))):
        judge += f" with the threshold {float(threshold[1]):g}"
    return (
        "How often these verdicts agree with people wasn't measured for this judge "
        f"({judge}). To measure it on your labels, run `trueground validate`."
    )


def similar_sets(verdicts: Mapping[str, Any]) -> LabeledVerdicts | None:
    """Return the labeled sets of the trust sentence; None if it has another source."""
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
    """Return the text with only the beginning of each checksum."""
    return _CHECKSUM.sub(lambda match: f"{match[0][:_MAX_CHECKSUM_DIGITS]}…", text)


def input_names(source: object) -> list[str]:
    """Return file names without folders, from a path, `{"path": …}`, or a list of either."""
    if isinstance(source, list):
        return list(chain.from_iterable(map(input_names, source)))
    if isinstance(source, dict):
        return input_names(source.get("path"))
    if not isinstance(source, str) or not source:
        return []
    if source == "-":
        return ["standard input"]
    path = urlsplit(source).path if "://" in source else source
    return [PurePath(path.replace("\\", "/")).name]


def model_and_task(manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return model, task and options of a run; None if the answers are from a file."""
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
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            texts.append(f"{name} {text}")
    return ", ".join(texts)


def notices(manifest: Mapping[str, Any]) -> list[str]:
    """Return what every page of a run must show, such as a warning about invented data."""
    return list((manifest.get("benchmark") or {}).get("notices") or [])


def signatures(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the signatures of metrics, judges, decomposer and rater, with their names."""
    pairs = [(str(name), str(text)) for name, text in (manifest.get("metrics") or {}).items()]
    components: list[tuple[str, Any]] = [("judge", judge) for judge in _judges(manifest)]
    components += [(role, manifest.get(role)) for role in ("decomposer", "rater")]
    for role, entry in components:
        if entry:
            pairs.append((role, str(entry.get("signature") or entry["name"])))
    return pairs


def judges(manifest: Mapping[str, Any]) -> list[str]:
    """Return the names of the judges of a run.

    The first is the judge of the metrics without `@LABEL`.
    """
    return [str(judge["name"]) for judge in _judges(manifest)]


def first_judge(manifest: Mapping[str, Any]) -> str | None:
    """Return the name of the first judge, with `#1` if another judge has the same name."""
    names = judges(manifest)
    if not names:
        return None
    return f"{names[0]}#1" if names.count(names[0]) > 1 else names[0]


def _judges(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    # Manifests of runs with one judge have the key `judge` instead of `judges`.
    return [judge for judge in manifest.get("judges") or [manifest.get("judge")] if judge]


def refusal_rules(summary: Mapping[str, Any]) -> str:
    """Return how well the rules find refusals, for p_ir and p_g; empty for older runs."""
    rules = summary.get("abstention_rules")
    return REFUSAL_RULES.describe_agreement(rules) if rules else ""


def page_title(manifest: Mapping[str, Any]) -> str:
    """Return the title of the page of a run."""
    run = model_and_task(manifest)
    if run:
        return f"{run['model']} on {run['task']}"
    names = input_names(manifest.get("input"))
    return "Are the answers grounded?" + (f" {', '.join(names)}" if names else "")


def run_lead(summary: Mapping[str, Any], manifest: Mapping[str, Any]) -> Rich:
    """Return the number of answers, their source, their settings and their judges."""
    n = summary.get("n", 0)
    names = input_names(manifest.get("input"))
    lead: list[Any] = [f"{n:,} {'answer' if n == 1 else 'answers'}"]
    if names:
        lead += [" from ", Span.strong(", ".join(names))]
    run = model_and_task(manifest)
    if run:
        lead.append(f", asked with {run['how']}" if run["how"] else "")
        lead.append(f"; prompts {run['prompts']}" if run["prompts"] else "")
    for index, judge in enumerate(judges(manifest)):
        lead += [" and " if index else "; claims judged by ", Span.strong(judge)]
    return lead


def reading_notes(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], of_items: Sequence[str]
) -> list[Rich]:
    """Return notes on how to read the metrics of a page.

    Args:
        summary: The summary of the run.
        manifest: Its manifest.
        of_items: The metrics that single items have.
    """
    metrics = summary.get("metrics") or {}
    levels = sorted({e["ci_level"] for e in metrics.values() if e.get("ci_level")})
    covered = ", ".join(f"{100 * level:.4g} %" for level in levels)
    n_clusters = summary.get("clusters")
    over = f"{n_clusters:,} groups of answers" if n_clusters else "answers"
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
            f"{', '.join(whole)}: computed over all answers of the run together. Single answers "
            "have no such value."
        )
    return notes
