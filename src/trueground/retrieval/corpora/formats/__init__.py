"""Files of passages in the layouts of their publishers."""

from __future__ import annotations

from pathlib import Path

from trueground.records.files import PACKINGS


def packing(path: Path) -> str:
    """How a file is packed, by its name: ".gz", ".zst", or "" where it is not."""
    ending = path.suffix.lower()
    return ending if ending in PACKINGS else ""


def inner_ending(path: Path) -> str:
    """The ending of what a file holds, in small letters: ".tsv" of "a.tsv.gz" and of "a.TSV"."""
    return (path.with_suffix("") if packing(path) else path).suffix.lower()
