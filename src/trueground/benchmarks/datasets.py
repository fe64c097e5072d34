"""Data of benchmarks: what there is, and the files that were fetched.

A dataset's files lie in `home()/data/NAME`. `origin.json` beside them records where each came from,
its revision, size and SHA-256 at the first fetch; from then on they are checked against it.

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


@dataclass(frozen=True)
class Dataset:
    """A benchmark's data: where they come from, and the files that were fetched.

    Attributes:
        name: The name by which users fetch the dataset.
        doc: What it holds, in one line.
        license: The license as the publisher states it.
        origin_note: Where the data come from, and what is known about the format there.
        files: The files of the dataset.
        hint: What to do with a copy that is laid out otherwise.
        from_only: The origin isn't a repository of the Hub, so only a copy on disk can be taken in.
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
            InputError: The files are not fetched, or not whole.
        """
        records = [record for record in self.read_origin().files if record.file == file]
        if not records:
            raise InputError(
                f"the data {file!r} of {self.name} are not fetched yet: trueground data fetch "
                f"{self.name}, or --data PATH"
            )
        for record in records:
            path = self.folder / record.local
            found = path.stat().st_size if path.is_file() else None
            if found != record.size:
                what = "is gone" if found is None else f"has {found:,} bytes"
                raise InputError(
                    f"{path} {what}; expected the {record.size:,} bytes that were fetched. Fix it "
                    f"with: trueground data fetch {self.name}"
                )
        return [self.folder / record.local for record in records]

    def all_local_files(self) -> list[Path]:
        """Return all fetched files, which may be a part of the dataset.

        Raises:
            InputError: The files are not whole.
        """
        have = {record.file for record in self.read_origin().files}
        names = [file.name for file in self.files if file.name in have]
        return [path for name in names for path in self.local_files(name)]

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
            what = "is a file" if data.exists() else "does not exist"
            hint = f"; {self.file_hint}" if self.file_hint and data.is_file() else ""
            raise InputError(f"{data} {what}; expected the folder that holds {name}.json{hint}")
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
            raise InputError(f"{self.name} is not fetched yet: trueground data fetch {self.name}")
        return [FileCheck(self.folder / record.local, self.problem(record)) for record in records]

    def problem(self, record: FileRecord) -> str | None:
        """Return how a local file differs from its record. None if it does not."""
        try:
            with (self.folder / record.local).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"{error.strerror or error}"
        if found != record.sha256:
            return f"found SHA-256 {found}; expected {record.sha256}"
        return None


DATASETS: Registry[Dataset] = Registry("dataset")


def add_dataset(dataset: Dataset) -> Dataset:
    """Register a dataset of another package. Raises UsageError if the name is taken."""
    DATASETS.register(dataset.name, dataset)
    return dataset


def all_datasets() -> Registry[Dataset]:
    """Return every dataset by name, those of other packages included."""
    _add_declared(all_benchmarks().values())
    return DATASETS


def get_dataset(name: str) -> Dataset:
    """Return the dataset of that name.

    Raises:
        UsageError: There is none. The message has similar names.
    """
    if name not in DATASETS:
        _add_declared(BENCHMARKS.values())  # those that are loaded already
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
