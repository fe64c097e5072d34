"""Plays a scene in this process, and makes of what it did a pin that a later one is compared with.

A pin keeps short texts whole. Of long ones, and of all that shared data give, it keeps the hash of
the bytes, the hash of all that is not a float, and the floats.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from tests.commands import trueground
from tests.pins.scenes import ROOT, Scene
from tests.wordnet import write_small_wordnet

from trueground.metrics.meteor_matching import WORDNET_VARIABLE

LONG = 3_000
TOLERANCE = 1e-12
# What no two runs have alike, and what other machines have otherwise.
UNLIKE = re.compile(
    r"(?<![\w.])\d+(\.\d+)? (s|seconds|ms|min)\b|\d{4}-\d\d-\d\dT[\d:.+Z-]+"
    r'|"\w*(seconds|latency)\w*": ?[\d.e-]+|"created":"[^"]*"'
    r"|\d{8}T\d{6}Z-\w+(-\d+)?|https?://127.0.0.1:\d+"
)
FLOAT = re.compile(r"(?<![\w.#-])-?\d+\.\d+(?:[eE][+-]?\d+)?(?![\w.])")
KEPT = (".jsonl", ".json", ".csv", ".md", ".txt")
SKIPPED = ("manifest.json", "index.json")
Pin = dict[str, Any]


def play(scene: Scene, folder: Path) -> Iterator[tuple[str, Pin]]:
    """What each step of the scene did: how it ended, what it said, what it wrote."""
    scene.prepare(folder)
    before = _hashes(folder)
    with _at(folder):
        for step in scene.steps:
            pin = _python(step) if step.startswith("python ") else _command(step)
            after = _hashes(folder)
            changed = sorted(name for name in after if before.get(name) != after[name])
            before = after
            said = {k: _pinned(_scrubbed(v, folder), scene.shared) for k, v in pin.items()}
            files = {
                _scrubbed(name, folder): _pinned(
                    _scrubbed((folder / name).read_text("utf-8"), folder), True
                )
                for name in changed
                if name.endswith(KEPT) and Path(name).name not in SKIPPED
            }
            others = {_scrubbed(name, folder) for name in changed if _is_named(name)}
            yield step, {**said, "files": files, "others": sorted(others - files.keys())}


def differences(old: Pin, new: Pin) -> list[str]:
    """Where the new pin is not the old one; floats may differ in the last digits."""
    found = []
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if key == "files":
            names = sorted((a or {}).keys() | (b or {}).keys())
            found += [
                f"{name}: {what}"
                for name in names
                if (what := _unlike((a or {}).get(name), (b or {}).get(name)))
            ]
        elif what := _unlike(a, b):
            found.append(f"{key}: {what}")
    return found


def _unlike(a: Any, b: Any) -> str | None:
    if a == b:
        return None
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return f"was {a!r}, is {b!r}"
    numbers = [[float(word) for word in pin["floats"].split()] for pin in (a, b)]
    if a["rest"] != b["rest"] or len(numbers[0]) != len(numbers[1]):
        return f"another text: was {a.get('text', a['rest'])!r}, is {b.get('text', b['rest'])!r}"
    for x, y in zip(*numbers, strict=True):
        if abs(x - y) > TOLERANCE * max(1.0, abs(x)):
            return f"was {x!r}, is {y!r}"
    return None


def _command(step: str) -> dict[str, str]:
    done = trueground(*shlex.split(step))
    return {"exit": str(done.returncode), "out": done.stdout, "err": done.stderr}


def _python(step: str) -> dict[str, str]:
    import trueground as tg

    try:
        found = eval(step.removeprefix("python "), {"tg": tg})
    except (tg.errors.TruegroundError, TypeError, ValueError) as error:
        return {"raised": f"{type(error).__name__}: {error}"}
    plain = msgspec.to_builtins(found, enc_hook=_plain)
    return {"gave": json.dumps(plain, ensure_ascii=False, indent=1, default=_plain)}


def _plain(value: Any) -> Any:
    for name in ("as_dict", "tolist"):
        if hasattr(value, name):
            return getattr(value, name)()
    return list(value) if hasattr(value, "__iter__") else repr(value)


def _hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "home/" not in str(path.relative_to(folder))
    }


def _is_named(name: str) -> bool:
    in_build_store = "work" in Path(name).parts[1:]
    return not in_build_store and not name.endswith((".lock", ".sqlite", ".db"))


def _scrubbed(text: str, folder: Path) -> str:
    text = text.replace(str(folder), "FOLDER").replace(str(ROOT), "ROOT")
    return (
        UNLIKE.sub("TIME", text)
        .replace("python -m tests.pins", "trueground")
        .replace("python -m pytest", "trueground")
    )


def _pinned(text: str, hashed: bool) -> Pin:
    floats = " ".join(f"{float(word):.14g}" for word in FLOAT.findall(text))
    rest = hashlib.sha256(FLOAT.sub("0.0", text).encode()).hexdigest()[:24]
    kept = {} if hashed or len(text) > LONG else {"text": text}
    return {"rest": rest, "floats": floats, **kept}


@contextmanager
def _at(folder: Path) -> Iterator[None]:
    """Work in that folder, with an environment that is the same on every machine."""
    here = Path.cwd()
    environment = {name: "" for name in os.environ if name.startswith(("OPENAI", "HF_"))}
    environment |= {"TRUEGROUND_HOME": str(folder / "home"), "COLUMNS": "100", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as wordnet:
        environment[WORDNET_VARIABLE] = str(write_small_wordnet(Path(wordnet)))
        os.chdir(folder)
        try:
            with mock.patch.dict(os.environ, environment):
                yield
        finally:
            os.chdir(here)
