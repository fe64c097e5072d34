"""Copies of a dataset on disk: finding its files in them, and taking them in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from trueground.benchmarks.datasets import DataFile, Dataset
from trueground.errors import InputError, WriteError
from trueground.net.files import write_atomically

_SHARD = re.compile(r"-(\d+)-of-(\d+)(?=\.)")
_BLOCK = 1 << 20


def find_copies(place: Path, dataset: Dataset) -> dict[str, list[Path]]:
    """The files of each DataFile that a file or folder holds, in their order. InputError: none.

    A folder holds files under their local names ("test.parquet", "test-00000-of-00002.jsonl"), or
    clones of the repositories; it may be the clone itself.
    """
    if not place.exists():
        raise InputError(f"--from {place} does not exist; expected a file or a folder")
    if not place.is_file() and not place.is_dir():
        raise InputError(f"--from {place} is neither a file nor a folder; name one of these")
    found = {file.name: _copies(place, file, len(dataset.files) == 1) for file in dataset.files}
    found = {name: paths for name, paths in found.items() if paths}
    if not found:
        names = ", ".join(f"{file.name}.parquet or .jsonl" for file in dataset.files)
        repos = ", ".join(dict.fromkeys(file.repo for file in dataset.files))
        hint = f". {dataset.hint}" if dataset.hint else ""
        raise InputError(
            f"--from {place} holds nothing of {dataset.name}; expected files named {names}, or "
            f"clones of {repos}{hint}"
        )
    for paths in found.values():
        _check_whole(paths)
    return found


def copy_in(
    source: Path, target: Path, report: Callable[[int, int | None], None]
) -> tuple[int, str]:
    """Copy a file; its size in bytes and SHA-256. The target appears when whole. WriteError."""
    digest, done = hashlib.sha256(), 0
    try:
        with source.open("rb") as file, write_atomically(target) as out:
            total = source.stat().st_size
            for block in iter(lambda: file.read(_BLOCK), b""):
                out.write(block)
                digest.update(block)
                done += len(block)
                report(done, total)
    except OSError as error:
        raise WriteError(
            f"copying {source} to {target} failed: {error.strerror or error}. Make room or fix "
            "the permissions, then fetch again"
        ) from error
    return done, digest.hexdigest()


def _copies(place: Path, file: DataFile, alone: bool) -> list[Path]:
    own_name = re.compile(rf"{re.escape(file.name)}(-\d+-of-\d+)?(\.\w+)+")
    if place.is_file():
        return [place] if alone or own_name.fullmatch(place.name) else []
    named = sorted(p for p in place.iterdir() if p.is_file() and own_name.fullmatch(p.name))
    if named:
        return named
    owner, _, short = file.repo.rpartition("/")
    roots = [place / owner / short, place / short]
    if alone or place.name == short:
        roots.append(place)
    for root in roots:
        matching = sorted(path for path in root.rglob("*") if _matches(path, root, file.pattern))
        if matching:
            return matching
    return []


def _matches(path: Path, root: Path, pattern: str) -> bool:
    """Whether it is a file of the repository; what tools keep in hidden folders is not."""
    inside = path.relative_to(root)
    hidden = any(part.startswith(".") for part in inside.parts)
    return not hidden and fnmatchcase(inside.as_posix(), pattern) and path.is_file()


def _check_whole(paths: list[Path]) -> None:
    """InputError where shards are missing or the same data are there in two formats."""
    numbers = [match for path in paths if (match := _SHARD.search(path.name))]
    if len(numbers) != len(paths):
        whole = len(paths) == 1
    else:
        whole = [int(m[1]) for m in numbers] == list(range(int(numbers[0][2])))
    if not whole or len({path.suffix for path in paths}) > 1:
        raise InputError(
            f"{paths[0].parent}: found {', '.join(path.name for path in paths)}; expected one "
            "file, or all shards from -00000-of-N on, in one format"
        )
