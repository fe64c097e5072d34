"""The folder of a build: its files, its lock and its manifest.

manifest.json            sources, options, models and times; written first and last
summary.json             how many items each stage took, kept and dropped, and why
stages/NN-NAME.jsonl     the items that a stage returned, in order
dropped.jsonl            every dropped item: stage, id, reason, detail, and its content
dataset/                 the benchmark
items.jsonl              its items in the same form for every builder: question, contexts, answers
report.html, card.md     the quality report as a page and as a data card
annotate/KIND.jsonl      tasks for annotators, if the builder makes any
work/build.sqlite        outcomes as they arrived, and paid replies (see store.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import orjson

from trueground._version import __version__
from trueground.errors import OutputError, TruegroundError, WriteError
from trueground.files import OutputPath
from trueground.models import LogprobRunner
from trueground.net import redact_command
from trueground.runs import Job
from trueground.types import Usage
from trueground.wings.labeling import AnnotationTask
from trueground.wings.papers.builders.base import BatchStage, BuildPlan
from trueground.wings.papers.builders.client import PERPLEXITY, RoleModel

MANIFEST, SUMMARY = "manifest.json", "summary.json"
DROPPED, ITEMS = "dropped.jsonl", "items.jsonl"
STAGES, WORK, DATASET, ANNOTATE = "stages", "work", "dataset", "annotate"
REPORT, CARD = "report.html", "card.md"
_encode = msgspec.json.Encoder().encode


class Build(Job):
    """The folder of a build."""

    noun = "build"
    entries = ("trueground", "builder")

    def is_left_over(self, entry: Path) -> bool:
        """Return whether a killed build may leave this entry before it has a manifest."""
        return entry.name == WORK


@contextmanager
def build_directory(path: Path, builder: str) -> Iterator[Path]:
    """Hold the folder of a build. Raises OutputError, see `check_usable`, and if it is in use."""
    check_usable(path, builder)
    with Build(path).hold():
        check_usable(path, builder)
        yield path


def check_usable(path: Path, builder: str) -> None:
    """Raise OutputError if a build can't begin or go on in this folder. Makes nothing."""
    manifest = Build(path).find()
    if manifest is not None and manifest["builder"] != builder:
        raise OutputError(
            f"{path} holds a build of {manifest['builder']}, not of {builder}; choose another --out"
        )


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Return the manifest in a build's folder; None if there is no valid manifest."""
    try:
        manifest = orjson.loads((path / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    is_valid = isinstance(manifest, dict) and "trueground" in manifest and "builder" in manifest
    return manifest if is_valid else None


def write_stage(path: Path, number: int, name: str, items: Sequence[Any]) -> None:
    """Replace the file of a stage's items. Raises WriteError."""
    file = make_part(path, STAGES) / f"{number:02}-{name}.jsonl"
    for old in file.parent.glob(f"{number:02}-*.jsonl"):
        if old != file:
            _remove(old)
    write_lines(file, items)


def remove_stages(path: Path, after: int) -> None:
    """Remove the items of stages that only an earlier build had."""
    for old in (path / STAGES).glob("[0-9][0-9]-*.jsonl"):
        if int(old.name[:2]) > after:
            _remove(old)


def make_part(path: Path, name: str) -> Path:
    """Make a subfolder if it doesn't exist, and return it. Raises WriteError."""
    try:
        return OutputPath(path / name).make_directory()
    except OSError as error:
        raise WriteError.stopped(path / name, error) from error


def write_dataset(path: Path, files: Mapping[str, bytes]) -> None:
    """Replace the dataset, and remove other files of an earlier build. Raises WriteError."""
    try:  # the summary lists the files of the last finished build
        earlier_files = orjson.loads((path / SUMMARY).read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        earlier_files = []
    names = earlier_files if isinstance(earlier_files, list) else []
    earlier = [name for name in names if isinstance(name, str) and Path(name).name == name]
    _write_all(make_part(path, DATASET), files, earlier)


def write_tasks(path: Path, tasks: Sequence[AnnotationTask]) -> None:
    """Replace the tasks for annotators, one file per kind. Raises WriteError."""
    kinds: dict[str, list[bytes]] = {}
    for task in tasks:
        kinds.setdefault(task.kind, []).append(_encode(task) + b"\n")
    if kinds or (path / ANNOTATE).exists():
        files = {f"{kind}.jsonl": b"".join(lines) for kind, lines in kinds.items()}
        _write_all(make_part(path, ANNOTATE), files, AnnotationTask.file_names())


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    """Replace a JSON Lines file as a whole. Raises WriteError."""
    write_bytes(path, b"".join(_encode(row) + b"\n" for row in rows))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file as a whole. Raises WriteError."""
    with OutputPath(path).replacing() as out:
        out.write(content)


def _write_all(folder: Path, files: Mapping[str, bytes], earlier: Iterable[str]) -> None:
    """Write files and remove those of an earlier build. Files of users stay."""
    for name, content in files.items():
        write_bytes(folder / name, content)
    for name in set(earlier) - set(files):
        for old in (folder / name, OutputPath(folder / name).part):
            _remove(old)


def _remove(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError.stopped(file, error) from error


class BuildManifest:
    """The manifest of a running build, with the usage of models summed over all sessions.

    A session that was killed counts up to the last stage that it finished.
    """

    def __init__(
        self,
        folder: Path,
        plan: BuildPlan,
        models: Mapping[str, RoleModel],
        scorer: LogprobRunner | None,
        settings: Mapping[str, Any],
        command: Sequence[str],
    ) -> None:
        """Start a manifest; `settings` become entries of it."""
        earlier = read_manifest(folder) or {}
        self._folder, self._plan, self._models, self._scorer = folder, plan, models, scorer
        self._earlier_usage = {}
        for role, model in describe_models(plan, models, scorer).items():
            self._earlier_usage[role] = _read_usage(earlier, role, model["signature"])
        prompts: dict[str, str] = {}
        for stage in plan.stages:
            if not isinstance(stage, BatchStage):
                prompts |= {prompt.id: prompt.sha256 for prompt in stage.prompts}
        session = Build.next_session(earlier)
        self.content: dict[str, Any] = {
            "trueground": __version__,
            "builder": plan.builder,
            "status": "running",
            "command": redact_command(command),
            "inputs": msgspec.to_builtins(list(plan.files)),
            "options": dict(plan.options),
            **settings,
            "prompts": prompts,
            "models": {},
            "notices": [],
            "sessions": session.number,
            "start": session.start or datetime.now(UTC).isoformat(timespec="seconds"),
            "finished": None,
            "error": None,
        }

    def write(self) -> None:
        """Write the current content. Raises WriteError."""
        models = describe_models(self._plan, self._models, self._scorer)
        for role, model in models.items():
            model |= vars(self._earlier_usage[role] + Usage.read(model))
        self.content["models"] = models
        OutputPath(self._folder / MANIFEST).write_json(self.content)

    def end(self) -> None:
        """Mark the build as finished. Raises WriteError."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.content |= {"status": Build.status_after(None), "finished": now}
        self.write()

    def track(self) -> AbstractContextManager[None]:
        """Return a context that records an error or interruption of the work inside."""
        return Build.noting_end(self._note_error)

    def _note_error(self, error: BaseException) -> None:
        text = str(error) if isinstance(error, TruegroundError) else type(error).__name__
        self.content |= {"status": Build.status_after(error), "error": text}
        self.write()


def describe_models(
    plan: BuildPlan, models: Mapping[str, RoleModel], scorer: LogprobRunner | None
) -> dict[str, dict[str, Any]]:
    """Return the name, signature and usage in this session of each model.

    These are the plan's other models, those with a role, and the scorer of perplexities.
    """
    entries: dict[str, dict[str, Any]] = {}
    for name, other in plan.others.items():
        entries[name] = {
            "name": other.name,
            "signature": other.signature,
            **vars(other.usage()),
        }
    for role, role_model in models.items():
        entries[role] = {
            "name": role_model.model.name,
            "signature": role_model.model.signature,
            "params": msgspec.to_builtins(role_model.params),
            **vars(role_model.usage),
        }
    if scorer is not None:
        entries[PERPLEXITY] = {
            "name": scorer.name,
            "signature": scorer.signature,
            **vars(scorer.usage),
        }
    return entries


def _read_usage(earlier: Mapping[str, Any], role: str, signature: str) -> Usage:
    """Return the usage of the same model and role in earlier sessions, from their manifest."""
    models = earlier.get("models")
    model = models.get(role) if isinstance(models, dict) else None
    if not isinstance(model, dict) or model.get("signature") != signature:
        return Usage()
    return Usage.read(model)
