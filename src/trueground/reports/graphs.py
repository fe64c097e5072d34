"""What a knowledge graph holds and answers, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from trueground.records.problems import shorten

if TYPE_CHECKING:
    from trueground.graph.base import Entity, NamedEntity, Row
    from trueground.graph.embedded.file import GraphFile
    from trueground.graph.linking import LinkedQuestion, Retrieval
    from trueground.graph.linking.scores import LinkedQuestions

_AT_ONCE = 1_000  # rows whose columns are drawn together
_WIDEST, _LONGEST = 60, 2_000  # characters of a cell, of a line


def one_line(text: str, limit: int = _LONGEST) -> str:
    """Line feeds and signs that steer a terminal are data, not layout."""
    return shorten(" ".join(text.split()), limit)


def render_loaded(folder: Path, state: GraphFile) -> str:
    """Where the graph is, and what each file gave."""
    lines = [str(folder)]
    for source in state.sources:
        entities = f", {_counted(source.entities, 'entity', 'entities')}" if source.entities else ""
        triples = _counted(source.triples, "triple")
        lines.append(f"  {one_line(Path(source.path).name)} ({source.format}): {triples}{entities}")
        lines += [f"    left out: {n:,} × {one_line(why)}" for why, n in source.left_out.items()]
        lines += [f"      {one_line(place)}" for place in source.examples]
    names = _counted(state.names, "name")
    return "\n".join([*lines, f"{_counted(state.triples, 'triple')}, {names} in {state.lang!r}"])


def render_rows(rows: Iterable[Row]) -> Iterator[str]:
    """A table of what a query gave, in pieces as it comes."""
    rows = iter(rows)
    some = list(islice(rows, _AT_ONCE))
    if not some:
        yield "nothing found"
    head = [list(some[0])] if some else []
    while some:
        lines = [[one_line(text or "", _WIDEST) for text in row.values()] for row in some]
        yield _columns([*head, *lines])
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
    several = sum(entity.candidates > 1 for one in linked for entity in one.found)
    lines.append(
        f"{len(linked):,} questions, {entities:,} entities in {some:,} of them; "
        f"{several:,} chosen from several of that name"
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


def _counted(number: int, noun: str, several: str = "") -> str:
    """A number and what it counts."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (zip(row, widths, strict=True) for row in rows)
    return "\n".join("  ".join(c.ljust(w) for c, w in row).rstrip() for row in padded)
