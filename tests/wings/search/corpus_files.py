"""Files of every format that a corpus may have, written for the tests."""

from __future__ import annotations

import bz2
import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from trueground.wings.search.store import PassageEntry


def generated(n: int, repeated: int | None = None) -> Iterable[PassageEntry]:
    """`n` passages of some 60 characters, seven a page; the last has the id `repeated`."""
    for i in range(n):
        id_ = str(repeated) if repeated is not None and i == n - 1 else str(i)
        yield PassageEntry(
            f"Passage {i} says that {i * 7919 % 104729} is a number.", id_, f"Page {i // 7}"
        )


def write_tsv(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    """id, text and title as DPR's authors write them: quoted where csv finds it needed."""
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, delimiter="\t").writerows([("id", "text", "title"), *rows])
    return path


def write_bz2(path: Path, rows: Iterable[object]) -> Path:
    """JSON lines packed as HotpotQA's Wikipedia is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bz2.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    return path


def pdf(pages: Sequence[str | None], title: str | None = None) -> bytes:
    """A PDF file: one page for each text, line by line; None is a page without text."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    kids = []
    for text in pages:
        lines = [] if text is None else text.split("\n")
        shown = "".join(f"({_escaped(line)}) Tj T* " for line in lines)
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown}ET" if lines else "0 0 10 10 re f"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {len(objects)} 0 R >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    info = ""
    if title is not None:
        objects.append(f"<< /Title ({_escaped(title)}) >>")
        info = f" /Info {len(objects)} 0 R"
    return _file(objects, info)


def _file(objects: Sequence[str], info: str) -> bytes:
    data = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R{info} >>"
    )
    return data + f"{end}\nstartxref\n{len(data)}\n%%EOF\n".encode("latin-1")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
