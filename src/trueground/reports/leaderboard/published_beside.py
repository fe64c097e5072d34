"""Why a paper's numbers cannot simply be set beside the runs in the same column, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from trueground.plugins import bare_name
from trueground.reports.leaderboard.board import Board, BoardColumn
from trueground.reports.leaderboard.runs import Run
from trueground.reports.leaderboard.short import few


@dataclass(frozen=True)
class PaperJudge:
    """Which model gave a paper's verdicts or ratings; `measures` are names of metrics.

    `part` is what the manifest calls its like, `words` what the page calls the numbers.
    """

    benchmark: str
    measures: tuple[str, ...]
    part: str
    model: str
    words: str


# Lee et al. 2024, section 3.3: the cross-encoder. KaLMA, sections 4.1 (ratings) and 4.3 (TRUE).
PAPER_JUDGES = (
    PaperJudge(
        "truly-ground",
        ("grounding_precision", "grounding_recall", "grounding_f1", "context_entails"),
        "judge", "ms-marco-MiniLM-L-12-v2", "numbers were judged",
    ),
    PaperJudge(
        "kalma", ("alignment",), "judge", "t5_xxl_true_nli_mixture", "alignment was judged",
    ),
    PaperJudge(
        "kalma", ("coherence", "consistency", "fluency", "relevance"), "rater",
        "text-davinci-003", "texts were rated",
    ),
)  # fmt: skip


def beside_published(board: Board) -> list[str]:
    """Runs over a part of the task, and verdicts or ratings of other models than the papers'."""
    found = _limited(board)
    for paper in PAPER_JUDGES:
        found += _other_judges(board, paper)
    return found + _other_code(board)


def _columns(board: Board) -> Iterator[tuple[BoardColumn, list[Run], list[Run]]]:
    """Each column that has published numbers, with the runs in it and those of the papers."""
    for column in board.columns:
        runs = [e.runs[column.id] for e in board.entrants if column.id in e.runs]
        papers = [run for run in runs if run.source is not None]
        if papers and len(papers) < len(runs):
            yield column, [run for run in runs if run.source is None], papers


def _limited(board: Board) -> list[str]:
    """Runs over a part of the questions, beside published numbers."""
    titles, cut = [], []
    for column, ours, _ in _columns(board):
        if own := [run.label for run in ours if run.manifest.limit is not None]:
            titles.append(column.title)
            cut += own
    if not cut:
        return []
    return [
        f"{few(titles)}: {few(cut)} ran with a limit; the published numbers are over the whole "
        "task."
    ]


def _other_code(board: Board) -> list[str]:
    """Truly-Ground's numbers are those of the paper's code, which cuts texts for the judge."""
    titles = [
        column.title
        for column, *_ in _columns(board)
        if column.metric.startswith("grounding_") and "variant=reference-code" not in column.metric
    ]
    if not titles:
        return []
    return [
        f"{few(titles)}: the published numbers are over all questions by the paper's own code, the "
        "runs are not. For numbers made in its way: trueground run truly-ground --preset paper."
    ]


def _other_judges(board: Board, paper: PaperJudge) -> list[str]:
    """Published verdicts and ratings come from one model, ours often from another."""
    titles = []
    others: dict[str, list[str]] = defaultdict(list)
    for column, ours, papers in _columns(board):
        if column.benchmark != paper.benchmark or not any(_has(paper, run) for run in papers):
            continue
        own = [run for run in ours if _has(paper, run)]
        strange = [run for run in own if paper.model not in _signature(paper, run)]
        titles += [column.title] * bool(strange)
        for run in strange:
            who = run.manifest.judge if paper.part == "judge" else run.manifest.rater
            others[who.name if who else f"no {paper.part} that the manifest names"].append(
                run.label
            )
    if not others:
        return []
    told = "; ".join(f"{few(labels)} by {name}" for name, labels in sorted(others.items()))
    return [
        f"{few(titles)}: the published {paper.words} by {paper.model}, the runs otherwise: "
        f"{told}. Two {paper.part}s are two scales."
    ]


def _has(paper: PaperJudge, run: Run) -> bool:
    return any(
        bare_name(key).removesuffix("_micro") in paper.measures for key in run.summary.metrics
    )


def _signature(paper: PaperJudge, run: Run) -> str:
    who = run.manifest.judge if paper.part == "judge" else run.manifest.rater
    return who.signature if who else ""
