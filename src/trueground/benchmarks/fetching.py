"""Fetch a dataset's files from the Hub, or copy them from disk."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Coroutine, Iterator
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
_BLOCK_BYTES = 1 << 20
MAX_LISTED_FILES = 8
_FORMAT = re.compile(r"\.(parquet|jsonl|json|csv)(\.gz|\.zst)?$")


@dataclass(frozen=True)
class FetchedFile:
    """A fetched file. `new` is False if an intact copy was there before."""

    record: FileRecord
    new: bool


@dataclass(frozen=True)
class Fetched:
    """Result of a fetch. `missing` names DataFiles that the copy on disk doesn't have."""

    name: str
    folder: Path
    files: tuple[FetchedFile, ...]
    missing: tuple[str, ...] = ()


def fetch(name: str, from_path: Path | None, progress: Progress) -> Fetched:
    """Fetch a dataset. See `benchmarks.fetch_data`."""
    dataset = get_dataset(name)
    if dataset.from_only and from_path is None:
        raise UsageError(
            f"{name} can't be downloaded: {dataset.origin_note}. Get a copy, then run: trueground "
            f"data fetch {name} --from PATH"
        )
    copies = None if from_path is None else find_copies(from_path, dataset)
    folder = dataset.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"cannot create the folder {folder}: {error.strerror or error}. Set TRUEGROUND_HOME to "
            "a folder that is writable"
        ) from error
    files: list[FetchedFile] = []
    missing = []
    for data_file in dataset.files:
        if copies is None:
            fetched = _run_async(_download_all(dataset, data_file, progress))
        elif data_file.name in copies:
            fetched = _copy_all(dataset, data_file, copies[data_file.name], progress)
        else:
            missing.append(data_file.name)
            continue
        _record(dataset, data_file.name, [file.record for file in fetched])
        files += fetched
    return Fetched(name, folder, tuple(files), tuple(missing))


async def _download_all(
    dataset: Dataset, data_file: DataFile, report: Progress
) -> list[FetchedFile]:
    """Download the files of a DataFile. Make no request if all are intact."""
    origin = (data_file.name, data_file.repo)
    records = dataset.read_origin().files
    existing = {record.path: record for record in records if (record.file, record.repo) == origin}
    intact = {path for path, record in existing.items() if dataset.problem(record) is None}
    if existing and len(intact) == len(existing):
        return [FetchedFile(record, new=False) for record in existing.values()]
    revision = next((record.revision for record in existing.values() if record.revision), "main")
    listing = await HubFile.list_all(data_file.repo, revision)
    matching = [file for file in listing.files if fnmatchcase(file.path, data_file.pattern)]
    if not matching:
        raise InputError(
            f"{data_file.repo} at {listing.revision} has no file like {data_file.pattern}; found "
            f"{', '.join(file.path for file in listing.files[:MAX_LISTED_FILES]) or 'nothing'}. "
            "The publisher may have moved it. If you have a copy, use --from PATH"
        )
    fetched = []
    local_names = _local_names(data_file.name, sorted(file.path for file in matching))
    for file in sorted(matching, key=lambda file: file.path):
        old = existing.get(file.path)
        if old is not None and file.path in intact:
            fetched.append(FetchedFile(old, new=False))
            continue
        target = dataset.folder / local_names[file.path]
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
        fetched.append(FetchedFile(record, new=True))
    return fetched


async def _download(
    file: HubFile, target: Path, old: FileRecord | None, report: Progress
) -> tuple[int, str]:
    """Download a file, and return its size and SHA-256. They must match the record, if any."""
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
            f"{error}. Files of the same revision, {old.revision}, should never change. To accept "
            f"the present file, remove {target.parent} and fetch again"
        ) from error
    return done.size, done.sha256


def _copy_all(
    dataset: Dataset, data_file: DataFile, sources: list[Path], report: Progress
) -> list[FetchedFile]:
    """Copy the files of a DataFile from disk."""
    local_names = _local_names(data_file.name, [str(source) for source in sources])
    fetched = []
    for source in sources:
        target = dataset.folder / local_names[str(source)]
        size, sha256 = copy_in(source, target, partial(report, target.name))
        record = FileRecord(
            file=data_file.name,
            local=target.name,
            size=size,
            sha256=sha256,
            copied_from=str(source.absolute()),
        )
        fetched.append(FetchedFile(record, new=True))
    return fetched


def _local_names(stem: str, paths: list[str]) -> dict[str, str]:
    """Return the local name of each path: the stem, numbered if there are several paths."""
    n_paths = len(paths)
    names = {}
    for i, path in enumerate(paths):
        match = _FORMAT.search(path)
        suffix = match.group() if match else PurePosixPath(path).suffix
        names[path] = f"{stem}-{i:05d}-of-{n_paths:05d}{suffix}" if n_paths > 1 else stem + suffix
    return names


def _record(dataset: Dataset, file: str, records: list[FileRecord]) -> None:
    """Record the files of a DataFile, and remove its former files."""
    origin = dataset.read_origin()
    former = [record for record in origin.files if record.file == file]
    if former == records:
        return
    origin.files = [record for record in origin.files if record.file != file] + records
    origin.fetched = datetime.now(UTC).isoformat(timespec="seconds")
    path = dataset.folder / ORIGIN
    try:
        StateFile(path).write(origin)
        for name in {record.local for record in former} - {record.local for record in origin.files}:
            (dataset.folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(
            f"writing {path} failed: {error.strerror or error}. Free disk space, then fetch again"
        ) from error


def _run_async(coroutine: Coroutine[Any, Any, list[FetchedFile]]) -> list[FetchedFile]:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # A notebook already runs an event loop in this thread.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def find_copies(path: Path, dataset: Dataset) -> dict[str, list[Path]]:
    """Return the files of each DataFile in a file or folder, in their order.

    Args:
        path: A file, or a folder. The folder has files with their local names ("test.parquet",
            "test-00000-of-00002.jsonl"), has clones of the repositories, or is a clone.
        dataset: The dataset whose files to find.

    Raises:
        InputError: The path doesn't exist, has no file of the dataset, or lacks shards.
    """
    if not path.exists():
        raise InputError(f"--from {path} does not exist; expected a file or a folder")
    if not path.is_file() and not path.is_dir():
        raise InputError(f"--from {path} is neither a file nor a folder; name one of these")
    copies = {}
    for file in dataset.files:
        if paths := _copies(path, file, len(dataset.files) == 1):
            copies[file.name] = paths
    if not copies:
        names = ", ".join(f"{file.name}.parquet or .jsonl" for file in dataset.files)
        repos = ", ".join(dict.fromkeys(file.repo for file in dataset.files))
        hint = f". {dataset.hint}" if dataset.hint else ""
        raise InputError(
            f"--from {path} has no file of {dataset.name}; expected files named {names}, or "
            f"clones of {repos}{hint}"
        )
    for paths in copies.values():
        _check_complete(paths)
    return copies


def copy_in(
    source: Path, target: Path, report: Callable[[int, int | None], None]
) -> tuple[int, str]:
    """Copy a file, and return its size in bytes and its SHA-256.

    The target appears only when it is complete.

    Raises:
        WriteError: The file can't be read or written.
    """
    digest = hashlib.sha256()
    done = 0
    try:
        with source.open("rb") as file, OutputPath(target).write_atomically() as out:
            total = source.stat().st_size
            for block in iter(lambda: file.read(_BLOCK_BYTES), b""):
                out.write(block)
                digest.update(block)
                done += len(block)
                report(done, total)
    except OSError as error:
        raise WriteError(
            f"copying {source} to {target} failed: {error.strerror or error}. Free disk "
            "space or change the permissions, then fetch again"
        ) from error
    return done, digest.hexdigest()


def _copies(path: Path, file: DataFile, alone: bool) -> list[Path]:
    """Return the files of a DataFile in a path. `alone`: the dataset has no other DataFile."""
    local_name = re.compile(rf"{re.escape(file.name)}(-\d+-of-\d+)?(\.\w+)+")
    if path.is_file():
        return [path] if alone or local_name.fullmatch(path.name) else []
    files = sorted(p for p in path.iterdir() if p.is_file() and local_name.fullmatch(p.name))
    if files:
        return files
    owner, _, repo_name = file.repo.rpartition("/")
    roots = [path / owner / repo_name, path / repo_name]
    if alone or path.name == repo_name:
        roots.append(path)
    for root in roots:
        files = sorted(_matching_files(root, file.pattern))
        if files:
            return files
    return []


def _matching_files(root: Path, pattern: str) -> Iterator[Path]:
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        # Hidden folders belong to tools such as git, not to the repository.
        is_hidden = any(name.startswith(".") for name in relative.parts)
        if not is_hidden and path.is_file() and fnmatchcase(relative.as_posix(), pattern):
            yield path


def _check_complete(paths: list[Path]) -> None:
    """Raise InputError if shards are missing, or if the data is there in two formats."""
    matches = [_SHARD.search(path.name) for path in paths]
    shards = [match for match in matches if match]
    if len(shards) != len(paths):
        is_complete = len(paths) == 1
    else:
        is_complete = [int(shard[1]) for shard in shards] == list(range(int(shards[0][2])))
    if not is_complete or len({path.suffix for path in paths}) > 1:
        raise InputError(
            f"{paths[0].parent}: found {', '.join(path.name for path in paths)}; expected one "
            "file, or all shards from -00000-of-N on, in one format"
        )
