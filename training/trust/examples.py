"""The examples of a page run again: what they print stands under them."""

from __future__ import annotations

import re
import subprocess
import sys

from trueground.errors import InputError

# A block that writes a script and runs it, perhaps some prose, and the block of its output.
_EXAMPLE = re.compile(
    r"```sh\ncat > (?P<name>\w+)\.py <<'END'\n(?P<code>(?:(?!\n```).)*?)\nEND\n"
    r"python (?P=name)\.py\n```"
    r"(?P<between>(?:(?!```).)*)```text\n(?P<output>(?:(?!```).)*)```",
    re.S,
)


def replayed(text: str, place: str) -> str:
    """The page with the real output under each example. InputError where one fails."""

    def fresh(found: re.Match[str]) -> str:
        start, end = found.start("output") - found.start(), found.end("output") - found.start()
        whole = found.group()
        return whole[:start] + _run(found["code"], f"{place}, {found['name']}.py") + whole[end:]

    return _EXAMPLE.sub(fresh, text)


def _run(code: str, place: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise InputError(f"{place}: found {last!r}; expected an example that runs; mend it")
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
