"""Tasks for people, and their answers: export tasks, import answers, measure agreement."""

# No `from __future__ import annotations`: the command line reads the options here as values.
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from trueground.options import OnBadRow, Option, Resamples, Seed
from trueground.records import Columns

if TYPE_CHECKING:
    from trueground.wings.labeling.agreement import Agreement
    from trueground.wings.labeling.answers import Imported
    from trueground.wings.labeling.export import Exported

LEVEL = 0.95


def _parse_where(texts: Sequence[str]) -> dict[str, str]:
    from trueground.wings.labeling.export import parse_where

    return parse_where(texts)


AllowEdited = Annotated[bool, Option("Accept answers whose text was edited after export.")]


def export_tasks(
    kind: str,
    sources: Sequence[str],
    out: Annotated[Path, Option("NAME.jsonl. Writes NAME-1.jsonl, NAME-2.jsonl and instructions.")],
    *,
    csv: Annotated[bool, Option("Also write CSV files, such as NAME-1.csv.")] = False,
    annotators: Annotated[
        int, Option("Number of annotators per task; one file for each.", min=1, max=100)
    ] = 2,
    sample: Annotated[int | None, Option("Export a random sample of N tasks.", min=1)] = None,
    seed: Annotated[int, Option("Random seed.", min=0, max=2**63 - 1)] = 0,
    order: Annotated[
        Literal["shuffled", "same"],
        Option("Whether each annotator gets a different order."),
    ] = "shuffled",
    pairing: Annotated[
        Literal["gold", "response"],
        Option(
            "contains, contains-list: check gold facts in the response, or facts "
            "of the response in its contexts (contains-list: among the gold facts).",
            "--facts",
        ),
    ] = "gold",
    where: Annotated[
        Mapping[str, str] | None,
        Option(
            "Export only tasks whose field has this value; * matches any text. "
            "Fields of records: id, model, group, answerable or a key of meta. Of builds: "
            "id or a shown field. Repeatable.",
            type=list[str] | None,
            parse=_parse_where,
            metavar="FIELD=VALUE",
        ),
    ] = None,
    mapping: Columns = None,
    on_bad_row: OnBadRow = "stop",
    overwrite: Annotated[
        bool,
        Option("Replace the files of an earlier export."),
    ] = False,
) -> "Exported":
    """Write NAME-1.jsonl, NAME-2.jsonl …, NAME-instructions.md and NAME-export.json.

    The files are in the folder of `out`. A sample depends on the seed and the ids, not on the order
    of the sources. Either all files are written, or none.

    Raises:
        UsageError: An option is invalid.
        InputError: A source can't be read or has no tasks.
        OutputError: A file already exists.
        WriteError: A file can't be written.
    """
    from trueground.wings.labeling.export import ExportPlan, draw_sample, find_tasks
    from trueground.wings.labeling.kinds import get_kind

    chosen = get_kind(kind)
    plan = ExportPlan(out, annotators, csv, sources, overwrite)
    found = find_tasks(chosen, sources, pairing, mapping, on_bad_row, where)
    settings = {
        "seed": seed,
        "sample": sample,
        "where": dict(where or {}),
        "order": order,
        "annotators": annotators,
    }
    return plan.write(found, draw_sample(found.tasks, sample, seed), settings)


def import_answers(
    paths: Sequence[Path],
    out: Annotated[Path, Option("JSONL file of labels to write, one task per line.")],
    *,
    tie: Annotated[
        Literal["open", "drop", "first", "lowest"],
        Option(
            "If there is no majority: leave the field open, drop the task, or use "
            "the first file's answer or the lowest."
        ),
    ] = "open",
    third: Annotated[
        Path | None,
        Option("File of disputed tasks to write for a third annotator: .jsonl or .csv."),
    ] = None,
    overwrite: Annotated[bool, Option("Replace existing files.")] = False,
    allow_edited: AllowEdited = False,
) -> "Imported":
    """Check and merge the answers, and write labels to `out`, sorted by kind and id.

    `third` gets the tasks with a disputed field and fewer than three answers. Either all files are
    written, or none.

    Raises:
        InputError: An answer is invalid.
        UsageError: An option is invalid.
        OutputError: A file already exists.
        WriteError: A file can't be written.
    """
    from trueground.wings.labeling.answers import check_out, merge, read_answers, write_labels

    check_out(paths, out, third, overwrite)
    answers = read_answers(paths, allow_edited=allow_edited)
    labels = [merge(answers.tasks[name], tie) for name in sorted(answers.tasks)]
    return write_labels(answers, labels, tie, out, third)


def measure_agreement(
    paths: Sequence[Path],
    *,
    resamples: Resamples = 2_000,
    seed: Seed = 0,
    hardest: Annotated[int, Option("Number of the hardest tasks listed per kind.", min=0)] = 10,
    allow_edited: AllowEdited = False,
) -> "Agreement":
    """Return the agreement of the annotators of filled files, without unfinished tasks.

    Raises:
        InputError: An answer is invalid.
    """
    from trueground.wings.labeling.agreement import measure_answers
    from trueground.wings.labeling.answers import read_answers

    answers = read_answers(paths, allow_edited=allow_edited)
    return measure_answers(answers, hardest, resamples=resamples, seed=seed, level=LEVEL)
