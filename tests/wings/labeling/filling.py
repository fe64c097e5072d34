"""Files as annotators hand them back: exported for real, filled in, saved as programs save them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trueground.wings.labeling.kinds import AnnotationTask

Fill = Callable[[dict[str, Any]], Mapping[str, Any]]

GOLD = [
    AnnotationTask(
        "gold-facts",
        f"q{number}",
        {
            "question": f"Who built mill {number}?",
            "answer": "Edda Rowe",
            "contexts": [{"title": f"Mill {number}", "text": "It was built by Edda Rowe."}],
            "facts": ["Edda Rowe built it.", "It has a wheel.", "It stands at Tarn."],
        },
    )
    for number in range(1, 5)
]
VALID = [
    AnnotationTask(
        "validity",
        id_,
        {
            "task": "inconsistent",
            "question": "=HYPERLINK(1)",
            "context": "Line one, with a comma;\n\nline 'two' \"quoted\".",
            "answer": answer,
        },
    )
    for id_, answer in (("1-2", "May 2007"), ("007", "+49 30"), ("c", "'tis"), ("TRUE", "3/4"))
]


def build_of(folder: Path, tasks: list[AnnotationTask]) -> Path:
    """A folder as `trueground build` leaves it, with these tasks."""
    (folder / "annotate").mkdir(parents=True)
    for task in tasks:
        line = {"kind": task.kind, "id": task.id, "shown": task.shown}
        with (folder / "annotate" / f"{task.kind}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return folder


def fill(path: Path, answer: Fill, **more: Any) -> Path:
    """Fill in each line of a JSON lines file: `answer(line)` gives the values; `more` is set."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for line in lines:
        line["answer"] |= answer(line)
        line |= more
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def fill_sheet(
    path: Path,
    answer: Fill,
    *,
    delimiter: str = ",",
    lineterminator: str = "\r\n",
    encoding: str = "utf-8-sig",
    quoting: Any = csv.QUOTE_MINIMAL,
) -> Path:
    """Fill in each row of a sheet and save it with another program's habits."""
    text = path.read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(
        out, list(rows[0]), delimiter=delimiter, lineterminator=lineterminator, quoting=quoting
    )
    writer.writeheader()
    for row in rows:
        bare = {name.partition(" [")[0]: name for name in row}
        for name, value in answer(row).items():
            row[bare[name]] = value
        writer.writerow(row)
    path.write_bytes(out.getvalue().encode(encoding))
    return path
