"""A leaderboard as JSON has it (`studies.leaderboard`) → leaderboard.html."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from trueground.reports import (
    Axis,
    Block,
    Bullets,
    Cell,
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
from trueground.studies.leaderboard.study_blocks import (
    LEAST,
    SIZES,
    Json,
    apart_words,
    coefficients,
    estimate,
    estimates,
    fewer_items,
    model_cell,
    model_row,
    points,
    study_sections,
)
from trueground.studies.prompts_page import prompts_section
from trueground.studies.wording import join_alike
from trueground.text import REFUSAL_RULES, few, several
from trueground.types import Status

LEADERBOARD_MARK = "trueground-leaderboard-1"
_MAX_OPEN_WARNINGS = 2  # More warnings are folded.


def leaderboard_page(
    board: Json, prompts: Sequence[Json] = (), hrefs: Mapping[str, str] | None = None
) -> Page:
    """The page as blocks. `hrefs` lead to the pages of runs, by the runs' labels."""
    hrefs = hrefs or {}
    rows = []
    for row in board["rows"]:  # each leads to its run, where it has one run alone
        runs = {cell["run"] for cell in row["cells"].values()} - {None}
        rows.append({**row, "href": hrefs.get(runs.pop()) if len(runs) == 1 else None})
    board = {**board, "rows": rows}
    scores = _scores(board)
    sections = [*_sizes(board), *study_sections(board["studies"])]
    sections += _paper_ranks(board)
    sections += _splits(board, "datasets", "Dataset by dataset", "Average")
    sections += _splits(board, "factors", "By factor", "All")
    sections += [_outside(board["outside"])] if board["outside"] else []
    sections += [_runs(board, hrefs), _notes(board)]
    of_prompts = [prompts_section(study, k) for k, study in enumerate(prompts, 1)]
    for section in (*sections, *of_prompts):
        section.fold = True
    short = [table for table in board["studies"] if table["short"] is not None]
    warnings: list[Block] = []
    if board["warnings"]:
        summary = "Not everything here can simply be compared."
        listed: Block = Bullets(list(board["warnings"]))
        is_long = len(board["warnings"]) > _MAX_OPEN_WARNINGS
        warnings = [
            Text([Span.strong(summary)], "warning"),
            Fold("Why", [listed]) if is_long else listed,
        ]
    return Page(
        kind="leaderboard",
        mark=LEADERBOARD_MARK,
        title="Leaderboard",
        lead=_lead(board),
        notices=[f"{notice} ({few(labels)})" for notice, labels in board["notices"].items()],
        blocks=[
            Only("page", warnings),
            scores,
            *of_prompts,
            Only("page", [*sections]),
            Only("text", [*study_sections(short)]),
        ],
    )


def _lead(board: Json) -> Rich:
    tasks = {
        column["id"]: column["benchmark"] for column in board["columns"] if column["benchmark"]
    }
    # Scoring runs do not say whose answers they read.
    models = {
        row["model"]
        for row in board["rows"]
        if not row["source"] and tasks.keys() & row["cells"].keys()
    }
    spans: list[str | Span] = [several(len(board["runs"]), "run")]
    if tasks:
        spans += [f" of {several(len(models), 'model')} on "]
        spans += [Span.strong(", ".join(sorted(set(tasks.values()))))]
    if sources := _sources(board):
        spans.append(f", among the published numbers of {'; '.join(sources)}")
    return [*spans, "."]


def _sources(board: Json) -> list[str]:
    return sorted({row["source"] for row in board["rows"] if row["source"]})


# ---- the table of all ----


def _scores(board: Json) -> Part:
    columns, title = [Head("Model")], {column["id"]: column["title"] for column in board["columns"]}
    reasons: list[Rich] = []
    for column in board["columns"]:
        column_cells = (row["cells"].get(column["id"]) for row in board["rows"])
        cells = [cell for cell in column_cells if cell]
        columns.append(estimates(_column_label(column, cells), cells, column["higher_is_better"]))
    rows = []
    for row in board["rows"]:
        scores = [_score(row, column) for column in board["columns"]]
        rows.append(model_row(row, scores, apart_words(row, title)))
        unscored = []
        for column in board["columns"]:
            cell = row["cells"].get(column["id"])
            counts = _list_unscored(cell, column) if cell else []
            if counts:
                unscored.append((f"{row['name']}: {', '.join(counts)}", column["title"]))
        reasons += [f"{text}: {names}" for text, names in join_alike(unscored)]
    all_cells = [cell for row in board["rows"] for cell in row["cells"].values()]
    notes_on_means = [
        "Mean, interval, and how many answers were scored; the best of each column is bold."
    ]
    if any(cell["averaged_over"] for cell in all_cells):
        notes_on_means.append("Averages over datasets are unweighted.")
    if any(row["apart"] for row in board["rows"]):
        notes_on_means.append("Grey rows are over other data or other items and are not ranked.")
    fewer = fewer_items(board)
    table = Table(columns, rows, sortable=True, intervals=True)
    notes: list[Block] = [Text(" ".join([*notes_on_means, *fewer]), "quiet")]
    blocks: list[Block] = []
    if reasons:
        blocks.append(Fold("Answers without a score", [Bullets(reasons)]))
    if sources := _sources(board):
        # One cell may come from several tables.
        tables: set[str] = set()
        for cell in all_cells:
            tables.update(filter(None, (cell["place"] or "").split("; ")))
        blocks.append(
            Text(f"Rows marked “published” are printed numbers: {'; '.join(sources)} "
                 f"({'; '.join(sorted(tables))}). They have no interval.", "quiet")
        )  # fmt: skip
    all_blocks: list[Block] = [table, Only("page", [*notes, *blocks])]
    all_blocks.append(Only("text", [Text(note) for note in fewer]))
    return Part("Scores", all_blocks, id="board")


def _column_label(column: Json, cells: Sequence[Json]) -> Rich:
    label: list[str | Span] = [column["title"]]
    if column["metric"] != column["title"]:
        label += [" ", Span.code(column["metric"])]
    if column["higher_is_better"] is False:
        label.append(Span.quiet(" lower is better"))
    # Mostly one number of datasets.
    if over := " or ".join(map(str, sorted({cell["averaged_over"] or 0 for cell in cells} - {0}))):
        label.append(Span.quiet(f" average of {over} datasets"))
    return label


def _score(row: Json, column: Json) -> Cell:
    cell = row["cells"].get(column["id"])
    if cell is None:
        return [Span.quiet("–" if row["source"] else "not run")]
    value = estimate(cell)
    if value is not None and cell["scored"] is not None and cell["scored"] == cell["n"]:
        more = f"{cell['scored']:,} scored"
        value.note = f"{value.note}; {more}" if value.note else more
    return value


def _list_unscored(cell: Json, column: Json) -> list[str]:
    description_of = {status.value: status.description for status in Status}
    if column["benchmark"]:
        description_of[Status.TOO_LONG.value] = "too long for the model"
    counts = cell["unscored"].items()
    return [f"{count:,}: {description_of.get(status, status)}" for status, count in counts]


# ---- further sections ----


def _sizes(board: Json) -> list[Part]:
    charts: list[Block] = []
    for column in board["columns"] if len(board["columns"]) <= 12 else ():
        dots = [
            (row, row["facts"]["size"], cell)
            for row in board["rows"]
            if row["facts"] and row["facts"]["size"] and (cell := row["cells"].get(column["id"]))
            if cell["mean"] is not None
        ]
        charts += points([f"{column['title']} ", Span.code(column["metric"])], SIZES, Axis(), dots)
    if not any(row["facts"] for row in board["rows"]):
        return []
    head = [Head("Model"), Head("Size", "number", note="billions of parameters", digits=1)]
    head += map(Head, ("Family", "Organization", "Base", "Training", "Weights"))
    order = sorted(
        board["rows"],
        key=lambda row: ((row["facts"]["size"] or 1e9) if row["facts"] else 1e10, row["name"]),
    )
    rows = []
    for row in order:
        facts = row["facts"]
        cells: list[Cell] = [None, [Span.quiet("not in the models table; --models FILE adds it")]]
        cells += [""] * 4
        if facts is not None:
            weights = "–" if facts["open"] is None else "open" if facts["open"] else "closed"
            origin = (facts["family"], facts["organization"], facts["base"], facts["training"])
            cells = [facts["size"], *(value or "–" for value in origin), weights]
        tone: Literal["published"] | None = "published" if row["source"] else None
        rows.append(Row([model_cell(row), *cells], tone))
    table = Table(head, rows, "What the models table says about each model.", sortable=True)
    blocks: list[Block] = [Grid(charts)] if charts else []
    return [Part("Score and model size", [*blocks, Fold("Models by size", [table])], id="sizes")]


def _paper_ranks(board: Json) -> list[Part]:
    blocks: list[Block] = []
    for ranks in board["paper_ranks"]:
        names = ("Rank, original", f"Rank, {ranks['task']}", "Rank difference")
        head = [Head("Model"), *(Head(name, "number") for name in names)]
        rows = [Row(list(row.values()), "published") for row in ranks["rows"]]
        table_name = ranks["place"]
        caption = f"{ranks['source']}, {table_name}"
        blocks.append(Fold(table_name, [Table(head, rows, caption, sortable=True)]))
    return [Part("Published ranks", blocks, id="ranks")] if blocks else []


def _splits(board: Json, splits: str, title: str, whole: str) -> list[Part]:
    options: list[tuple[str, list[Block]]] = []
    for split in board[splits]:
        head = [Head("Model")]
        head += [Head(name, "number", digits=4) for name in (*split["parts"], whole)]
        rows = [model_row(row, [*row["means"], row["average"]]) for row in split["rows"]]
        options.append((split["title"], [Table(head, rows, split["title"], sortable=True)]))
    if not options:
        return []
    blocks = options[0][1] if len(options) == 1 else [Menu("Task", options)]
    return [Part(title, list(blocks), id=splits)]


def _outside(outside: Json) -> Part:
    blocks: list[Block] = [
        Text(
            [
                "Each score of ",
                Span.code(outside["file"]),
                " (across) against the runs' means (up). Intervals resample the models, so that "
                "few models give wide ones; a correlation over models says nothing about single "
                "answers.",
            ]
        )
    ]
    for score_entry in outside["scores"]:
        score, title = score_entry["score"], score_entry["title"]
        pair, row_entries = f"{score} → {title}", score_entry["rows"]
        dots = [(r, r["outside"], {"mean": r["mean"]}) for r in row_entries]
        blocks += points(
            [f"{pair} ", Span.code(score_entry["metric"])], Axis(score), Axis(title), dots
        )
        if len(row_entries) < LEAST:
            models = several(len(row_entries), "model")
            text = f"{pair}: no correlation over {models} of at least {LEAST}."
            blocks.append(Text(text, "quiet"))
        else:
            blocks += coefficients(score_entry["over_models"])
        rows = [model_row(r, [r["outside"], r["mean"]]) for r in row_entries]
        head = [Head("Model"), Head(score, "number"), Head(title, "number")]
        blocks.append(Fold(f"{pair}: numbers", [Table(head, rows, sortable=True)]))
    if not outside["scores"]:
        blocks.append(Text("These runs have none of the models in the file."))
    for heading, names in (
        ("In the file without a run here", outside["unmatched"]),
        ("Run here without a line in the file", outside["missing"]),
    ):
        if names:
            blocks.append(Text(f"{heading}: {', '.join(names)}.", "quiet"))
    return Part("Scores elsewhere", blocks, id="outside")


def _runs(board: Json, hrefs: Mapping[str, str]) -> Part:
    head = list(map(Head, ("Run", "Model", "Task and options", "Prompts", "Parameters", "Answers")))
    head += [Head(name, "number") for name in ("Tokens in", "out", "cached")]
    head += [Head("Cost, $", "number", digits=4), Head("Version")]
    rows = [Row(_run_cells(run, hrefs.get(run["run"]))) for run in board["runs"]]
    costs = [run["usd"] for run in board["runs"] if run["usd"] is not None]
    if costs and len(board["runs"]) > 1:
        cells: list[Cell] = ["Cost of the runs that know theirs", *[""] * 8, math.fsum(costs), ""]
        rows.append(Row(cells, "total"))
    caption = "Settings, outcomes and cost of each run, from its manifest."
    table = Table(head, rows, caption, sortable=True)
    return Part("What each run was", [Fold(several(len(board["runs"]), "run"), [table])], id="runs")


def _run_cells(run: Json, href: str | None) -> list[Cell]:
    options = _settings(run["options"])
    options += [f"limit={run['limit']}"] if run["limit"] is not None else []
    options += [f"repeats={run['repeats']}"] if run["repeats"] > 1 else []
    outcomes = [f"{n:,} {name.replace('_', ' ')}" for name, n in run["outcomes"].items() if n]
    prompts: list[str | Span] = []
    for name, digest in run["prompts"]:
        prompts += [", ", name] if prompts else [name]
        prompts += [" ", Span.code(digest[:12])] if digest else []
    return [
        [Span.link(run["run"], href)],
        run["name"],
        [run["task"] or "answers scored", Span.quiet(f" {', '.join(options)}" if options else "")],
        prompts or "–",
        ", ".join(_settings(run["params"])) or "–",
        [f"{run['n']:,}", Span.quiet(f" {', '.join(outcomes)}" if outcomes else "")],
        *(run[name] for name in ("tokens_in", "tokens_out", "tokens_cached", "usd", "version")),
    ]


def _settings(values: Json) -> list[str]:
    """`name=value` of each setting that is set."""
    return [
        f"{name}={value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for name, value in values.items()
        if value is not False and value not in (None, "", [], {})
    ]


def _notes(board: Json) -> Part:
    levels = sorted(
        {c["ci_level"] for r in board["rows"] for c in r["cells"].values() if c["ci_level"]}
    )
    items: list[Rich] = []
    if levels:
        covered = ", ".join(f"{100 * level:.4g} %" for level in levels)
        items.append(f"Intervals cover {covered}: percentile bootstrap over the answers of a run.")
    items.append("How to read a leaderboard: docs/leaderboard.md.")
    if any(table["declining"] for table in board["studies"]):
        items.append(f"{REFUSAL_RULES.describe_agreement()}.")
    blocks: list[Block] = [Bullets(items)]
    if rows := [Row([r["run"], r["signature"]]) for r in board["runs"] if r["signature"]]:
        table = Table([Head("Run"), Head("Signature", "code")], rows)
        blocks.append(Fold("Signatures", [table]))
    return Part("Notes", blocks, id="notes")
