"""Data of benchmarks: what there is, and the files that were fetched.

A dataset's files lie in `home()/data/NAME`. `origin.json` beside them records where each came from,
its revision, size and SHA-256 at the first fetch; from then on they are checked against it.

A benchmark's datasets are in the `data.toml` of its package, or registered by `add_dataset`.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import msgspec

from trueground.benchmarks.base import all_benchmarks
from trueground.components import Registry
from trueground.errors import InputError
from trueground.files import home

ORIGIN = "origin.json"


@dataclass(frozen=True)
class DataFile:
    """Files of a Hub repository that belong together: the shards of one split.

    `name` is the stem of the local files; `pattern` is matched (as fnmatch does, case counts)
    against the paths in the repository, e.g. "data/test-*.parquet".
    """

    name: str
    repo: str
    pattern: str


@dataclass(frozen=True)
class Dataset:
    """A benchmark's data: `licence` as the publisher states it, `origin_note` for whom it matters.

    `origin_note` says where the data come from and what is known about the format there; `hint`
    what to do with a copy that is laid out otherwise. `from_only`: the origin is no repository of
    the Hub; only a copy on disk can be taken in.
    """

    name: str
    doc: str
    licence: str
    origin_note: str
    files: tuple[DataFile, ...]
    hint: str = ""
    from_only: bool = False


class FileRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One local file: to which DataFile it belongs, what it is, and where it came from."""

    file: str
    local: str
    size: int
    sha256: str
    repo: str | None = None
    revision: str | None = None
    path: str | None = None
    copied_from: str | None = None


class Origin(msgspec.Struct, kw_only=True):
    """The record beside the files; `fetched` is the time of the last change (UTC, ISO 8601)."""

    dataset: str
    fetched: str = ""
    files: list[FileRecord] = []


@dataclass(frozen=True)
class FileCheck:
    """One file that was checked; `problem` is None if it is as recorded."""

    path: Path
    problem: str | None


DATASETS: Registry[Dataset] = Registry("dataset")


def add_dataset(dataset: Dataset) -> Dataset:
    """Register a dataset of another package. Raises UsageError if the name is taken."""
    DATASETS.register(dataset.name, dataset)
    return dataset


def all_datasets() -> Registry[Dataset]:
    """Every dataset by name, those of other packages included."""
    for benchmark in all_benchmarks().values():
        if not benchmark.package:
            continue
        file = files(benchmark.package) / "data.toml"
        if file.is_file():
            declared = tomllib.loads(file.read_text(encoding="utf-8"))["datasets"]
            for dataset in msgspec.convert(declared, list[Dataset]):
                DATASETS.setdefault(dataset.name, dataset)
    return DATASETS


def get_dataset(name: str) -> Dataset:
    """The dataset of that name, or a UsageError with near names."""
    return DATASETS[name] if name in DATASETS else all_datasets().find(name)


def folder(name: str) -> Path:
    """Where the files of a dataset are kept; it need not exist."""
    return home() / "data" / name


def is_fetched(name: str) -> bool:
    """Whether something of the dataset has been fetched."""
    return (folder(name) / ORIGIN).is_file()


def fetched_names() -> list[str]:
    """Names of all datasets of which something has been fetched."""
    return sorted(path.parent.name for path in (home() / "data").glob(f"*/{ORIGIN}"))


def read_origin(name: str) -> Origin:
    """What is recorded of a dataset's files; empty before the first fetch. InputError."""
    path = folder(name) / ORIGIN
    try:
        return msgspec.json.decode(path.read_bytes(), type=Origin)
    except FileNotFoundError:
        return Origin(dataset=name)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Remove the folder and fetch again: "
            f"trueground data fetch {name}"
        ) from error


def local_files(name: str, file: str) -> list[Path]:
    """The fetched files of a DataFile in their order. InputError: not fetched, or not whole.

    Sizes are checked here; `verify` reads the files.
    """
    records = [record for record in read_origin(name).files if record.file == file]
    if not records:
        raise InputError(
            f"the data {file!r} of {name} are not fetched yet: trueground data fetch {name}, or "
            "--data PATH"
        )
    for record in records:
        path = folder(name) / record.local
        found = path.stat().st_size if path.is_file() else None
        if found != record.size:
            what = "is gone" if found is None else f"has {found:,} bytes"
            raise InputError(
                f"{path} {what}; expected the {record.size:,} bytes that were fetched. Fix it "
                f"with: trueground data fetch {name}"
            )
    return [folder(name) / record.local for record in records]


def all_local_files(name: str) -> list[Path]:
    """What was fetched of a dataset, which may be a part of it. InputError: not whole."""
    have = {record.file for record in read_origin(name).files}
    files = [file.name for file in get_dataset(name).files if file.name in have]
    return [path for file in files for path in local_files(name, file)]


def verify(name: str) -> list[FileCheck]:
    """Read every fetched file and compare it with the record. InputError: nothing is fetched."""
    get_dataset(name)
    records = read_origin(name).files
    if not records:
        raise InputError(f"{name} is not fetched yet: trueground data fetch {name}")
    return [FileCheck(folder(name) / record.local, problem(name, record)) for record in records]


def problem(name: str, record: FileRecord) -> str | None:
    """How a local file differs from its record; None if it does not."""
    try:
        with (folder(name) / record.local).open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"{error.strerror or error}"
    if found != record.sha256:
        return f"found SHA-256 {found}; expected {record.sha256}"
    return None


@dataclass(frozen=True)
class PublishedFiles:
    """The JSON files of one dataset.

    `folders` are those of the publisher's repository that hold them, looked into in this order;
    `usual` is the one to name. `instead` is told to who names a file in place of a folder.
    """

    dataset: str
    folders: tuple[str, ...]
    usual: str
    instead: str = ""

    def find(self, name: str, data: Path | None) -> Path:
        """The file `name`.json in the folder, or the fetched one. InputError: there is none."""
        path = self.look_for(name, data)
        if path is not None:
            return path
        if data is None:
            return local_files(self.dataset, name)[0]
        if not data.is_dir():
            what = "is a file" if data.exists() else "does not exist"
            hint = f"; {self.instead}" if self.instead and data.is_file() else ""
            raise InputError(f"{data} {what}; expected the folder that holds {name}.json{hint}")
        seen = ", ".join(sorted(path.name for path in data.iterdir())[:6]) or "nothing"
        raise InputError(
            f"{data} has no {name}.json; found {seen}. Name the published folder, {self.usual}"
        )

    def look_for(self, name: str, data: Path | None) -> Path | None:
        """The same, or None where there is none."""
        if data is None:
            known = {record.file for record in read_origin(self.dataset).files}
            return local_files(self.dataset, name)[0] if name in known else None
        paths = (data / folder / f"{name}.json" for folder in self.folders)
        return next((path for path in paths if path.is_file()), None)
