"""The page and the data card of a finished build, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import orjson

from trueground.builders.directory import CARD, REPORT, SUMMARY, build_directory, read_manifest
from trueground.builders.quality.people import people
from trueground.builders.quality.report import write_report
from trueground.errors import InputError


class RepeatSample(NamedTuple):
    """The files that were written, and what people said, where labels were given."""

    page: Path
    card: Path
    people: dict[str, Any] | None


def draw_again(folder: str | Path, labels: str | Path | None = None) -> RepeatSample:
    """Draw report.html and card.md of a finished build again, with `labels` beside its numbers.

    `labels` is a file of merged labels, as `annotate import` writes them; nothing but page and card
    is changed, and drawn without labels they are as the build left them. Raises InputError (no
    finished build, labels that cannot be used), OutputError (in use), WriteError.
    """
    path = Path(folder)
    manifest = read_manifest(path)
    if manifest is None:
        raise InputError(f"{path} holds no build; name the --out of a `trueground build`")
    with build_directory(path, str(manifest["builder"])):
        summary = _summary(path)
        if manifest.get("finished") is None:
            raise InputError(f"the build in {path} is not finished; run its command again first")
        said = None if labels is None else people(path, Path(labels))
        try:
            write_report(path, summary, manifest, said)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path / SUMMARY} lacks what the page shows ({error}); it was changed, or another "
                "version wrote it: run the build again"
            ) from None
    return RepeatSample(path / REPORT, path / CARD, said)


def _summary(path: Path) -> dict[str, Any]:
    try:
        found = orjson.loads((path / SUMMARY).read_bytes())
    except FileNotFoundError:
        raise InputError(f"the build in {path} is not finished; run its command again") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path / SUMMARY} cannot be read: {error}; run the build again") from None
    if not isinstance(found, dict):
        raise InputError(f"{path / SUMMARY} holds no object; run the build again")
    return found
