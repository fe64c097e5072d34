"""Getting a dataset's files: from its origin, or from a copy on disk."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from trueground.benchmarks.datasets import ORIGIN, DataFile, Dataset, FileRecord, get_dataset
from trueground.errors import InputError, UsageError, WriteError
from trueground.files import OutputPath, StateFile
from trueground.net import HubFile
from trueground.options import Progress

_SHARD = re.compile(r"-(\d+)-of-(\d+)(?=\.)")
_BLOCK = 1 << 20
_FORMAT = re.compile(r"\.(parquet|jsonl|json|csv)(\.gz|\.zst)?$")


@dataclass(frozen=True)
class FetchedFile:
    """A file that is there; `new` is False where an intact one was there before."""

    record: FileRecord
    new: bool


@dataclass(frozen=True)
class Fetched:
    """What a fetch has brought; `missing` are DataFiles that the copy on disk did not have."""

    name: str
    folder: Path
    files: tuple[FetchedFile, ...]
    missing: tuple[str, ...] = ()


def fetch(name: str, from_path: Path | None, progress: Progress) -> Fetched:
    """As `benchmarks.fetch_data`."""
    dataset = get_dataset(name)
    if dataset.from_only and from_path is None:
        raise UsageError(f"{name}: {dataset.origin_note}. trueground data fetch {name} --from PATH")
    copies = None if from_path is None else find_copies(from_path, dataset)
    place = dataset.folder
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder {place}: {error.strerror or error}. Set TRUEGROUND_HOME to "
            "a folder that is writable"
        ) from error
    files: list[FetchedFile] = []
    missing = []
    for data_file in dataset.files:
        if copies is None:
            found = _wait_for(_from_hub(dataset, data_file, progress))
        elif data_file.name in copies:
            found = _from_disk(dataset, data_file, copies[data_file.name], progress)
        else:
            missing.append(data_file.name)
            continue
        _record(dataset, data_file.name, [file.record for file in found])
        files += found
    return Fetched(name, dataset.folder, tuple(files), tuple(missing))


async def _from_hub(dataset: Dataset, data_file: DataFile, report: Progress) -> list[FetchedFile]:
    """The files of one DataFile from their repository; no call is made if all are intact."""
    before = {
        record.path: record
        for record in dataset.read_origin().files
        if (record.file, record.repo) == (data_file.name, data_file.repo)
    }
    intact = {path for path, record in before.items() if dataset.problem(record) is None}
    if before and len(intact) == len(before):
        return [FetchedFile(record, new=False) for record in before.values()]
    revision = next((r.revision for r in before.values() if r.revision), "main")
    listing = await HubFile.list_all(data_file.repo, revision)
    wanted = [file for file in listing.files if fnmatchcase(file.path, data_file.pattern)]
    if not wanted:
        raise InputError(
            f"{data_file.repo} at {listing.revision} has no file like {data_file.pattern}; found "
            f"{', '.join(file.path for file in listing.files[:8]) or 'nothing'}. The publisher "
            "may have moved it; take a copy from disk with --from PATH"
        )
    found = []
    locals_ = _local_names(data_file.name, sorted(file.path for file in wanted))
    for file in sorted(wanted, key=lambda file: file.path):
        old = before.get(file.path)
        if old is not None and file.path in intact:
            found.append(FetchedFile(old, new=False))
            continue
        target = dataset.folder / locals_[file.path]
        size, sha256 = await _download(file, target, old, report)
        record = FileRecord(
            file=data_file.name,
            local=target.name,
            size=size,
            sha256=sha256,
            repo=data_file.repo,
            revision=listing.revision,
            path=file.path,
        )
        found.append(FetchedFile(record, new=True))
    return found


async def _download(
    file: HubFile, target: Path, old: FileRecord | None, report: Progress
) -> tuple[int, str]:
    """Size and SHA-256 of the file, which must be those of the record if there is one."""
    try:
        done = await file.download(
            target,
            sha256=old.sha256 if old else None,
            size=old.size if old else None,
            progress=partial(report, target.name),
        )
    except InputError as error:
        if old is None:
            raise
        raise InputError(
            f"{error}. It has the revision {old.revision} as at the first fetch, which should "
            f"never change. To take what is there now, remove {target.parent} and fetch again"
        ) from error
    return done.size, done.sha256


def _from_disk(
    dataset: Dataset, data_file: DataFile, sources: list[Path], report: Progress
) -> list[FetchedFile]:
    locals_ = _local_names(data_file.name, [str(source) for source in sources])
    found = []
    for source in sources:
        target = dataset.folder / locals_[str(source)]
        size, sha256 = copy_in(source, target, partial(report, target.name))
        record = FileRecord(
            file=data_file.name,
            local=target.name,
            size=size,
            sha256=sha256,
            copied_from=str(source.absolute()),
        )
        found.append(FetchedFile(record, new=True))
    return found


def _local_names(stem: str, paths: list[str]) -> dict[str, str]:
    """The local name of each path: the stem, numbered in this order if there are several."""
    number = len(paths)
    names = {}
    for i, path in enumerate(paths):
        known = _FORMAT.search(path)
        suffix = known.group() if known else PurePosixPath(path).suffix
        names[path] = f"{stem}-{i:05d}-of-{number:05d}{suffix}" if number > 1 else stem + suffix
    return names


def _record(dataset: Dataset, file: str, records: list[FileRecord]) -> None:
    """Write down the files of one DataFile, and remove those that it had before. WriteError."""
    origin = dataset.read_origin()
    former = [record for record in origin.files if record.file == file]
    if former == records:
        return
    origin.files = [record for record in origin.files if record.file != file] + records
    origin.fetched = datetime.now(UTC).isoformat(timespec="seconds")
    path = dataset.folder / ORIGIN
    try:
        StateFile(path).write(origin)
        for gone in {record.local for record in former} - {record.local for record in origin.files}:
            (dataset.folder / gone).unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(
            f"writing {path} failed: {error.strerror or error}. Make room, then fetch again"
        ) from error


def _wait_for(work: Coroutine[Any, Any, list[FetchedFile]]) -> list[FetchedFile]:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A notebook has a loop of its own in this thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


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
        with source.open("rb") as file, OutputPath(target).write_atomically() as out:
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
        inside = {path: path.relative_to(root) for path in root.rglob("*") if path.is_file()}
        matching = sorted(
            path
            for path, own in inside.items()
            # What tools keep in hidden folders is no file of the repository.
            if not any(part.startswith(".") for part in own.parts)
            and fnmatchcase(own.as_posix(), file.pattern)
        )
        if matching:
            return matching
    return []


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
