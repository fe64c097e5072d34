"""JSON Schemas of the files of a run directory, made from the Structs that read and write them.

`python -m bench.schemas` writes them to `src/trueground/runs/schemas/` for the wheel, and to
`docs/schemas/` for the documentation.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import orjson

from trueground.runs.responses import Response
from trueground.runs.schema import Item, Manifest, Summary
from trueground.types import Answered

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "src" / "trueground" / "runs" / "schemas"
FOLDERS = (FOLDER, ROOT / "docs" / "schemas")
_ATTRIBUTE = re.compile(r"(\w+): (.*?)(?=\s\w+: |$)", re.DOTALL)
DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Schema → the Struct, and which file it describes.
FILES: dict[str, tuple[type, str]] = {
    "manifest": (Manifest, "manifest.json"),
    "summary": (Summary, "summary.json"),
    "item": (Item, "a line of items.jsonl"),
    "record": (Answered, "a line of records.jsonl.zst"),
    "response": (Response, "a line of responses.jsonl"),
}


def make_schema(name: str) -> bytes:
    """Return the content of the schema file of this name."""
    kind, file = FILES[name]
    schema: dict[str, Any] = {"$schema": DIALECT, "title": file} | msgspec.json.schema(kind)
    for part in schema["$defs"].values():
        _describe(part)
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2) + b"\n"


def _describe(part: dict[str, Any]) -> None:
    """Give each property the sentence that the docstring has for it under `Attributes`."""
    summary, _, attributes = part.get("description", "").partition("Attributes:")
    if summary:
        part["description"] = " ".join(summary.split())
    sentences = dict(_ATTRIBUTE.findall(" ".join(attributes.split("\n        "))))
    for name, prop in part.get("properties", {}).items():
        if text := sentences.get(name):
            prop["description"] = " ".join(text.split())


def main() -> None:
    """Write all schemas."""
    for folder in FOLDERS:
        folder.mkdir(exist_ok=True)
        for name in FILES:
            (folder / f"{name}.json").write_bytes(make_schema(name))


if __name__ == "__main__":
    main()
