"""Datasets of benchmarks, and their fetched files.

A dataset's files are stored in `home()/data/NAME`. `origin.json` in the same folder records the
origin, revision, size and SHA-256 of each file at the first fetch. Later reads check against it.

A benchmark's datasets are in the `data.toml` of its package, or registered by `add_dataset`.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import msgspec

from trueground.benchmarks.base import BENCHMARKS, Benchmark, all_benchmarks
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


class FileRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One local file: its DataFile, size, checksum and origin."""

    file: str
    local: str
    size: int
    sha256: str
    repo: str | None = None
    revision: str | None = None
    path: str | None = None
    copied_from: str | None = None


class Origin(msgspec.Struct, kw_only=True):
    """Content of `origin.json`. `fetched` is the time of the last change (UTC, ISO 8601)."""

    dataset: str
    fetched: str = ""
    files: list[FileRecord] = []


@dataclass(frozen=True)
class FileCheck:
    """Result of checking one file. `problem` is None if the file matches its record."""

    path: Path
    problem: str | None


@dataclass(frozen=True)
class Dataset:
    """A benchmark's data: where they come from, and the files that were fetched.

    Attributes:
        name: The name by which users fetch the dataset.
        doc: What it holds, in one line.
        license: The license as the publisher states it.
        origin_note: Where the data come from, and what is known about the format there.
        files: The files of the dataset.
        hint: What to do with a copy that has another layout.
        from_only: Whether the dataset can only be copied from disk, as it isn't on the Hub.
        folders: Folders of the publisher's repository with the files, in the order of the search.
        usual_folder: The one of `folders` to name in error messages.
        file_hint: What to do instead of naming a file where a folder is expected.
    """

    name: str
    doc: str
    license: str
    origin_note: str
    files: tuple[DataFile, ...]
    hint: str = ""
    from_only: bool = False
    folders: tuple[str, ...] = (".",)
    usual_folder: str = ""
    file_hint: str = ""

    @property
    def folder(self) -> Path:
        """Where the fetched files are kept. The folder need not exist."""
        return home() / "data" / self.name

    @property
    def is_fetched(self) -> bool:
        """Whether something of the dataset has been fetched."""
        return (self.folder / ORIGIN).is_file()

    def read_origin(self) -> Origin:
        """Return the record of the fetched files, which is empty before the first fetch.

        Raises:
            InputError: The record can't be read.
        """
        path = self.folder / ORIGIN
        try:
            return msgspec.json.decode(path.read_bytes(), type=Origin)
        except FileNotFoundError:
            return Origin(dataset=self.name)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path} cannot be read: {error}. Remove the folder and fetch again: "
                f"trueground data fetch {self.name}"
            ) from error

    def local_files(self, file: str) -> list[Path]:
        """Return the fetched files of a DataFile in their order.

        Only sizes are checked here; `verify` reads the files.

        Args:
            file: The name of the DataFile.

        Raises:
            InputError: The files are not fetched, or not complete.
        """
        records = [record for record in self.read_origin().files if record.file == file]
        if not records:
            raise InputError(
                f"the file {file!r} of {self.name} is not fetched yet. Fetch it with: trueground "
                f"data fetch {self.name}, or name your copy with --data PATH"
            )
        for record in records:
            path = self.folder / record.local
            size = path.stat().st_size if path.is_file() else None
            if size != record.size:
                state = "is missing" if size is None else f"has {size:,} bytes"
                raise InputError(
                    f"{path} {state}; expected the {record.size:,} bytes that were fetched. Fetch "
                    f"it again with: trueground data fetch {self.name}"
                )
        return [self.folder / record.local for record in records]

    def all_local_files(self) -> list[Path]:
        """Return all fetched files, which may be a part of the dataset.

        Raises:
            InputError: The files are not complete.
        """
        fetched = {record.file for record in self.read_origin().files}
        paths = []
        for file in self.files:
            if file.name in fetched:
                paths += self.local_files(file.name)
        return paths

    def find_json(self, name: str, data: Path | None) -> Path:
        """Return the file `name`.json of the user's folder, or the fetched one.

        Args:
            name: The stem of the file, which is the name of its DataFile.
            data: The user's folder. None: the fetched files.

        Raises:
            InputError: The file doesn't exist.
        """
        path = self.look_for_json(name, data)
        if path is not None:
            return path
        if data is None:
            return self.local_files(name)[0]
        if not data.is_dir():
            state = "is a file" if data.exists() else "does not exist"
            hint = f"; {self.file_hint}" if self.file_hint and data.is_file() else ""
            raise InputError(f"{data} {state}; expected the folder with {name}.json{hint}")
        seen = ", ".join(sorted(path.name for path in data.iterdir())[:6]) or "nothing"
        raise InputError(
            f"{data} has no {name}.json; found {seen}. Name the published folder, "
            f"{self.usual_folder}"
        )

    def look_for_json(self, name: str, data: Path | None) -> Path | None:
        """Return the same file as `find_json`, or None if it doesn't exist."""
        if data is None:
            fetched = {record.file for record in self.read_origin().files}
            return self.local_files(name)[0] if name in fetched else None
        paths = (data / folder / f"{name}.json" for folder in self.folders)
        return next((path for path in paths if path.is_file()), None)

    def verify(self) -> list[FileCheck]:
        """Read every fetched file, and compare it with its record.

        Raises:
            InputError: Nothing is fetched.
        """
        records = self.read_origin().files
        if not records:
            raise InputError(
                f"{self.name} is not fetched yet. Fetch it with: trueground data fetch {self.name}"
            )
        return [FileCheck(self.folder / record.local, self.problem(record)) for record in records]

    def problem(self, record: FileRecord) -> str | None:
        """Return how a local file differs from its record. None if it does not."""
        try:
            with (self.folder / record.local).open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"{error.strerror or error}"
        if sha256 != record.sha256:
            return f"found SHA-256 {sha256}; expected {record.sha256}"
        return None


DATASETS: Registry[Dataset] = Registry("dataset")


def add_dataset(dataset: Dataset) -> Dataset:
    """Register a dataset of another package, and return it.

    Raises:
        UsageError: The name is taken.
    """
    DATASETS.register(dataset.name, dataset)
    return dataset


def all_datasets() -> Registry[Dataset]:
    """Return all datasets by name, including those of other packages."""
    _add_declared(all_benchmarks().values())
    return DATASETS


def get_dataset(name: str) -> Dataset:
    """Return a dataset by its name.

    Raises:
        UsageError: The name is unknown. The message suggests similar names.
    """
    if name not in DATASETS:
        # First those that are loaded already: loading all benchmarks takes longer.
        _add_declared(BENCHMARKS.values())
    return DATASETS[name] if name in DATASETS else all_datasets().find(name)


def fetched_names() -> list[str]:
    """Return the names of all datasets of which something has been fetched."""
    return sorted(path.parent.name for path in (home() / "data").glob(f"*/{ORIGIN}"))


def _add_declared(benchmarks: Iterable[Benchmark]) -> None:
    """Add the datasets that the packages of these benchmarks declare."""
    for benchmark in benchmarks:
        if not benchmark.package:
            continue
        file = files(benchmark.package) / "data.toml"
        if file.is_file():
            declared = tomllib.loads(file.read_text(encoding="utf-8"))["datasets"]
            for dataset in msgspec.convert(declared, list[Dataset]):
                DATASETS.setdefault(dataset.name, dataset)
