"""How each number came about, and where runs that share a column differ in how they were made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from trueground.reports.leaderboard.board import Board, BoardColumn
from trueground.reports.leaderboard.names import few
from trueground.reports.leaderboard.papers import beside_published
from trueground.reports.leaderboard.runs import Run


@dataclass(frozen=True)
class RunFacts:
    """One run as its manifest tells it. `usd` and the tokens are None where they are not known."""

    run: str
    name: str
    task: str | None
    n: int
    options: dict[str, Any]
    params: dict[str, Any]
    prompts: list[tuple[str, str]]
    outcomes: dict[str, int]
    usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    limit: int | None
    repeats: int
    seed: int | None
    version: str
    metric: str | None
    signature: str | None


def run_facts(board: Board) -> list[RunFacts]:
    """Every run of the board once, in the order of the rows."""
    found = {}
    for entrant in board.entrants:
        for column in board.columns:
            run = entrant.runs.get(column.id)
            if run is not None and run.source is None and run.label not in found:
                found[run.label] = _facts(run, entrant.name, column)
    return list(found.values())


def _facts(run: Run, name: str, column: BoardColumn) -> RunFacts:
    manifest = run.manifest
    tokens = manifest.tokens if manifest.benchmark else None
    metric = manifest.benchmark.headline if manifest.benchmark else None
    return RunFacts(
        run=run.label,
        name=name,
        task=column.title if manifest.benchmark else None,
        n=run.summary.n,
        options=manifest.benchmark.options if manifest.benchmark else {},
        params=manifest.params,
        prompts=[(prompt.id, prompt.sha256) for prompt in manifest.prompts],
        outcomes=manifest.outcomes,
        usd=manifest.cost.usd if manifest.cost else None,
        tokens_in=tokens.input if tokens else None,
        tokens_out=tokens.output if tokens else None,
        tokens_cached=tokens.cached if tokens else None,
        limit=manifest.limit,
        repeats=manifest.repeats,
        seed=manifest.seed,
        version=manifest.trueground,
        metric=metric,
        signature=manifest.metrics.get(metric) if metric else None,
    )


def warnings(board: Board) -> list[str]:
    """Why some numbers of the page cannot simply be compared, in words."""
    found = []
    for column in board.columns:
        runs = [e.runs[column.id] for e in board.entrants if column.id in e.runs]
        ours = [run for run in runs if run.source is None]
        for what, value in _compared(column).items():
            found += _difference(column, ours, what, value)
    found += beside_published(board)
    found += _repeats(board)
    return found


def _compared(column: BoardColumn) -> dict[str, Callable[[Run], str]]:
    """What must be equal in a column → how to read it from a run."""

    def data(run: Run) -> str:
        return ", ".join(sorted((f.sha256 or "unknown")[:12] for f in run.manifest.input))

    def prompts(run: Run) -> str:
        return ", ".join(sorted(f"{p.id} {p.sha256[:12]}" for p in run.manifest.prompts))

    def signature(run: Run) -> str:
        return run.manifest.metrics.get(column.metric, "")

    def params(run: Run) -> str:
        return ", ".join(f"{name} {value}" for name, value in sorted(run.manifest.params.items()))

    def limit(run: Run) -> str:
        return "none" if run.manifest.limit is None else str(run.manifest.limit)

    def items(run: Run) -> str:
        return f"{run.summary.n:,}"

    def datasets(run: Run) -> str:
        average = run.average(column.metric)
        return str(average.values) if average else "none"

    if column.benchmark is None:  # each run has a file of answers of its own
        return {"metric signature": signature, "number of answers": items}

    def tokenizer(run: Run) -> str:
        # Each model's own tokens are one way to count, however many models there are.
        told = run.manifest.benchmark.options if run.manifest.benchmark else {}
        named = str(told.get("tokenizer", ""))
        return named if "characters" in named else "a tokenizer" * bool(named)

    return {
        "tokens by which the budget was counted": tokenizer,
        "data (sha256)": data,
        "prompt (sha256)": prompts,
        "metric signature": signature,
        "parameters": params,
        "limit": limit,
        "answers to each question": lambda run: str(run.manifest.repeats),
        "datasets averaged over": datasets,
    }


def _difference(
    column: BoardColumn, runs: list[Run], what: str, value: Callable[[Run], str]
) -> list[str]:
    groups: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        groups[value(run)].append(run.label)
    if len(groups) < 2:
        return []
    told = "; ".join(f"{text or 'none'} in {few(ls)}" for text, ls in sorted(groups.items()))
    return [f"{column.title}: the runs differ in {what}: {told}."]


def _repeats(board: Board) -> list[str]:
    """A model that was run more than once in a column: its rows, told apart by a number."""
    found = []
    for column in board.columns:
        runs: dict[tuple[str, str], list[str]] = defaultdict(list)
        for entrant in board.entrants:
            run = entrant.runs.get(column.id)
            if run is not None and run.source is None and run.manifest.model is not None:
                runs[(entrant.model, run.manifest.model.signature)].append(run.label)
        found += [
            f"{column.title}: {model} was run {len(labels)} times ({', '.join(labels)}); each run "
            "has its own row."
            for (model, _), labels in runs.items()
            if len(labels) > 1
        ]
    return found
