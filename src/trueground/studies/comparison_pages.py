"""A comparison of runs as a page: what can be said, the differences, what changed, statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, Literal

from trueground.files import OutputPath
from trueground.metrics import AnswerVerdict
from trueground.records import shorten
from trueground.reports import (
    Block,
    Bullets,
    Entries,
    Entry,
    Fold,
    Grid,
    Head,
    Menu,
    Only,
    Page,
    Part,
    Rich,
    Row,
    Span,
    Table,
    Text,
)
from trueground.runs import RunFiles
from trueground.studies.comparison_words import (
    OTHERS,
    changed_most,
    compare_shares,
    corrected_differences,
    count_items,
    find_differences,
    group_findings,
    notes,
    notices,
    scored_once,
    tabulate_differences,
    tabulate_shares,
    tabulate_statistics,
)
from trueground.text import percent, several

COMPARISON_MARK = "trueground-comparison-1"
_MAX_WORD_PAIRS = 250_000  # that a diff compares: 500 words in each answer
_MAX_CHANGES = 3  # items that got better, and as many that got worse, without --all
_MAX_TEXT, _BEFORE_CHANGE = 140, 40  # characters of a text; before the first difference
_MIN_COMMON_SHARE = 0.2  # Answers with fewer words in common aren't edits of each other.


def write_comparison(path: Path, comparison: Mapping[str, Any]) -> None:
    """Write the page of what `RunComparison.as_dict` gives, and its folder. Raises WriteError."""
    OutputPath(path).make_parent()
    comparison_page(comparison, path.parent).write(path)


def comparison_page(
    comparison: Mapping[str, Any],
    folder: Path | None = None,
    places: Sequence[str] | None = None,
    *,
    shows_all: bool = False,
) -> Page:
    """Return what `RunComparison.as_dict` gives: what can be said, differences, what changed.

    Args:
        comparison: The comparison.
        folder: Where the page is; its links to the runs are relative. None: There are no links.
        places: What leads to each run, if its path doesn't.
        shows_all: Whether texts have all statistics and all items, too.
    """
    starts: dict[str, str | None] = {}
    for run in comparison["runs"]:
        files = RunFiles(Path(run["path"]))
        starts[run["label"]] = None if folder is None else files.link_from(folder)
    if places is not None:
        starts = dict(zip(starts, places, strict=True))
    pairs = comparison["pairs"]
    has_several = len(pairs) > 1
    blocks: list[Block] = []
    for k, pair in enumerate(pairs, start=1):
        of_pair = _pair(pair, comparison, starts, shows_all=shows_all)
        if has_several:
            lead = Only("page", [Text(_lead(pair), "quiet")])
            blocks.append(Part(_against(pair), [lead, *of_pair], f"pair-{k}"))
        else:
            blocks += of_pair
    rows = []
    for run in comparison["runs"]:
        start = starts[run["label"]]
        file = RunFiles(Path(run["path"])).page
        page = start + file.name if start and file.exists() else None
        values = map(run.get, ("path", "task", "model", "n"))
        rows.append(Row([[Span.link(run["label"], page)], *values]))
    columns = [Head("run"), Head("directory", "code"), Head("task"), Head("model")]
    table = Table([*columns, Head("items", "number")], rows)
    reading = Fold("How to read this", [Bullets(list(_how_to_read(comparison)))])
    blocks.append(Only("page", [Part("Runs", [table], "runs"), reading]))
    blocks.append(Only("text", [_list_runs(comparison)]))
    return Page(
        "comparison",
        COMPARISON_MARK,
        f"Comparison of {len(rows)} runs" if has_several else _against(pairs[0]),
        blocks,
        lead="" if has_several else _lead(pairs[0]),
        notices=notices(comparison),
    )


def _list_runs(comparison: Mapping[str, Any]) -> Text:
    lines = []
    for run in comparison["runs"]:
        facts = [several(run["n"], "item"), run["task"], run["model"]]
        lines.append(f"{run['label']}  {run['path']} ({', '.join(filter(None, facts))})")
    return Text("\n".join(lines), "whole")


def _against(pair: Mapping[str, Any]) -> str:
    return f"{pair['b']} against {pair['a']}"


def _lead(pair: Mapping[str, Any]) -> str:
    return f"{count_items(pair)}. Differences are {pair['b']} − {pair['a']}."


def _pair(
    pair: Mapping[str, Any],
    comparison: Mapping[str, Any],
    starts: Mapping[str, str | None],
    *,
    shows_all: bool,
) -> list[Block]:
    groups = group_findings(find_differences(pair, comparison["alpha"]))
    in_order: list[str] = []
    for _, findings in groups:
        in_order += [finding.metric for finding in findings]
    names = changed_most(pair, in_order)
    changed = [(name, _changes(pair, name, starts)) for name in names]
    blocks: list[Block] = []
    tables = [("Means and differences", tabulate_differences(pair, comparison["level"]))]
    if shares := compare_shares(pair):
        blocks.append(Only("page", [Text(shares, "lead")]))
        blocks.append(Only("text", [Text([*shares, f"\n  {_list_shares(pair)}"])]))
        tables.insert(0, ("Shares of the verdicts", tabulate_shares(pair, comparison["level"])))
    blocks.append(Only("text", [Text(_lead(pair))]))
    blocks += [Text(sentence, "lead") for sentence in corrected_differences(pair)]
    for question, findings in groups:
        sentences = Bullets([finding.words for finding in findings])
        title: Rich = question if question == OTHERS else [Span.strong(question)]
        fold = Fold(title, [sentences])
        heading: list[Block] = [Text(title)] if question else []
        if question == OTHERS:
            blocks.append(fold)
        else:
            blocks += [Only("page", [*heading, sentences]), Only("text", [fold])]
    blocks += [Text(note, "note") for note in notes(pair)]
    if changed:
        blocks.append(Only("page", [Part("Items that changed most", [Menu("On", changed)])]))
        blocks.append(Only("text", [*_list_changes(pair, names, comparison, shows_all=shows_all)]))
    tables += tabulate_statistics(pair, comparison)
    statistics: list[Block] = [Fold(title, [table]) for title, table in tables]
    blocks += statistics if shows_all else [Only("page", statistics)]
    if once := scored_once(pair):
        blocks.append(Fold("Items that only one run has scored", [Bullets([*once])]))
    return blocks


def _list_shares(pair: Mapping[str, Any]) -> str:
    """Return the shares of the other verdicts in both runs, on one line."""
    shares = []
    for name, verdict in pair["verdicts"].items():
        is_empty = name == "unscored" and not verdict["mean_a"] and not verdict["mean_b"]
        if name != "grounded" and not is_empty:
            label = AnswerVerdict.LABELS[name]
            shares.append(f"{label} {percent(verdict['mean_a'])} → {percent(verdict['mean_b'])}")
    return ", ".join(shares)


def _list_changes(
    pair: Mapping[str, Any],
    names: Sequence[str],
    comparison: Mapping[str, Any],
    *,
    shows_all: bool,
) -> Iterator[Block]:
    """Yield the items that changed most on the first metric; all of every binary one if asked."""
    paths = {run["label"]: run["path"] for run in comparison["runs"]}
    for i, name in enumerate(names):
        metric = pair["metrics"][name]
        is_binary = metric["result"]["mcnemar"] is not None
        if i and not (shows_all and is_binary):
            continue
        for word, total, changes in (
            ("worse", metric["lost"], metric["changes_lost"]),
            ("better", metric["won"], metric["changes_won"]),
        ):
            listed = changes if shows_all else changes[:_MAX_CHANGES]
            if listed:
                some = f"; the {len(listed):,} that changed most" if len(listed) < total else ""
                title = f"{name}: {total:,} {word} in {pair['b']}{some}"
                lines: list[str] = []
                for change in listed:
                    lines += _format_change(change, pair, paths if shows_all else {})
                yield Part(title, [Text("\n".join(lines))])


def _format_change(
    change: Mapping[str, Any], pair: Mapping[str, Any], paths: Mapping[str, str]
) -> Iterator[str]:
    """Yield an item with both answers; long ones from a little before their first difference."""
    a, b = pair["a"], pair["b"]
    answers = [change["response_a"], change["response_b"]]
    if None not in answers:
        answers = [" ".join(answer.split()) for answer in answers]
        n_same = _count_same(*answers)
        if n_same > _MAX_TEXT - _BEFORE_CHANGE:
            answers = [f"… {answer[n_same - _BEFORE_CHANGE :]}" for answer in answers]
    texts = [("?", change["question"]), (a, answers[0]), (b, answers[1])]
    if answers[0] == answers[1]:
        texts[1:] = [("both", answers[0])]
    yield f"  {shorten(change['id'])}  {change['score_a']:.4g} → {change['score_b']:.4g}"
    wide = max(len(label) for label, _ in texts)
    for label, text in texts:
        if text is not None:
            yield f"    {label:<{wide}}  {shorten(' '.join(text.split()), _MAX_TEXT)}"
    for label, link_to in ((a, change["link_a"]), (b, change["link_b"])):
        if label in paths and link_to:
            yield f"    →  {paths[label]}/{link_to}"


def _changes(pair: Mapping[str, Any], name: str, starts: Mapping[str, str | None]) -> list[Block]:
    """Return the items that changed most on a metric, with both answers."""
    metric, a, b = pair["metrics"][name], pair["a"], pair["b"]
    entries = []
    for word in ("lost", "won"):
        for change in metric[f"changes_{word}"]:
            answers = [_answers(change, (a, b), starts)]
            values = {a: change["score_a"], b: change["score_b"]}
            values["change"] = change["score_b"] - change["score_a"]
            tags = {"now": "worse" if word == "lost" else "better"}
            title = change["id"] if change["question"] is None else change["question"]
            note = None if change["question"] is None else change["id"]
            entries.append(Entry(title, answers, note, values, tags, open=True))
    counts = []
    for word, key in (("worse", "lost"), ("better", "won")):
        total, n_listed = metric[key], len(metric[f"changes_{key}"])
        if total or n_listed:
            listed = f", {n_listed:,} listed" if n_listed < total else ""
            counts.append(f"{total:,} {word} in {b}{listed}")
    return [Text("; ".join(counts) + ".", "quiet"), Entries(entries)]


def _answers(
    change: Mapping[str, Any], labels: tuple[str, str], starts: Mapping[str, str | None]
) -> Block:
    """Return each answer under a link to it in its run, or the answer once if both are equal."""
    old, new = change["response_a"], change["response_b"]
    heads = []
    for label, to in zip(labels, (change["link_a"], change["link_b"]), strict=True):
        start = starts[label]
        heads.append(Span.link(label, start + to) if to and start else Span.strong(label))
    if old is None or new is None:
        return Text([heads[0], " · ", heads[1], Span.quiet(" not both texts were kept")])
    if old == new:
        return Text([heads[0], " · ", heads[1], Span.quiet(" (the same answer)"), "\n", new])
    marked = zip(heads, mark_changes(old, new), strict=True)
    texts = ([head, "\n", *([text] if isinstance(text, str) else text)] for head, text in marked)
    return Grid([Text(text) for text in texts], least=26)


@lru_cache(1_000)
def mark_changes(old: str, new: str) -> tuple[Rich, Rich]:
    """Return both texts with words that only one has in the styles `removed` and `added`.

    If nearly all words differ, none is marked. Between equal starts and ends of long texts, all
    words count as changed, because a diff of them would take too long.
    """
    texts = [re.findall(r"\S+\s*|\s+", text) for text in (old, new)]
    a, b = (list(map(str.strip, tokens)) for tokens in texts)
    start = _count_same(a, b)
    end = _count_same(a[start:][::-1], b[start:][::-1])
    inner_a, inner_b = a[start : len(a) - end], b[start : len(b) - end]
    kept_a = [k < start or k >= len(a) - end for k in range(len(a))]
    kept_b = [k < start or k >= len(b) - end for k in range(len(b))]
    if len(inner_a) * len(inner_b) <= _MAX_WORD_PAIRS:
        for i, j, size in SequenceMatcher(None, inner_a, inner_b).get_matching_blocks():
            kept_a[start + i : start + i + size] = [True] * size
            kept_b[start + j : start + j + size] = [True] * size
    if sum(kept_a) < _MIN_COMMON_SHARE * max(len(a), len(b)):
        return old, new
    return _styled(texts[0], kept_a, "removed"), _styled(texts[1], kept_b, "added")


def _count_same(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many words are the same from the start on."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _styled(
    tokens: Sequence[str], kept: Sequence[bool], style: Literal["added", "removed"]
) -> list[str | Span]:
    runs = groupby(zip(tokens, kept, strict=True), key=lambda pair: pair[1])
    spans: list[str | Span] = []
    for same, run in runs:
        text = "".join(word for word, _ in run)
        spans.append(text if same else Span(text, style))
    return spans


def _how_to_read(comparison: Mapping[str, Any]) -> Iterator[Rich]:
    patterns = 0
    for pair in comparison["pairs"]:
        for metric in pair["metrics"].values():
            if metric["result"]["test"] == "sign-flip":
                patterns = max(patterns, metric["result"]["patterns"] or 0)
    yield (
        "A run is better if the interval of the difference excludes 0 and Holm's p is at most "
        f"{comparison['alpha']:.3g}. It may be better if only the interval excludes 0."
    )
    yield (
        f"Intervals: percentile bootstrap ({100 * comparison['level']:.4g} %, "
        f"{comparison['resamples']:,} resamples, seed {comparison['seed']})."
    )
    if patterns:
        yield f"Sign-flip tests that are not exact: {patterns:,} random patterns of signs."
    yield "Tests, effect sizes and planning: docs/compare.md."
