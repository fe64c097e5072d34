"""What a knowledge graph holds and answers, as blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from trueground.records import shorten
from trueground.reports import Block, Head, Row, Table, Text
from trueground.text import several
from trueground.wings.graphs.base import Entity, NamedEntity, Row as GraphRow
from trueground.wings.graphs.folder import GraphFile
from trueground.wings.graphs.linking import LinkedQuestion, LinkedQuestions, Retrieval

_MAX_ROWS = 1_000  # of a query that are laid out together
_MAX_CELL, _MAX_LINE = 60, 2_000  # characters


def _one_line(text: str, limit: int = _MAX_LINE) -> str:
    """Return the text on one line; line feeds and control characters are data, not layout."""
    return shorten(" ".join(text.split()), limit)


def show_loaded(folder: Path, state: GraphFile, notes: Sequence[str]) -> list[Block]:
    """Return where the graph is, what each file gave, and which files were skipped."""
    lines = [str(folder)]
    for source in state.sources:
        counts = [several(source.triples, "triple")]
        if source.entities:
            counts.append(several(source.entities, "entity", "entities"))
        name = _one_line(Path(source.path).name)
        lines.append(f"  {name} ({source.format}): {', '.join(counts)}")
        for reason, n in source.left_out.items():
            lines.append(f"    left out: {n:,} × {_one_line(reason)}")
        lines += [f"      {_one_line(place)}" for place in source.examples]
    names = several(state.names, "name")
    lines.append(f"{several(state.triples, 'triple')}, {names} in {state.lang!r}")
    lines += [_one_line(note) for note in notes]
    return [Text("\n".join(lines), "whole")]


def tabulate_rows(rows: Iterable[GraphRow]) -> Iterator[Block]:
    """Yield tables of what a query gave, as it comes; only the first one has a head."""
    rows = iter(rows)
    some = list(islice(rows, _MAX_ROWS))
    if not some:
        yield Text("nothing found")
        return
    columns = [Head(name) for name in some[0]]
    while some:
        cells = [[_one_line(text or "", _MAX_CELL) for text in row.values()] for row in some]
        yield Table(columns, [Row([*texts]) for texts in cells])
        columns = [Head("") for _ in columns]
        some = list(islice(rows, _MAX_ROWS))


def format_candidates(name: str, candidates: Sequence[NamedEntity]) -> str:
    """Return that a name has several entities, and which."""
    lines = [f"{name!r} names {len(candidates)} entities:"]
    for candidate in candidates:
        classes = f"  ({', '.join(candidate.types)})" if candidate.types else ""
        lines.append("  " + _one_line(f"{candidate.qid}  {candidate.text}{classes}"))
    return "\n".join(lines)


def show_entity(entity: Entity) -> list[Block]:
    """Return an entity, with a line for each value that it has."""
    aliases = f" (also {_one_line('; '.join(entity.aliases))})" if entity.aliases else ""
    lines = [f"{_one_line(entity.qid)}  {_one_line(entity.name)}{aliases}"]
    for name, values in entity.properties.items():
        for value in values:
            qid = f"  [{value.id}]" if value.id and value.id != value.text else ""
            lines.append(f"  {_one_line(name)}: {_one_line(value.text)}{qid}")
    return [Text("\n".join(lines), "whole")]


def show_links(links: LinkedQuestions, *, each: bool) -> list[Block]:
    """Return how many entities were found in questions, and how well; with `each`, all of them."""
    linked = links.linked
    lines: list[str] = []
    if each:
        for question in linked:
            lines += _format_question(question)
    n_entities = sum(len(question.found) for question in linked)
    n_some = sum(bool(question.found) for question in linked)
    entities = [entity for question in linked for entity in question.found]
    n_chosen = sum(entity.candidates > 1 for entity in entities)
    lines.append(
        f"{len(linked):,} questions, {n_entities:,} entities in {n_some:,} of them; "
        f"{n_chosen:,} chosen from several of that name"
    )
    blocks: list[Block] = [Text("\n".join(lines), "whole")]
    return blocks if links.retrieval is None else [*blocks, _tabulate_scores(links.retrieval)]


def _format_question(question: LinkedQuestion) -> Iterator[str]:
    yield _one_line(question.question)
    for entity in question.found:
        reasons = []
        if entity.matched:
            reasons.append(f"in the question: {', '.join(entity.matched)}")
        if entity.candidates > 1:
            reasons.append(f"best of {entity.candidates}")
        tail = f"  ({_one_line('; '.join(reasons))})" if reasons else ""
        yield f"  {_one_line(f'{entity.name}: {entity.qid} {entity.entity.name}')}{tail}"
    if question.unlinked:
        yield f"  without an entity: {_one_line(', '.join(question.unlinked))}"


def _tabulate_scores(scores: Retrieval) -> Table:
    caption = (
        f"against gold ids of {scores.questions:,} questions: {scores.correct:,} of "
        f"{scores.found:,} found are right, of {scores.gold:,} gold; just the gold ones in "
        f"{scores.exact:,} questions"
    )
    rows = []
    for name, values in (
        ("micro", (scores.precision, scores.recall, scores.f1)),
        ("macro", (scores.macro_precision, scores.macro_recall, scores.macro_f1)),
    ):
        rows.append(Row([name, *("none" if v is None else f"{v:.3f}" for v in values)]))
    columns = [Head("average"), *(Head(name, "number") for name in ("precision", "recall", "F1"))]
    return Table(columns, rows, caption)
