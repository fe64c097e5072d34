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
_MOST_READ = 600  # records with texts, all sets together: about 1.5 MB at the very most
_LEAST_READ = 3  # of a set, however many sets there are
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
        "but calibrated scores have what stands under “by chance”. Pooled over sets, one that is "
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
    """The metrics by their mean, those that have it in more sets first."""
    found = {key: entry[measure] for key, entry in mean.items()}
    return sorted(found, key=lambda key: (-found[key]["sets"], -(found[key]["value"] or 0.0)))


def by_chance(sets: Sequence[Raw], metric: str) -> float | None:
    """The calibration error that calibrated scores would have: the mean over sets that tell it."""
    entries = [one["metrics"][metric] for one in sets if metric in one["metrics"]]
    told = [e["calibration_by_chance"]["mean"] for e in entries if e.get("calibration_by_chance")]
    return fmean(told) if told else None


def format_verdict(raw: Raw) -> str:
    """Which scores are a yes."""
    return f"score {raw['verdict'].replace('-', ' ')} {raw['threshold']:g}"


def headline(raw: Raw) -> list[Sentence]:
    """Which metric leads, and whether by more than chance; so for each set of pairs."""
    lines = _of_sets(raw) if raw["sets"] else []
    for one in raw["preferences"] or ():
        lines += _of_pairs(one, raw["ci_level"])
    return lines


def lead(raw: Raw) -> Sentence:
    """What was measured: records with labels, pairs with preferences."""
    sets, pairs, label = raw["sets"], raw["preferences"] or (), Span.strong(raw["label"])
    said: Sentence = []
    if sets:
        n, positives = sum(one["n"] for one in sets), sum(one["positives"] for one in sets)
        where = f"{len(sets)} sets" if len(sets) > 1 else sets[0]["name"]
        said = [f"{several(n, 'record')} that people have labeled ", label]
        said += [", in " if len(sets) > 1 else ", of the set ", Span.strong(where)]
        said.append(f"; {percent(positives, n, digits=0)} are positive (label above ")
        said.append(f"{short(raw['positive_above'])})")
        said.append(", and graded labels keep their order. " if raw["ordinal"] else ". ")
    if pairs:
        said.append(several(sum(one["n"] for one in pairs), "pair"))
        said += [", in ", Span.strong(f"{len(pairs)} sets")] if len(pairs) > 1 else []
        said += ["; each is two answers to the same question; people have said which is better ("]
        said += [label, ")."]
    return said


def caution(raw: Raw) -> str:
    """Return how to read intervals."""
    sets, pairs = raw["sets"], raw["preferences"] or ()
    counts = [{entry["n"] for entry in one["metrics"].values()} for one in sets]
    counts += [{entry["sign_agreement"]["n"] for entry in one["metrics"].values()} for one in pairs]
    keys = {frozenset(one["metrics"]) for one in (*sets, *pairs)}
    what = "records" if sets else "pairs"
    if len(keys) == 1 and all(len(ns) < 2 for ns in counts):
        first = f"All metrics are measured on the same {what}, so their errors go together."
    else:
        first = f"The metrics have scores on different numbers of {what}, many of them the same."
    sentences = [first, "For these, overlapping intervals are no test of a difference."]
    if raw.get("differences"):
        sentences.append("Differences have intervals of their own, from the same resamples.")
    return " ".join([*sentences, "How to read these numbers: docs/validate.md."])


def method(raw: Raw, turned: Sequence[str]) -> list[str | Sentence]:
    """How the numbers are made; `turned` are the metrics of which less is better."""
    rule: str | Sentence = (
        "The preference of a metric is the sign of the difference of its two scores."
    )
    if raw["sets"]:
        above = f" is above {short(raw['positive_above'])}. The verdict of a metric is yes where "
        rule = ["A record is positive where its label ", Span.code(raw["label"]), above]
        rule.append(f"its {format_verdict(raw)}.")
    said = [
        rule,
        f"Intervals are percentile bootstraps ({100 * raw['ci_level']:.4g} %, {raw['resamples']:,} "
        f"resamples, seed {raw['seed']}); where records have groups, whole groups are drawn. All "
        "metrics of a set see the same resamples.",
        "How to read these numbers: docs/validate.md.",
    ]
    if turned:
        tail = ", so that 1 − x or −x was measured; the worst disagreements have the score itself."
        said.append(["“Turned round”: lower is better for ", *names(turned), tail])
    return said


def unused(one: Raw) -> str:
    """The records of a set that were not measured, with why."""
    counts = {_UNUSED.get(why, why.replace("_", " ")): n for why, n in one["unused"].items() if n}
    return f"; not used: {', '.join(f'{n:,} {w}' for w, n in counts.items())}" if counts else ""


def four(value: float | None) -> str:
    """Four decimals with a true minus; a dash where there is no value."""
    if value is None:
        return "–"
    return f"{round(value, 4) + 0.0:.4f}".replace("-", "−")


def between(ci: Sequence[float] | None) -> str:
    """An interval; nothing where there is none."""
    return f"{four(ci[0])} to {four(ci[1])}" if ci else ""


def measure_of(name: str) -> MeasureWords:
    """What is known of a measure; one of another version is called by its own name."""
    if name == "pooled":
        return MEASURES[CALIBRATION]._replace(title="Calibration error, pooled")
    return MEASURES.get(name) or MeasureWords(name.replace("_", " "), "")


def names(metrics: Sequence[str]) -> Sentence:
    """Metrics in a sentence, with commas."""
    return [part for name in metrics for part in (", ", Span.code(name))][1:]


def _of_sets(raw: Raw) -> list[Sentence]:
    """Which metric leads and whether the difference to the next can be told from chance.

    Only metrics that have a value on equally many sets are compared: a mean over fewer, perhaps
    easier, sets is another number.
    """
    found = {name: raw["mean"][name]["auroc"] for name in best_first(raw["mean"])}
    have = [name for name in found if found[name]["value"] is not None]
    if not have:
        why = "; ".join(dict.fromkeys(str(e["why"]) for e in found.values())) or "no metric is here"
        return [[f"No metric has an AUROC here: {why}."]]
    best, sets = found[have[0]], raw["sets"]
    fair = [name for name in have if found[name]["sets"] == best["sets"]]
    first = _tied(fair, found)
    over = f", mean over {best['sets']:,} sets" if len(sets) > 1 else ""
    ci = _with(best, raw["ci_level"])
    if len(first) > 1:
        same = len({between(found[name]["ci"]) for name in first}) == 1
        tied = f" are tied at {four(best['value'])} to four decimals{ci if same else ''}."
        lines: list[Sentence] = [[f"Best by AUROC{over}: ", *names(first), tied]]
    else:
        value = Span.strong(four(best["value"]))
        lines = [[f"Best by AUROC{over}: ", Span.code(first[0]), " with ", value, f"{ci}."]]
    differences = ((raw.get("differences") or {}).get("auroc") or {}).items()
    lines += _rest(fair, found, {k: e for k, e in differences if e["against"] == fair[0]})
    two = [sum(s["metrics"].get(name, {"n": 0})["n"] for s in sets) for name in fair[:2]]
    if len(set(two)) > 1:
        said: Sentence = ["They do not rest on the same records: ", Span.code(fair[0])]
        lines.append([*said, f" scored {two[0]:,}, ", Span.code(fair[1]), f" {two[1]:,}."])
    lines += _guessing(fair[0], best)
    rarer = {one["name"]: min(one["positives"], one["n"] - one["positives"]) for one in sets}
    lines += _few(rarer, "records of the rarer label")
    if fewer := [name for name in have if name not in fair]:
        told = "Left out of this, for they have a value on fewer sets: "
        lines.append([told, *names(fewer), "."])
    return lines


def _of_pairs(one: Raw, level: float) -> list[Sentence]:
    """Which metric prefers most often what people prefer, in one set of pairs."""
    found = {name: entry["sign_agreement"] for name, entry in one["metrics"].items()}
    have = [name for name, e in found.items() if e["value"] is not None]
    if not have:
        return [[f"{one['set']}: no metric can be held against the preferences."]]
    have.sort(key=lambda name: -found[name]["value"])
    best, first = found[have[0]], _tied(have, found)
    lead = "are tied, agreeing most often with people" if len(first) > 1 else "agrees with people "
    lead += "" if len(first) > 1 else "most often"
    said: Sentence = [f"{one['set']}: ", *names(first), f" {lead}, in "]
    said += [Span.strong(four(best["value"])), f" of the pairs{_with(best, level)}."]
    few = _few({one["set"]: one["n"] - one["ties"]}, "pairs")
    return [said, *_rest(have, found, {}), *_guessing(have[0], best), *few]


def _rest(
    fair: Sequence[str], found: Mapping[str, Raw], differences: Mapping[str, Raw]
) -> list[Sentence]:
    """How the next metric lies to the first, and which others cannot be told from it either."""
    best = found[fair[0]]
    others = [name for name in fair if name not in _tied(fair, found)]
    if not others:
        return [] if len(fair) > 1 else [["It is the only one, so nothing is compared."]]
    following = found[others[0]]
    ends = f" ({between(following['ci'])})" if following["ci"] else ""
    told, paired = _apart(best, following), differences.get(others[0])
    if paired and paired["ci"]:  # what the records that both score show
        low, high = sorted(-end for end in paired["ci"])
        size = f"{four(-paired['value'])} ({between([low, high])}) on the records that both score"
        told = f"the difference of {size} "
        told += "may be chance." if _may_be_chance(paired) else "is more than chance."
    said: Sentence = ["The next is ", Span.code(others[0])]
    said.append(f" with {four(following['value'])}{ends}: {told}")
    if differences:
        if same := [name for name in others[1:] if _may_be_chance(differences.get(name))]:
            said += [" The difference of ", *names(same), " from the first may be chance too."]
        return [said]
    within = [name for name in others[1:] if best["ci"] and found[name]["value"] >= best["ci"][0]]
    if within:
        said += [" Also within the interval of the first: ", *names(within), "."]
    return [said]


def _may_be_chance(difference: Raw | None) -> bool:
    return bool(difference and difference["ci"] and difference["ci"][0] <= 0 <= difference["ci"][1])


def _apart(best: Raw, following: Raw) -> str:
    """What the intervals of two metrics say where nothing was drawn for both together."""
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


def _few(counts: Mapping[str, int], what: str) -> list[Sentence]:
    """A warning where resampling so few shows too little of the chance."""
    few = ", ".join(f"{name} ({n:,})" for name, n in counts.items() if n < _ENOUGH)
    told = f"Fewer than {_ENOUGH} {what} are too few for a conclusion, and their intervals too"
    return [[f"{told} narrow: {few}."]] if few else []


def _tied(metrics: Sequence[str], found: Mapping[str, Raw]) -> list[str]:
    """The first, and those that equal it to four decimals."""
    return [m for m in metrics if four(found[m]["value"]) == four(found[metrics[0]]["value"])]


def _with(estimate: Raw, level: float) -> str:
    ends = f"{100 * level:.4g} % interval {between(estimate['ci'])}"
    return f" ({ends})" if estimate["ci"] else " (no interval)"


# ---- what to read ----


def worst_disagreements(sets: Sequence[Raw], most: int | None = None) -> Iterator[Part]:
    """The first `most` records on which metrics are most confidently wrong, each once with all
    that got it wrong; where the page has no room for all, every metric keeps its first ones.
    """
    entries: list[tuple[int, Entry]] = []
    total, limit = 0, max(_LEAST_READ, _MOST_READ // max(len(sets), 1))
    for one in sets:
        lists = {m: entry["worst"] for m, entry in one["metrics"].items()}
        ranks = zip_longest(*lists.values())
        ids = list(dict.fromkeys(str(item["id"]) for rank in ranks for item in rank if item))
        total += len(ids)
        found: dict[str, list[tuple[str, Raw]]] = {key: [] for key in ids[:limit]}
        for metric, items in lists.items():
            for item in items:
                if str(item["id"]) in found:
                    found[str(item["id"])].append((metric, item))
        tags = {"set": one["name"]} if len(sets) > 1 else {}
        entries += [(-len(wrong), _reading(key, wrong, tags)) for key, wrong in found.items()]
    if not entries:
        return
    told = "Records on which a metric is most confidently against the label; first those that most "
    told += "metrics get wrong. Some of them are errors of the label."
    if (listed := len(entries[:most])) < total:
        told += f" {listed:,} of {several(total, 'record')}; validation.json has all."
    entries.sort(key=lambda each: each[0])
    shown = Entries([entry for _, entry in entries[:most]], "record")
    yield Part("The worst disagreements to read", [Text(told, "quiet"), shown], "worst")


def _reading(key: str, wrong: Sequence[tuple[str, Raw]], tags: dict[str, str]) -> Entry:
    item = wrong[0][1]
    texts = {"Question": [item.get("question")], "Response": [item["response"] or "(empty)"]}
    texts["Reference"] = item.get("references") or []
    blocks: list[Block] = [
        Text([Span.quiet(f"{word}  "), text])
        for word, each in texts.items()
        for text in each
        if text
    ]
    if votes := item.get("votes"):
        said = ", ".join(f"{who} {short(label)}" for who, label in votes.items())
        blocks.append(Text(said, "quiet"))
    contexts: dict[str, list[Rich]] = {}
    for metric, one in wrong:
        why = "; ".join(one.get("reasons") or ())
        told: Rich = [Span.code(metric), f" {four(one['score'])} ", Span.quiet(why)]
        contexts.setdefault(one.get("context") or "", []).append(told)
    for context, metrics in contexts.items():
        blocks += [Text([Span.quiet("Context  "), context])] if context else []
        blocks.append(Bullets(metrics))
    has = "metric has" if len(wrong) == 1 else "metrics have"
    title: Rich = [
        key,
        Span.quiet(f" people say {short(item['label'])}; {len(wrong)} {has} it wrong"),
    ]
    values = {metric: round(one["score"], 4) for metric, one in wrong}
    tags = {**tags, "people say": short(item["label"])}
    return Entry(title, blocks, item["response"][:160], values, tags)
