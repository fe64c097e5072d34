"""What there is and what is found, as text for a terminal: parts, caches, data, hits, graphs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueground.records.problems import shorten
from trueground.reports.text import table
from trueground.text.wording import number, several, shown_name

if TYPE_CHECKING:
    from trueground.benchmarks.statistics import TaskStatistics
    from trueground.graph.base import Entity, NamedEntity, Row
    from trueground.graph.folder import GraphFile
    from trueground.graph.linking import LinkedQuestion, LinkedQuestions, Retrieval
    from trueground.net.cache_contents import CacheStats
    from trueground.retrieval.base import Hit
    from trueground.retrieval.evaluation import Evaluated
    from trueground.types import Passage


_AT_ONCE = 1_000  # rows whose columns are drawn together
_WIDEST, _LONGEST = 60, 2_000  # characters of a cell, of a line


def render_entry(entry: Mapping[str, Any], width: int) -> str:
    """One line for a part, its name padded to `width`, and one for each of its options."""
    needs = ", ".join(entry.get("needs", []))
    tail = f"  [needs {needs}]" if needs else ""
    tail += f"  [extra: {entry['extra']}]" if entry.get("extra") else ""
    tail += f"  [tasks {', '.join(entry['tasks'])}]" if entry.get("tasks") else ""
    if "fetched" in entry:
        command = f"trueground data fetch {entry['name']}" + " --from PATH" * entry["from_only"]
        tail += "  [fetched]" if entry["fetched"] else f"  [{command}]"
    lines = [f"  {entry['name']:{width}}  {entry['doc']}{tail}"]
    for name, option in entry.get("options", {}).items():
        allowed = "|".join(option["allowed"]) or "…"
        default = option["default"]  # None: left out, or what the other options make it
        tail = "" if default is None else f", default {default!r}"
        lines.append(f"  {'':{width}}    {name}={allowed}{tail}")
    return "\n".join(lines)


def render_cache(result: CacheStats, noun: str) -> str:
    """How much a file keeps, since when, and of which models."""
    lines = [f"{result.path}", f"{result.entries:,} {noun}, {result.bytes:,} bytes on disk"]
    if result.oldest and result.newest:
        lines.append(f"from {result.oldest:%Y-%m-%d %H:%M} to {result.newest:%Y-%m-%d %H:%M} UTC")
    names = [shown_name(m.model) for m in result.models]
    width = max(map(len, names), default=0)
    for name, m in zip(names, result.models, strict=True):
        tokens = f"  {m.tokens:,} tokens" if noun == "replies" else ""
        lines.append(f"  {name:{width}}  {m.entries:,} {noun}{tokens}")
    return "\n".join(lines)


# What numbers of questions are called.
_COUNTED = {
    "groups": "conversations or groups",
    "with_gold": "questions with gold passages",
    "question_words": "words of a question",
    "turns": "earlier turns of a question",
    "references": "references of a question",
    "reference_words": "words of a reference",
    "answer_words": "words of an answer (distinct answers)",
    "first_answer_words": "words of an answer (first reference)",
    "contexts": "contexts of a question",
    "context_words": "words of its contexts",
    "gold_facts": "gold facts of a question",
    "choices": "choices of a question",
    "graphs": "graphs of a question",
    "minimum_set_size": "pieces of its minimum set",
}


def render_statistics(counted: TaskStatistics) -> str:
    """One number a line, with the published one behind where there is one."""
    lines = [counted.name]
    for numbers, form in (
        (counted.counts, ",.0f"),
        (counted.means, ",.2f"),
        (counted.shares, ".1%"),
    ):
        for name, value in numbers.items():
            paper = counted.published.get(name)
            beside = "" if paper is None else f"   paper: {paper:{form}}"
            lines.append(f"  {_COUNTED.get(name, name):<38}{value:>10{form}}{beside}")
    return "\n".join(lines)


def render_hits(query: str | None, hits: Sequence[tuple[Hit, Passage]]) -> str:
    """One query's hits, best first; the query above them unless it is None."""
    lines = [] if query is None else [shorten(query, 90)]
    titles = [shorten(passage.title or "", 30) for _, passage in hits]
    width = max(map(len, titles), default=0)
    for rank, (title, (hit, passage)) in enumerate(zip(titles, hits, strict=True), 1):
        text = shorten(" ".join(passage.text.split()), 60)
        lines.append(f"{rank:4}  {hit.score:10.4f}  {title:{width}}  {text}")
    return "\n".join(lines if hits else [*lines, "nothing found"])


def render_evaluated(results: Mapping[str, Evaluated]) -> str:
    """A table for each retriever."""
    tables = []
    for name, one in results.items():
        rows = [("measure", "mean", "95% interval", "scored", "of")]
        for measure, mean in one.means.items():
            ends = f"{number(mean.ci[0])} … {number(mean.ci[1])}" if mean.ci else "–"
            rows.append((measure, number(mean.mean), ends, f"{mean.scored:,}", f"{mean.n:,}"))
        tables.append(f"{name}\n{table(rows)}")
    return "\n".join(tables)


# ---- what a knowledge graph holds and answers ----


def one_line(text: str, limit: int = _LONGEST) -> str:
    """Line feeds and signs that steer a terminal are data, not layout."""
    return shorten(" ".join(text.split()), limit)


def render_loaded(folder: Path, state: GraphFile) -> str:
    """Where the graph is, and what each file gave."""
    lines = [str(folder)]
    for source in state.sources:
        entities = f", {several(source.entities, 'entity', 'entities')}" if source.entities else ""
        triples = several(source.triples, "triple")
        lines.append(f"  {one_line(Path(source.path).name)} ({source.format}): {triples}{entities}")
        lines += [f"    left out: {n:,} × {one_line(why)}" for why, n in source.left_out.items()]
        lines += [f"      {one_line(place)}" for place in source.examples]
    names = several(state.names, "name")
    return "\n".join([*lines, f"{several(state.triples, 'triple')}, {names} in {state.lang!r}"])


def render_rows(rows: Iterable[Row]) -> Iterator[str]:
    """A table of what a query gave, in pieces as it comes."""
    rows = iter(rows)
    some = list(islice(rows, _AT_ONCE))
    if not some:
        yield "nothing found"
    head = [list(some[0])] if some else []
    while some:
        lines = [[one_line(text or "", _WIDEST) for text in row.values()] for row in some]
        yield aligned([*head, *lines])
        head, some = [], list(islice(rows, _AT_ONCE))


def render_candidates(name: str, candidates: Sequence[NamedEntity]) -> str:
    """That a name has several entities, and which."""
    lines = [f"{name!r} names {len(candidates)} entities:"]
    for one in candidates:
        classes = f"  ({', '.join(one.types)})" if one.types else ""
        lines.append("  " + one_line(f"{one.qid}  {one.text}{classes}"))
    return "\n".join(lines)


def render_entity(entity: Entity) -> str:
    """An entity, and a line for each value that it has."""
    aliases = f" (also {one_line('; '.join(entity.aliases))})" if entity.aliases else ""
    lines = [f"{one_line(entity.qid)}  {one_line(entity.name)}{aliases}"]
    for name, values in entity.properties.items():
        for value in values:
            known = f"  [{value.id}]" if value.id and value.id != value.text else ""
            lines.append(f"  {one_line(name)}: {one_line(value.text)}{known}")
    return "\n".join(lines)


def render_links(found: LinkedQuestions, *, each: bool) -> str:
    """How many entities were found in the questions, and how well; with `each`, all of them."""
    linked = found.linked
    lines = [line for one in linked if each for line in _linked(one)]
    entities = sum(len(one.found) for one in linked)
    some = sum(bool(one.found) for one in linked)
    chosen = sum(entity.candidates > 1 for one in linked for entity in one.found)
    lines.append(
        f"{len(linked):,} questions, {entities:,} entities in {some:,} of them; "
        f"{chosen:,} chosen from several of that name"
    )
    return "\n".join(lines + ([] if found.retrieval is None else _scores(found.retrieval)))


def _linked(one: LinkedQuestion) -> Iterator[str]:
    yield one_line(one.question)
    for found in one.found:
        why = [f"in the question: {', '.join(found.matched)}"] if found.matched else []
        why += [f"best of {found.candidates}"] if found.candidates > 1 else []
        reasons = f"  ({one_line('; '.join(why))})" if why else ""
        yield f"  {one_line(f'{found.name}: {found.qid} {found.entity.name}')}{reasons}"
    if one.unlinked:
        yield f"  without an entity: {one_line(', '.join(one.unlinked))}"


def _scores(scores: Retrieval) -> list[str]:
    lines = [
        f"against gold ids of {scores.questions:,} questions: {scores.correct:,} of "
        f"{scores.found:,} found are right, of {scores.gold:,} gold; just the gold ones in "
        f"{scores.exact:,} questions",
        f"  {'':7}{'precision':>10}{'recall':>10}{'F1':>10}",
    ]
    for name, values in (
        ("micro", (scores.precision, scores.recall, scores.f1)),
        ("macro", (scores.macro_precision, scores.macro_recall, scores.macro_f1)),
    ):
        shown = "".join(f"{'none' if v is None else f'{v:.3f}':>10}" for v in values)
        lines.append(f"  {name:7}{shown}")
    return lines


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(c.ljust(w) for c, w in row).rstrip() for row in padded)


# ---- several runs ----


Finished = tuple[str, Mapping[str, Any], Mapping[str, Any], Path]


def render_runs(runs: Sequence[Finished]) -> str:
    """One line for each of several runs, with the score by which models are ranked.

    A run is what its task is called here, its summary, its manifest, and where it lies.
    """
    from trueground.reports.sentences import DATASET, REPEAT, notices
    from trueground.reports.terminal import format_spread
    from trueground.runs.directory import REPORT

    repeated = any(s["averages"].get(REPEAT) for _, s, _, _ in runs)
    rows: list[tuple[str, ...]] = []
    for label, summary, manifest, _ in runs:
        key, averages = manifest["benchmark"]["headline"], summary["averages"]
        # the average over datasets where there is one
        entry = averages.get(DATASET, {}).get(key) or summary["metrics"][key]
        over, ci = averages.get(REPEAT, {}).get(key), entry["ci"]
        rows.append(
            (
                shown_name(manifest["model"]["name"]),
                shown_name(label),
                number(entry["mean"]),
                f"{number(ci[0])} … {number(ci[1])}" if ci else "–",
                *((format_spread(over) if over else "–",) * repeated),
                f"{summary['metrics'][key]['scored']:,}",
                f"{summary['n']:,}",
                key,
            )
        )
    told = ("± sd over repeats",) * repeated
    head = ("model", "task", "score", "95% interval", *told, "scored", "of", "metric")
    noted = dict.fromkeys(notice for _, _, manifest, _ in runs for notice in notices(manifest))
    notes = "".join(f"\nnote: {notice}" for notice in noted)
    pages = "\n".join(f"page   {path / REPORT}" for *_, path in runs)
    return f"{_second_to_the_left([head, *rows])}{notes}\n\n{pages}"


def _second_to_the_left(rows: Sequence[Sequence[str]]) -> str:
    """A table of which the second column has names, too."""
    width = max(len(row[1]) for row in rows)
    return table([(row[0], row[1].ljust(width), *row[2:]) for row in rows])


def render_estimates(rows: Sequence[tuple[str, str, Mapping[str, Any]]]) -> str:
    """What runs would cost: one line each, and the sum."""
    head = ("model", "task", "items", "answered", "cached", "calls", "tokens in", "out", "USD", "")
    lines: list[tuple[str, ...]] = [head]
    for model, task, e in rows:
        counts = [e[k] for k in ("items", "answered", "cached", "calls", "tokens_in", "tokens_out")]
        usd = "–" if e["usd"] is None else f"{e['usd']:,.4f}"
        lines.append((shown_name(model), shown_name(task), *(f"{c:,}" for c in counts), usd, ""))
    tail = []
    if rows[0][2]["usd"] is not None:
        dollars = math.fsum(e["usd"] or 0.0 for _, _, e in rows)
        tail.append(f"{dollars:,.4f} US dollars in all")
    bounded = all(e["bounded"] for _, _, e in rows)
    tail.append(
        "estimates: 4 characters a token in; out "
        + ("at most, as --max-tokens allows" if bounded else "64 a call, since no --max-tokens")
    )
    if any(e["judged"] for _, _, e in rows):
        tail.append("without the calls of judges, decomposer and rater: they depend on the answers")
    return "\n".join([_second_to_the_left(lines), "", *tail, "nothing was called, nothing written"])


# ---- a build: the funnel of its stages, and what a dry run expects ----


def render_built(
    summary: Mapping[str, Any],
    path: Path,
    spent: Mapping[str, Mapping[str, Any]],
    usd: Mapping[str, float],
) -> str:
    """How many items each stage kept, why the others fell, what it cost, and what to do next.

    `spent` and `usd` are by role; without a price a role's cost is left out.
    """
    left_out = f" (the limit left out {several(n, 'row')})" if (n := summary["left_out"]) else ""
    lines = [f"build {summary['builder']}: {several(summary['n'], 'item')}{left_out}", ""]
    wide = max((len(stage["name"]) for stage in summary["stages"]), default=0)
    for stage in summary["stages"]:
        lines.append(f"{stage['name']:{wide}}  {stage['in']:>7,} → {stage['out']:>7,}")
        lines += [
            f"{'':{wide}}    {one['n']:>7,} {one['reason']}: {one['words']}"
            for one in stage["reasons"]
        ]
    lines += [f"note: {notice}" for notice in summary["notices"]]
    lines += ["", *(_spent(role, one, usd.get(role)) for role, one in spent.items())]
    lines += ["", f"out    {path}"]
    if summary["n"]:
        dataset = shlex.quote(str(path / "dataset"))
        lines.append(f"next   {summary['run'].replace('{dataset}', dataset)}")
    return "\n".join(lines)


def _spent(role: str, one: Mapping[str, Any], usd: float | None) -> str:
    cost = "" if usd is None else f", ${usd:,.4f}"
    return (
        f"{role}  {one['name']}: {several(one['calls'], 'call')}, "
        f"{one['cache_hits']:,} from the cache; "
        f"{one['tokens_in']:,} tokens in, {one['tokens_out']:,} out{cost}"
    )


def render_estimated(found: Mapping[str, Any]) -> str:
    """The calls of each stage and role, and their sum."""
    done = several(found["done"], "outcome")
    lines = [f"{several(found['items'], 'source item')}; there already: {done}"]
    for one in found["stages"]:
        usd = "" if one["usd"] is None else f"  ${one['usd']:,.4f}"
        lines.append(
            f"{one['stage']}  {one['role']} {one['model']}: {several(one['calls'], 'call')}, "
            f"about {one['tokens_in']:,} tokens in, {one['tokens_out']:,} out{usd}"
        )
    calls = sum(one["calls"] for one in found["stages"])
    lines.append(f"together {several(calls, 'call')} at most, if no item falls on the way")
    if known := [one["usd"] for one in found["stages"] if one["usd"] is not None]:
        lines.append(f"about ${math.fsum(known):,.4f}")
    return "\n".join(lines)
