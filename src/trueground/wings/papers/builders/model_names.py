"""Names of models in the files and pages of a build."""

from __future__ import annotations

from pathlib import PurePath

_FILE_KINDS = ("fake", "replay", "hf")  # models that may be a file or a folder


def strip_model_folder(name: str) -> str:
    """Return a model's name without the folders of this machine."""
    kind, colon, rest = name.partition(":")
    at = "@" if rest.startswith("@") else ""
    if not colon or kind not in _FILE_KINDS or (kind == "fake" and not at):
        return name
    if kind == "hf" and not PurePath(rest).is_absolute():
        return name  # the name of a model on the hub
    path = rest.removeprefix("@")
    return f"{kind}:{at}{PurePath(path).name or path}"
