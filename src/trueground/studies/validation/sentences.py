"""A validation in words: its first lines, what each measure says, which records to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean
from typing import Any, NamedTuple

from trueground.reports import Block, Bullets, Entries, Entry, Part, Rich, Span, Text
from trueground.studies.calibration.page import short
from trueground.text import percent, several

Raw = Mapping[str, Any]
Sentence = list[str | Span]
CALIBRATION = "calibration_error"
_MAX_READ_RECORDS = 600  # records with texts in all sets, about 1.5 MB at most
_MIN_READ_PER_SET = 3
_UNUSED = {"no_label": "without the label", "tied": "on which annotators are tied"}
_ENOUGH = 20  # below it a percentile interval covers the truth too rarely


class MeasureWords(NamedTuple):
    """How a measure is called and read; `low` to `high` is the scale on which it is drawn."""

    title: str
    words: str
    low: float = 0.0
    high: float = 1.0
    lower: bool = False  # is better


MEASURES = {
    "auroc": MeasureWords(
        "AUROC",
        "the chance that a positive record scores above one that is not; equal scores count half. "
        "0.5 is guessing, 1 is perfect, and no threshold is needed",
        0.5,
    ),
    "spearman": MeasureWords(
        "Spearman ρ", "correlation of the ranks; 0 is none, 1 the same order", -0.5
    ),
    "kendall": MeasureWords(
        "Kendall τ-b", "pairs in the same order less pairs in the other, ties allowed for", -0.5
    ),
    "point_biserial": MeasureWords(
        "Point-biserial", "Pearson's correlation of the score with the label as 0 or 1", -0.5
    ),
    "balanced_accuracy": MeasureWords(
        "Balanced accuracy",
        "mean of the shares of positives and of negatives that are called rightly, at the default "
        "threshold; 0.5 is guessing",
        0.5,
    ),
    "balanced_accuracy_best": MeasureWords(
        "Balanced accuracy, best",
        "the same at the threshold that is best on these very records, so that it flatters",
        0.5,
    ),
    "matthews": MeasureWords(
        "Matthews", "correlation of the verdict at the default threshold", -0.5
    ),
    "cohen_kappa": MeasureWords("Cohen κ", "agreement of verdict and label beyond chance", -0.5),
    "fleiss_kappa": MeasureWords("Fleiss κ", "the same with one chance for both raters", -0.5),
    "krippendorff_alpha": MeasureWords(
        "Krippendorff α", "agreement beyond chance, corrected for few records", -0.5
    ),
    "raw_agreement": MeasureWords(
        "Raw agreement",
        "share of records where verdict and label are the same; where one label is rare it is "
        "high for a metric that always says the other",
    ),
    CALIBRATION: MeasureWords(
        "Calibration error",
        "how far a score is from the share of positives among records with such scores; 0 is best, "
        "but calibrated scores have the value after “by chance”. Pooled over sets, one that is "
        "too high in one set and too low in another looks calibrated: read the mean over sets",
        high=0.5,
        lower=True,
    ),
    "false_negative_rate": MeasureWords(
        "False negatives",
        "share of positives that the verdict calls negative; to be read with the false positives",
        lower=True,
    ),
    "false_positive_rate": MeasureWords(
        "False positives",
        "share of negatives that the verdict calls positive; to be read with the false negatives",
        lower=True,
    ),
    "sign_agreement": MeasureWords(
        "Same preference",
        "share of pairs in which the metric prefers what people prefer; where it has both equal "
        "the pair counts half. 0.5 is guessing",
    ),
    "accuracy": MeasureWords(
        "Same preference, no ties", "the same over the pairs in which the metric prefers one"
    ),
}


def best_first(mean: Mapping[str, Raw], measure: str = "auroc") -> list[str]:
    """Return the metrics by their mean, those with values in more sets first."""
    estimates = {key: entry[measure] for key, entry in mean.items()}
    return sorted(
        estimates, key=lambda key: (-estimates[key]["sets"], -(estimates[key]["value"] or 0.0))
    )


def by_chance(sets: Sequence[Raw], metric: str) -> float | None:
    """Return the calibration error that calibrated scores would have, the mean over sets."""
    entries = [set_["metrics"][metric] for set_ in sets if metric in set_["metrics"]]
    means = [e["calibration_by_chance"]["mean"] for e in entries if e.get("calibration_by_chance")]
    return fmean(means) if means else None


def format_verdict(raw: Raw) -> str:
    """Return which scores count as a yes."""
    return f"score {raw['verdict'].replace('-', ' ')} {raw['threshold']:g}"


def headline(raw: Raw) -> list[Sentence]:
    """Return which metric leads and whether by more than chance, overall and by set of pairs."""
    lines = _of_sets(raw) if raw["sets"] else []
    for preference_set in raw["preferences"] or ():
        lines += _of_pairs(preference_set, raw["ci_level"])
    return lines


def lead(raw: Raw) -> Sentence:
    """Return what was measured: records with labels, pairs with preferences."""
    sets, pairs, label = raw["sets"], raw["preferences"] or (), Span.strong(raw["label"])
    parts: Sentence = []
    if sets:
        n, positives = sum(set_["n"] for set_ in sets), sum(set_["positives"] for set_ in sets)
        set_name = f"{len(sets)} sets" if len(sets) > 1 else sets[0]["name"]
        parts = [f"{several(n, 'record')} that people have labeled ", label]
        parts += [", in " if len(sets) > 1 else ", of the set ", Span.strong(set_name)]
        parts.append(f"; {percent(positives, n, digits=0)} are positive (label above ")
        parts.append(f"{short(raw['positive_above'])})")
        parts.append(", and graded labels keep their order. " if raw["ordinal"] else ". ")
    if pairs:
        parts.append(several(sum(set_["n"] for set_ in pairs), "pair"))
        parts += [", in ", Span.strong(f"{len(pairs)} sets")] if len(pairs) > 1 else []
        parts += ["; each is two answers to the same question; people have said which is better ("]
        parts += [label, ")."]
    return parts


def caution(raw: Raw) -> str:
    """Return how to read intervals."""
    sets, pairs = raw["sets"], raw["preferences"] or ()
    counts: list[set[int]] = []
    for entries in (labeled_set["metrics"].values() for labeled_set in sets):
        counts += [{entry["n"] for entry in entries}]
    for entries in (labeled_set["metrics"].values() for labeled_set in pairs):
        counts += [{entry["sign_agreement"]["n"] for entry in entries}]
    keys = {frozenset(labeled_set["metrics"]) for labeled_set in (*sets, *pairs)}
    kind = "records" if sets else "pairs"
    if len(keys) == 1 and all(len(ns) < 2 for ns in counts):
        first = f"All metrics are measured on the same {kind}, so their errors go together."
    else:
        first = f"The metrics have scores on different numbers of {kind}, many of them the same."
    sentences = [first, "For these, overlapping intervals are no test of a difference."]
    if raw.get("differences"):
        sentences.append("Differences have intervals of their own, from the same resamples.")
    return " ".join([*sentences, "How to read these numbers: docs/validate.md."])


def method(raw: Raw, turned: Sequence[str]) -> list[str | Sentence]:
    """Return how the numbers are computed; lower is better for the `turned` metrics."""
    rule: str | Sentence = (
        "The preference of a metric is the sign of the difference of its two scores."
    )
    if raw["sets"]:
        above = f" is above {short(raw['positive_above'])}. The verdict of a metric is yes where "
        rule = ["A record is positive where its label ", Span.code(raw["label"]), above]
        rule.append(f"its {format_verdict(raw)}.")
    sentences = [
        rule,
        f"Intervals are percentile bootstraps ({100 * raw['ci_level']:.4g} %, {raw['resamples']:,} "
        f"resamples, seed {raw['seed']}); where records have groups, whole groups are drawn. All "
        "metrics of a set see the same resamples.",
        "How to read these numbers: docs/validate.md.",
    ]
    if turned:
        tail = ", so that 1 − x or −x was measured; the worst disagreements have the score itself."
        sentences.append(["“Turned round”: lower is better for ", *names(turned), tail])
    return sentences


def unused(set_: Raw) -> str:
    """Return how many records of a set were not measured, by reason."""
    counts = {
        _UNUSED.get(reason, reason.replace("_", " ")): n
        for reason, n in set_["unused"].items()
        if n
    }
    return f"; not used: {', '.join(f'{n:,} {w}' for w, n in counts.items())}" if counts else ""


def four(value: float | None) -> str:
    """Format with four decimals and a true minus, or as a dash if there is no value."""
    if value is None:
        return "–"
    return f"{round(value, 4) + 0.0:.4f}".replace("-", "−")


def between(ci: Sequence[float] | None) -> str:
    """Format an interval, "" if there is none."""
    return f"{four(ci[0])} to {four(ci[1])}" if ci else ""


def measure_of(name: str) -> MeasureWords:
    """Return the description of a measure; an unknown one has only its name."""
    if name == "pooled":
        return MEASURES[CALIBRATION]._replace(title="Calibration error, pooled")
    return MEASURES.get(name) or MeasureWords(name.replace("_", " "), "")


def names(metrics: Sequence[str]) -> Sentence:
    """Return metrics in a sentence, with commas."""
    sentence: Sentence = []
    for name in metrics:
        sentence += [", ", Span.code(name)]
    return sentence[1:]


def _of_sets(raw: Raw) -> list[Sentence]:
    """Return which metric leads and whether by more than chance.

    Only metrics with values on equally many sets are compared, because fewer sets may be easier.
    """
    estimates = {name: raw["mean"][name]["auroc"] for name in best_first(raw["mean"])}
    scored = [name for name in estimates if estimates[name]["value"] is not None]
    if not scored:
        reason = (
            "; ".join(dict.fromkeys(str(e["why"]) for e in estimates.values()))
            or "no metric is here"
        )
        return [[f"No metric has an AUROC here: {reason}."]]
    best, sets = estimates[scored[0]], raw["sets"]
    fair = [name for name in scored if estimates[name]["sets"] == best["sets"]]
    first = _tied(fair, estimates)
    over = f", mean over {best['sets']:,} sets" if len(sets) > 1 else ""
    ci = _with(best, raw["ci_level"])
    if len(first) > 1:
        same = len({between(estimates[name]["ci"]) for name in first}) == 1
        tied = f" are tied at {four(best['value'])} to four decimals{ci if same else ''}."
        lines: list[Sentence] = [[f"Best by AUROC{over}: ", *names(first), tied]]
    else:
        value = Span.strong(four(best["value"]))
        lines = [[f"Best by AUROC{over}: ", Span.code(first[0]), " with ", value, f"{ci}."]]
    differences = ((raw.get("differences") or {}).get("auroc") or {}).items()
    lines += _rest(fair, estimates, {k: e for k, e in differences if e["against"] == fair[0]})
    counts = [sum(s["metrics"].get(name, {"n": 0})["n"] for s in sets) for name in fair[:2]]
    if len(set(counts)) > 1:
        sentence: Sentence = ["They do not rest on the same records: ", Span.code(fair[0])]
        lines.append(
            [*sentence, f" scored {counts[0]:,}, ", Span.code(fair[1]), f" {counts[1]:,}."]
        )
    lines += _guessing(fair[0], best)
    rarer = {set_["name"]: min(set_["positives"], set_["n"] - set_["positives"]) for set_ in sets}
    lines += _few(rarer, "records of the rarer label")
    fewer = [name for name in scored if name not in fair]
    if fewer:
        text = "Left out of this, for they have a value on fewer sets: "
        lines.append([text, *names(fewer), "."])
    return lines


def _of_pairs(set_: Raw, level: float) -> list[Sentence]:
    """Return which metric agrees most often with people's preferences in one set of pairs."""
    estimates = {name: entry["sign_agreement"] for name, entry in set_["metrics"].items()}
    scored = [name for name, e in estimates.items() if e["value"] is not None]
    if not scored:
        return [[f"{set_['set']}: no metric can be held against the preferences."]]
    scored.sort(key=lambda name: -estimates[name]["value"])
    best, first = estimates[scored[0]], _tied(scored, estimates)
    verb = "are tied, agreeing most often with people" if len(first) > 1 else "agrees with people "
    verb += "" if len(first) > 1 else "most often"
    sentence: Sentence = [f"{set_['set']}: ", *names(first), f" {verb}, in "]
    sentence += [Span.strong(four(best["value"])), f" of the pairs{_with(best, level)}."]
    few_pairs = _few({set_["set"]: set_["n"] - set_["ties"]}, "pairs")
    return [sentence, *_rest(scored, estimates, {}), *_guessing(scored[0], best), *few_pairs]


def _rest(
    fair: Sequence[str], estimates: Mapping[str, Raw], differences: Mapping[str, Raw]
) -> list[Sentence]:
    """Return how the next metric differs from the first, and which others may equal it."""
    best = estimates[fair[0]]
    others = [name for name in fair if name not in _tied(fair, estimates)]
    if not others:
        return [] if len(fair) > 1 else [["It is the only one, so nothing is compared."]]
    following = estimates[others[0]]
    ends = f" ({between(following['ci'])})" if following["ci"] else ""
    text, paired = _apart(best, following), differences.get(others[0])
    if paired and paired["ci"]:  # what the records that both score show
        low, high = sorted(-end for end in paired["ci"])
        size = f"{four(-paired['value'])} ({between([low, high])}) on the records that both score"
        text = f"the difference of {size} "
        text += "may be chance." if _may_be_chance(paired) else "is more than chance."
    sentence: Sentence = ["The next is ", Span.code(others[0])]
    sentence.append(f" with {four(following['value'])}{ends}: {text}")
    if differences:
        same = [name for name in others[1:] if _may_be_chance(differences.get(name))]
        if same:
            sentence += [" The difference of ", *names(same), " from the first may be chance too."]
        return [sentence]
    within = [
        name for name in others[1:] if best["ci"] and estimates[name]["value"] >= best["ci"][0]
    ]
    if within:
        sentence += [" Also within the interval of the first: ", *names(within), "."]
    return [sentence]


def _may_be_chance(difference: Raw | None) -> bool:
    return bool(difference and difference["ci"] and difference["ci"][0] <= 0 <= difference["ci"][1])


def _apart(best: Raw, following: Raw) -> str:
    """Return what the intervals of two metrics say without a paired bootstrap."""
    a, b = best["ci"], following["ci"]
    if not a or not b:
        return "without intervals nothing can be said of the difference."
    if following["value"] >= a[0] or best["value"] <= b[1]:
        return (
            "the difference is within the interval, so that on other records the order may be the "
            "other way round."
        )
    if b[1] >= a[0]:
        return "the difference is larger than either interval reaches, but the intervals overlap."
    return "the intervals do not overlap."


def _guessing(name: str, best: Raw) -> list[Sentence]:
    if not best["ci"] or best["ci"][0] > 0.5:
        return []
    return [["Even ", Span.code(name), " cannot be told from guessing, which has 0.5."]]


def _few(counts: Mapping[str, int], noun: str) -> list[Sentence]:
    """Return a warning if there are too few records for a bootstrap."""
    few = ", ".join(f"{name} ({n:,})" for name, n in counts.items() if n < _ENOUGH)
    text = f"Fewer than {_ENOUGH} {noun} are too few for a conclusion, and their intervals too"
    return [[f"{text} narrow: {few}."]] if few else []


def _tied(metrics: Sequence[str], estimates: Mapping[str, Raw]) -> list[str]:
    """Return the first metric and those that equal it to four decimals."""
    return [
        m for m in metrics if four(estimates[m]["value"]) == four(estimates[metrics[0]]["value"])
    ]


def _with(estimate: Raw, level: float) -> str:
    ends = f"{100 * level:.4g} % interval {between(estimate['ci'])}"
    return f" ({ends})" if estimate["ci"] else " (no interval)"


# ---- what to read ----


def worst_disagreements(sets: Sequence[Raw], limit: int | None = None) -> Iterator[Part]:
    """Yield the `limit` records on which metrics are most confidently wrong.

    Each record appears once with all metrics that got it wrong. If there are too many for the
    page, each metric keeps its first ones.
    """
    entries: list[tuple[int, Entry]] = []
    total, max_per_set = 0, max(_MIN_READ_PER_SET, _MAX_READ_RECORDS // max(len(sets), 1))
    for set_ in sets:
        lists = {m: entry["worst"] for m, entry in set_["metrics"].items()}
        ranks = zip_longest(*lists.values())
        ids = list(dict.fromkeys(str(item["id"]) for rank in ranks for item in rank if item))
        total += len(ids)
        wrong_of: dict[str, list[tuple[str, Raw]]] = {key: [] for key in ids[:max_per_set]}
        for metric, items in lists.items():
            for item in items:
                if str(item["id"]) in wrong_of:
                    wrong_of[str(item["id"])].append((metric, item))
        tags = {"set": set_["name"]} if len(sets) > 1 else {}
        entries += [(-len(wrong), _reading(key, wrong, tags)) for key, wrong in wrong_of.items()]
    if not entries:
        return
    intro = (
        "Records on which a metric is most confidently against the label; first those that most "
    )
    intro += "metrics get wrong. Some of them are errors of the label."
    listed = len(entries[:limit])
    if listed < total:
        intro += f" {listed:,} of {several(total, 'record')}; validation.json has all."
    entries.sort(key=lambda pair: pair[0])
    listed_entries = Entries([entry for _, entry in entries[:limit]], "record")
    yield Part("The worst disagreements to read", [Text(intro, "quiet"), listed_entries], "worst")


def _reading(key: str, wrong: Sequence[tuple[str, Raw]], tags: dict[str, str]) -> Entry:
    item = wrong[0][1]
    texts = {"Question": [item.get("question")], "Response": [item["response"] or "(empty)"]}
    texts["Reference"] = item.get("references") or []
    blocks: list[Block] = []
    for word, values_of_word in texts.items():
        blocks += [Text([Span.quiet(f"{word}  "), text]) for text in values_of_word if text]
    votes = item.get("votes")
    if votes:
        votes_text = ", ".join(f"{annotator} {short(label)}" for annotator, label in votes.items())
        blocks.append(Text(votes_text, "quiet"))
    contexts: dict[str, list[Rich]] = {}
    for metric, item_of_metric in wrong:
        reasons = "; ".join(item_of_metric.get("reasons") or ())
        line: Rich = [Span.code(metric), f" {four(item_of_metric['score'])} ", Span.quiet(reasons)]
        contexts.setdefault(item_of_metric.get("context") or "", []).append(line)
    for context, metrics in contexts.items():
        blocks += [Text([Span.quiet("Context  "), context])] if context else []
        blocks.append(Bullets(metrics))
    has = "metric has" if len(wrong) == 1 else "metrics have"
    title: Rich = [
        key,
        Span.quiet(f" people say {short(item['label'])}; {len(wrong)} {has} it wrong"),
    ]
    values = {metric: round(item_of_metric["score"], 4) for metric, item_of_metric in wrong}
    tags = {**tags, "people say": short(item["label"])}
    return Entry(title, blocks, item["response"][:160], values, tags)
