"""Files of a model: a local folder, or a name on the Hugging Face Hub at one commit.

Only settings, safetensors and ONNX files are downloaded, because other formats of weights can
contain code that runs when they are opened. The client of the Hub stores files in its own cache,
which other programs share. If TRUEGROUND_HOME is set but neither HF_HOME nor HF_HUB_CACHE, it
stores them in `hub` under TRUEGROUND_HOME.
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

_CACHE_VARIABLES = {"HF_HOME", "HF_HUB_CACHE"}
_YES = ("1", "on", "yes", "true")
_SETTINGS = (".json", ".jinja", ".model", ".txt", ".py")


@dataclass(frozen=True)
class CheckpointSource:
    """The source of a model: a folder, or a name on the Hub at one commit."""

    where: str
    revision: str | None
    signature: str

    @classmethod
    def of_folder(
        cls, folder: Path, weights: Iterable[Path], settings: Iterable[Path] = ()
    ) -> CheckpointSource:
        """Return the source of a folder, with the signature `hf/NAME@DIGEST`.

        The digest covers the weights, all settings at the top of the folder, and `settings`. It
        doesn't depend on the path of the folder.
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
    """A model as the user wrote it.

    Attributes:
        name: NAME or NAME@REVISION.
        prefix: Text before the name in messages, such as "hf:".
        what: The feature that needs the model, for errors.
        extra: The extra with the client of the Hub.
        revision: The option `revision`.
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
        """ORGANIZATION/MODEL and revision. UsageError if there are two revisions."""
        base, _, revision = self.name.partition("@")
        if revision and self.revision not in (None, revision):
            raise UsageError(
                f"{self.shown} has the revision {revision}, but the option revision is "
                f"{self.revision}. Pass only one of them"
            )
        return base, revision or self.revision

    def local_folder(self) -> Path | None:
        """Return the folder of that name; None if only the Hub can be meant. Raises InputError."""
        name, shown = self.name, self.shown
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
        if folder.exists():
            raise InputError(f"{shown} is a file. Pass the folder with config.json and the weights")
        if (
            name.startswith((".", "/", "~"))
            or "\\" in name
            or name.partition("@")[0].count("/") > 1
        ):
            raise InputError(
                f"{shown}: the folder doesn't exist. Pass a folder with config.json, tokenizer and "
                "*.safetensors, or a name on the Hugging Face Hub such as ORGANIZATION/MODEL"
            )
        return None

    def read_config(self, folder: Path) -> dict[str, Any]:
        """Read config.json of the model's folder. Raises InputError."""
        try:
            return msgspec.json.decode((folder / "config.json").read_bytes(), type=dict[str, Any])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"{self.shown}: config.json can't be read: {error}") from error

    def no_safetensors(self) -> InputError:
        """Return the error for a model without weights that may be loaded."""
        return InputError(
            f"{self.shown} has no *.safetensors, and other formats of weights aren't loaded. "
            "Convert the model with its save_pretrained(), which writes safetensors"
        )

    def check_whole(self, file: Path) -> None:
        """Raise InputError if a safetensors file is shorter than its header says."""
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
                f"{self.shown}: {file.name} isn't a safetensors file, or its header is incomplete "
                f"({size:,} bytes). Download it again."
            ) from error
        if size != expected:
            raise InputError(
                f"{self.shown}: {file.name} is incomplete or damaged. It has {size:,} bytes; "
                f"expected {expected:,}. Download it again."
            )

    def resolve(self) -> CheckpointSource:
        """Return the current commit of the name on the Hub. InputError, MissingExtraError."""
        name, revision = self.on_hub
        with _asking_hub(self) as hub:
            config = hub.hf_hub_download(name, "config.json", revision=revision)
        commit = Path(config).parent.name
        return CheckpointSource(name, commit, f"hf/{name}@{commit[:16]}")

    def list_files(self, source: CheckpointSource) -> list[str]:
        """Return the paths of all files of the repository; offline, of the downloaded files."""
        hub = import_optional("huggingface_hub", self.what, self.extra)
        try:
            return sorted(hub.HfApi().list_repo_files(source.where, revision=source.revision))
        except Exception:  # Without a network, use the files that were downloaded before.
            folder = self.fetch(source, ())
            files = [file for file in folder.rglob("*") if file.is_file()]
            return sorted(file.relative_to(folder).as_posix() for file in files)

    def fetch(self, source: CheckpointSource, files: Sequence[str]) -> Path:
        """Download files and return their folder. Raises InputError.

        Files that were downloaded before need no network.
        """
        name, revision = source.where, source.revision
        with _asking_hub(self) as hub:
            for file in files:
                hub.hf_hub_download(name, file, revision=revision)
            config = hub.hf_hub_download(name, "config.json", revision=revision)
        return Path(config).parent

    @contextmanager
    def loading(
        self, module: Callable[[str], Any], trust: str = "pass --trust-remote-code"
    ) -> Iterator[Any]:
        """Yield the `transformers` module without progress bars, and translate its errors.

        Args:
            module: Imports the module.
            trust: What users do to allow the code of a model, for errors.

        Raises:
            InputError: The model can't be loaded.
            UsageError: The model needs its own Python code.
        """
        transformers = module("transformers")
        # Hide progress bars and warnings: the run has its own bar, and problems raise errors.
        log = transformers.utils.logging
        bars, level = log.is_progress_bar_enabled(), log.get_verbosity()
        log.disable_progress_bar()
        log.set_verbosity_error()
        try:
            yield transformers
        except TruegroundError:
            raise
        except Exception as error:  # Each architecture raises other errors.
            if "trust_remote_code" in str(error):
                raise UsageError(
                    f"{self.shown} contains Python code, which would run on your computer. If you "
                    f"trust its publisher, {trust}"
                ) from error
            if "use_safetensors" in str(error):
                raise self.no_safetensors() from error
            raise InputError(f"{self.shown} can't be loaded: {reason(error)}") from error
        finally:
            log.set_verbosity(level)
            if bars:
                log.enable_progress_bar()

    def check_complete(self, missing: Iterable[str]) -> None:
        """Raise InputError if parts of the model are missing in the weights."""
        parts = sorted(missing)
        if parts:
            raise InputError(
                f"{self.shown}: the weights lack {len(parts)} parts of the model, such as "
                f"{parts[0]}, which would be random numbers. Download the files again."
            )


def import_optional(module: str, what: str, extra: str) -> Any:
    """Import an optional module. It is Any, so type checks don't depend on the extra."""
    # By default, the client of the Hub sends usage data.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    has_home = bool(os.environ.get("TRUEGROUND_HOME"))
    use_home = has_home and not _CACHE_VARIABLES & os.environ.keys()
    try:
        if use_home and "huggingface_hub.constants" not in sys.modules:
            # The client reads the variable only once, when it is imported.
            os.environ["HF_HUB_CACHE"] = str(home() / "hub")
            try:
                import_module("huggingface_hub.constants")
            finally:
                del os.environ["HF_HUB_CACHE"]
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(what, extra) from error


@contextmanager
def _asking_hub(model: RequestedModel) -> Iterator[Any]:
    """Yield the client of the Hub without progress bars; its errors become InputError."""
    hub = import_optional("huggingface_hub", model.what, model.extra)
    # Other progress bars and logs would disturb the progress bar of the run.
    bars = import_optional("huggingface_hub.utils", model.what, model.extra)
    hidden = bars.are_progress_bars_disabled()
    bars.disable_progress_bars()
    log = logging.getLogger("huggingface_hub")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield hub
    except Exception as error:  # The client of the Hub raises many kinds of errors.
        name = model.on_hub[0]
        if is_offline():
            cause = "it wasn't downloaded before, and HF_HUB_OFFLINE is set. "
        else:
            cause = (
                f"the download from the Hugging Face Hub failed ({reason(error)}). Check the name "
                "and the network; a gated model needs HF_TOKEN. "
            )
        raise InputError(
            f"{model.shown} isn't a local folder, and {cause}"
            f"Without network, run `hf download {name} --local-dir FOLDER` on another computer, "
            f"copy the folder and pass its path as the model: {model.prefix or '…:'}FOLDER."
        ) from error
    finally:
        log.setLevel(level)
        if not hidden:
            bars.enable_progress_bars()


def reason(error: Exception) -> str:
    """Return the type and the first line of an error of another library."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def is_offline() -> bool:
    """Return whether HF_HUB_OFFLINE forbids downloads from the Hugging Face Hub."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in _YES
