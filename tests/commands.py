"""Commands as a user types them, in this process: a start costs more than most of them do.

    done = trueground("score", path, "--format", "json", cwd=folder)

Words, streams, folder and variables are those of the command, and given back after it. Where the
streams, signals, kills or the start itself are tested, PROGRAM begins a process of its own.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from tests.leaks import check_screen

PROGRAM = (sys.executable, "-m", "trueground")


class Done(NamedTuple):
    """How a command ended, and what it wrote to its streams."""

    returncode: int
    stdout: str
    stderr: str


def trueground(
    *words: object,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | bytes = b"",
) -> Done:
    """Run `trueground` with these words; `env` are all its variables, as for subprocess.run."""
    from trueground.cli import main

    typed = stdin.encode() if isinstance(stdin, str) else stdin
    streams = [io.BytesIO(typed), io.BytesIO(), io.BytesIO()]
    texts = [io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in streams]
    code: object = 0
    with (
        _at(cwd),
        mock.patch.dict(os.environ, os.environ if env is None else env, clear=True),
        mock.patch.object(sys, "argv", ["trueground", *map(str, words)]),
        mock.patch.object(sys.modules["__main__"], "__package__", None),  # for the usage line
        mock.patch.multiple(sys, stdin=texts[0], stdout=texts[1], stderr=texts[2]),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        except Exception:  # a process would show it and end in 1
            traceback.print_exc(file=texts[2])
            code = 1
    for text in texts[1:]:
        text.flush()
    assert isinstance(code, int)
    done = Done(code, streams[1].getvalue().decode(), streams[2].getvalue().decode())
    check_screen(" ".join(map(str, words)), done.stdout, done.stderr)
    return done


@contextmanager
def _at(folder: str | Path | None) -> Iterator[None]:
    here = Path.cwd()
    if folder is not None:
        os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
