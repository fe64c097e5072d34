"""Where published files are: in a folder that the user names, or where they were fetched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trueground.errors import InputError


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
            from trueground.benchmarks.datasets import local_files

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
            from trueground.benchmarks.datasets import local_files, read_origin

            known = {record.file for record in read_origin(self.dataset).files}
            return local_files(self.dataset, name)[0] if name in known else None
        paths = (data / folder / f"{name}.json" for folder in self.folders)
        return next((path for path in paths if path.is_file()), None)
