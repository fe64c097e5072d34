"""Which run a folder holds, whether a command may resume it, and how a refusal is worded.

A run writes its identity (inputs, metrics, options) into the manifest before it does any work, and
the status `finished` after everything else. A command resumes an unfinished run with its own
identity. `score`, `run` and shards share these rules and these words.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from trueground.errors import OutputError

FINISHED = "finished"
MAX_SHOWN_CHARS = 200  # of one value in a list of differences


def is_finished(manifest: Mapping[str, Any]) -> bool:
    """Return whether the run of this manifest ended well."""
    return manifest.get("status") == FINISHED


def find_differences(begun: Mapping[str, Any], identity: Mapping[str, Any]) -> list[str]:
    """Return one line for each entry in which the run in a folder and this command differ."""
    # The manifest gives a tuple back as a list.
    identity = orjson.loads(orjson.dumps(identity))
    commands = begun.get("command", "run"), identity.get("command", "run")
    if commands[0] != commands[1]:  # whose other entries have nothing in common
        return [f"  command: trueground {commands[0]} there, trueground {commands[1]} now"]
    return list_differences(begun, identity)


def list_differences(begun: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return one line for each entry of `now` that is another one in `begun`."""
    return [
        f"  {name}: {_shorten(begun.get(name))} there, {_shorten(value)} now"
        for name, value in now.items()
        if begun.get(name) != value
    ]


def _shorten(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 1] + "…"


def resume_command(manifest: Mapping[str, Any]) -> str | None:
    """Return the command that began the run, quoted for a shell; None for a call from Python."""
    words = manifest.get("command")
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        return None
    return shlex.join(words)


def describe_unfinished(path: Path, manifest: Mapping[str, Any], *, running: bool = False) -> str:
    """Say that the run in a folder is unfinished, and how to resume it.

    Args:
        path: The run directory.
        manifest: Its manifest.
        running: Whether a process is writing the run at the moment.

    Returns:
        Sentences for an error message, the last one with the command to give.
    """
    status = manifest.get("status")
    if running:
        return f"{path}: this run is unfinished: another process is writing it. Wait until it ends"
    reason = f" ({status})" if status in ("failed", "interrupted") else ""
    return f"{path}: this run is unfinished{reason}. {resume_advice(manifest)}"


def resume_advice(manifest: Mapping[str, Any]) -> str:
    """Return the sentence that says how to resume an unfinished run."""
    command = resume_command(manifest)
    if command is None:
        return "Resume it by the call that began it"
    return f"Resume it with:\n  {command}"


def refuse(
    path: Path,
    manifest: Mapping[str, Any],
    identity: Mapping[str, Any] | None = None,
    *,
    replaceable: bool = True,
) -> OutputError:
    """Return the error for a folder with a run that a command can neither resume nor replace.

    Args:
        path: The run directory.
        manifest: The manifest of the run in it.
        identity: The identity of the command; None if the command resumes nothing.
        replaceable: Whether the command has an option `--overwrite`.

    Returns:
        An error that says whether that run is finished, whose it is, and what to do.
    """
    advice = "choose another --out"
    if replaceable:
        advice += ", or pass --overwrite to replace it"
    finished, begun = is_finished(manifest), manifest.get("identity")
    state = "a finished run" if finished else "an unfinished run"
    differences: list[str] = []
    if isinstance(begun, dict) and identity is not None:
        differences = find_differences(begun, identity)
        if finished and not differences:
            state = "the finished run of this very command"
    lines = [f"{path} holds {state}"]
    if differences:
        lines = [f"{lines[0]} of another command. They differ in", *differences]
    if not finished and isinstance(begun, dict):
        lines += [resume_advice(manifest), f"Or {advice}"]
    elif differences:
        lines.append(advice[0].upper() + advice[1:])
    else:
        lines[0] += f"; {advice}"
    return OutputError("\n".join(lines))
