"""Getting a dataset's files: from its origin, or from a copy on disk."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from trueground.benchmarks.copies import copy_in, find_copies
from trueground.benchmarks.datasets import (
    ORIGIN,
    DataFile,
    FileRecord,
    folder,
    get_dataset,
    problem,
    read_origin,
)
from trueground.errors import InputError, UsageError, WriteError
from trueground.net.download import HubFile, download, hub_files, token_header
from trueground.net.files import write_state
from trueground.net.home import HOME_VARIABLE
from trueground.options import Progress

# Called with a file's name, the bytes that are there, and how many there will be (None: unknown).
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
    _make(folder(name))
    files: list[FetchedFile] = []
    missing = []
    for data_file in dataset.files:
        if copies is None:
            found = _wait_for(_from_hub(name, data_file, progress))
        elif data_file.name in copies:
            found = _from_disk(name, data_file, copies[data_file.name], progress)
        else:
            missing.append(data_file.name)
            continue
        _record(name, data_file.name, [file.record for file in found])
        files += found
    return Fetched(name, folder(name), tuple(files), tuple(missing))


async def _from_hub(name: str, data_file: DataFile, report: Progress) -> list[FetchedFile]:
    """The files of one DataFile from their repository; no call is made if all are intact."""
    before = {
        record.path: record
        for record in read_origin(name).files
        if (record.file, record.repo) == (data_file.name, data_file.repo)
    }
    intact = {path for path, record in before.items() if problem(name, record) is None}
    if before and len(intact) == len(before):
        return [FetchedFile(record, new=False) for record in before.values()]
    revision = next((r.revision for r in before.values() if r.revision), "main")
    listing = await hub_files(data_file.repo, revision)
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
        target = folder(name) / locals_[file.path]
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
        done = await download(
            file.url,
            target,
            headers=token_header(),
            sha256=old.sha256 if old else file.sha256,
            size=old.size if old else file.size,
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
    name: str, data_file: DataFile, sources: list[Path], report: Progress
) -> list[FetchedFile]:
    locals_ = _local_names(data_file.name, [str(source) for source in sources])
    found = []
    for source in sources:
        target = folder(name) / locals_[str(source)]
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


def _record(name: str, file: str, records: list[FileRecord]) -> None:
    """Write down the files of one DataFile, and remove those that it had before. WriteError."""
    origin = read_origin(name)
    former = [record for record in origin.files if record.file == file]
    if former == records:
        return
    origin.files = [record for record in origin.files if record.file != file] + records
    origin.fetched = datetime.now(UTC).isoformat(timespec="seconds")
    path = folder(name) / ORIGIN
    try:
        write_state(path, origin)
        for gone in {record.local for record in former} - {record.local for record in origin.files}:
            (folder(name) / gone).unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(
            f"writing {path} failed: {error.strerror or error}. Make room, then fetch again"
        ) from error


def _make(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot make the folder {place}: {error.strerror or error}. Set {HOME_VARIABLE} to a "
            "folder that is writable"
        ) from error


def _wait_for(work: Coroutine[Any, Any, list[FetchedFile]]) -> list[FetchedFile]:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    # A notebook has a loop of its own in this thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
