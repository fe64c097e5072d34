"""A model's files: a local folder, or a name on the Hugging Face Hub at one commit; loading them.

Only settings, safetensors and ONNX files are ever fetched: other formats of weights can hold code
that runs when they are opened. Files of the Hub come through its own client: into its own cache,
which other programs on the machine share, or into `hub` under $TRUEGROUND_HOME where that is set
and neither HF_HOME nor HF_HUB_CACHE is.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError, MissingExtraError, TruegroundError, UsageError
from trueground.files import file_digest, home

_PLACES = {"HF_HOME", "HF_HUB_CACHE"}
_YES = ("1", "on", "yes", "true")
_SETTINGS = (".json", ".jinja", ".model", ".txt", ".py")


@dataclass(frozen=True)
class CheckpointSource:
    """A model that was found: a folder, or a name on the Hub at one commit."""

    where: str
    revision: str | None
    signature: str

    @classmethod
    def of_folder(
        cls, folder: Path, weights: Iterable[Path], settings: Iterable[Path] = ()
    ) -> CheckpointSource:
        """Sign a folder: `hf/NAME@DIGEST` of the weights, all settings at its top, and `settings`.

        Not of the whole path: the same model elsewhere gives the same answers.
        """
        top = (f for f in folder.iterdir() if f.suffix in _SETTINGS and f.is_file())
        digest = hashlib.sha256()
        for file in sorted({*top, *weights, *settings}):
            name = file.relative_to(folder).as_posix()
            digest.update(f"{name}\0{file_digest(file)}\0".encode())
        signature = f"hf/{folder.resolve().name}@{digest.hexdigest()[:16]}"
        return cls(str(folder), None, signature)


@dataclass(frozen=True)
class RequestedModel:
    """A model as the user named it, NAME or NAME@REVISION; `prefix` is how it is shown before that.

    `what` and `extra`: for which feature, and which extra brings the Hub's client.
    """

    name: str
    prefix: str = ""
    what: str = "a model of the Hugging Face Hub"
    extra: str = "hf"
    revision: str | None = None

    @property
    def shown(self) -> str:
        return self.prefix + self.name

    @property
    def on_hub(self) -> tuple[str, str | None]:
        """(ORGANIZATION/MODEL, revision). UsageError where two revisions are given."""
        base, _, revision = self.name.partition("@")
        if revision and self.revision not in (None, revision):
            raise UsageError(
                f"{self.shown} names the revision {revision}, and the option revision is "
                f"{self.revision}; give one of them"
            )
        return base, revision or self.revision

    def local_folder(self) -> Path | None:
        """Return the folder of that name; None if only the Hub can be meant. Raises InputError."""
        name, shown = self.name, self.shown
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
        if folder.exists():
            raise InputError(f"{shown} is a file; give the folder with config.json and the weights")
        if (
            name.startswith((".", "/", "~"))
            or "\\" in name
            or name.partition("@")[0].count("/") > 1
        ):
            raise InputError(
                f"{shown}: there is no such folder; give a folder with config.json, tokenizer and "
                "*.safetensors, or a name on the Hugging Face Hub such as ORGANIZATION/MODEL"
            )
        return None

    def read_config(self, folder: Path) -> dict[str, Any]:
        """Read config.json of the model's folder. Raises InputError."""
        try:
            return msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"{self.shown}: config.json cannot be read there: {error}") from error

    def no_safetensors(self) -> InputError:
        """Return the error for a model without weights that may be loaded."""
        return InputError(
            f"{self.shown}: no *.safetensors there, and other formats of weights are not loaded; "
            "convert the model with its save_pretrained(), which writes safetensors"
        )

    def check_whole(self, file: Path) -> None:
        """InputError for a safetensors file that ends before its header says."""
        size = file.stat().st_size
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = stream.read(length) if length <= size - 8 else b""
        try:
            tensors = msgspec.json.decode(header, type=dict[str, dict[str, Any]])
            tensors.pop("__metadata__", None)
            ends = [tensor["data_offsets"][1] for tensor in tensors.values()]
            expected = 8 + length + max(ends, default=0)
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, IndexError, TypeError) as error:
            raise InputError(
                f"{self.shown}: {file.name} is no safetensors file, or is cut off in its header "
                f"({size:,} bytes). Fetch it again."
            ) from error
        if size != expected:
            raise InputError(
                f"{self.shown}: {file.name} has {size:,} bytes, and its header speaks of "
                f"{expected:,}: it is cut off or damaged. Fetch it again."
            )

    def resolve(self) -> CheckpointSource:
        """Return the commit that the name on the Hub means now. InputError, MissingExtraError."""
        name, revision = self.on_hub
        with _asking_hub(self) as hub:
            config = hub.hf_hub_download(name, "config.json", revision=revision)
        commit = Path(config).parent.name
        return CheckpointSource(name, commit, f"hf/{name}@{commit[:16]}")

    def list_files(self, source: CheckpointSource) -> list[str]:
        """Return the paths of all files of the repository; without network, of those fetched."""
        hub = import_optional("huggingface_hub", self.what, self.extra)
        try:
            return sorted(hub.HfApi().list_repo_files(source.where, revision=source.revision))
        except Exception:  # also without network what was fetched before can be used
            folder = self.fetch(source, ())
            files = [file for file in folder.rglob("*") if file.is_file()]
            return sorted(file.relative_to(folder).as_posix() for file in files)

    def fetch(self, source: CheckpointSource, files: Sequence[str]) -> Path:
        """Return the folder with those files; those already here need no network. InputError."""
        name, revision = source.where, source.revision
        with _asking_hub(self) as hub:
            paths = [
                hub.hf_hub_download(name, file, revision=revision)
                for file in (*files, "config.json")
            ]
        return Path(paths[-1]).parent

    @contextmanager
    def loading(
        self, module: Callable[[str], Any], trust: str = "pass --trust-remote-code"
    ) -> Iterator[Any]:
        """Yield the `transformers` module, without progress bars; its errors come out in words.

        `module` imports it; `trust` is how the user says that the model's own code may run.
        InputError; UsageError where the model brings code that would have to be trusted.
        """
        transformers = module("transformers")
        # The run has a progress bar of its own; and what matters of a loading is said as an error.
        log = transformers.utils.logging
        bars, level = log.is_progress_bar_enabled(), log.get_verbosity()
        log.disable_progress_bar()
        log.set_verbosity_error()
        try:
            yield transformers
        except TruegroundError:
            raise
        except Exception as error:  # every architecture has its own ways to fail
            if "trust_remote_code" in str(error):
                raise UsageError(
                    f"{self.shown} brings Python code of its own, which would run on this machine; "
                    f"if you trust its publisher, {trust}"
                ) from error
            if "use_safetensors" in str(error):
                raise self.no_safetensors() from error
            raise InputError(f"{self.shown} cannot be loaded: {reason(error)}") from error
        finally:
            log.set_verbosity(level)
            if bars:
                log.enable_progress_bar()

    def check_complete(self, missing: Iterable[str]) -> None:
        """InputError where parts of the model are in no file of weights."""
        if parts := sorted(missing):
            raise InputError(
                f"{self.shown}: the weights lack {len(parts)} parts of the model, such as "
                f"{parts[0]}; they would be random numbers. Fetch the files again."
            )


def import_optional(module: str, what: str, extra: str) -> Any:
    """Import an optional module. Typed Any, so that type checks do not depend on the extra."""
    # Their Hub client reports its use unless told not to; the user asked for a model only.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    ours = bool(os.environ.get("TRUEGROUND_HOME")) and not _PLACES & os.environ.keys()
    try:
        if ours and "huggingface_hub.constants" not in sys.modules:
            os.environ["HF_HUB_CACHE"] = str(home() / "hub")  # read once, when it is imported
            try:
                import_module("huggingface_hub.constants")
            finally:
                del os.environ["HF_HUB_CACHE"]
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(what, extra) from error


@contextmanager
def _asking_hub(model: RequestedModel) -> Iterator[Any]:
    """The Hub's client, silent; what it raises comes out as InputError."""
    hub = import_optional("huggingface_hub", model.what, model.extra)
    # The run has a progress bar of its own; others, and notes of each try, would break it.
    bars = import_optional("huggingface_hub.utils", model.what, model.extra)
    hidden = bars.are_progress_bars_disabled()
    bars.disable_progress_bars()
    log = logging.getLogger("huggingface_hub")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield hub
    except Exception as error:  # the Hub's client has exceptions of several families
        name = model.on_hub[0]
        if is_offline():
            cause = "it was never fetched here, and HF_HUB_OFFLINE forbids to fetch it. "
        else:
            cause = (
                f"the download from the Hugging Face Hub failed ({reason(error)}). Check the name "
                "and the network; a gated model needs HF_TOKEN. "
            )
        raise InputError(
            f"{model.shown}: no such folder here, and {cause}"
            f"Without network, run `hf download {name} --local-dir FOLDER` where there is one, "
            f"copy the folder and give its path as the model: {model.prefix or '…:'}FOLDER."
        ) from error
    finally:
        log.setLevel(level)
        if not hidden:
            bars.enable_progress_bars()


def reason(error: Exception) -> str:
    """Kind and first line of an error of another library."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def is_offline() -> bool:
    """Return whether $HF_HUB_OFFLINE forbids to fetch anything from the Hugging Face Hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES
