"""What the package promises about itself: names, bounds, rooms' faces."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import trueground as tg

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_all_names_are_real_and_sorted() -> None:
    assert sorted(tg.__all__) == tg.__all__
    for name in tg.__all__:
        assert getattr(tg, name) is not None
    assert dir(tg) == sorted(tg.__all__)


def test_lower_bounds_are_the_versions_tested_as_oldest() -> None:
    extras = PROJECT["optional-dependencies"]
    bounded = [
        *PROJECT["dependencies"],
        *extras["pandas"],
        *extras["retrieval"],
        *extras["documents"],
        *extras["graph"],
        *extras["web"],
    ]
    bounds = dict(re.findall(r"^([\w\[\]-]+)>=([\d.]+)", d)[0] for d in bounded)
    lines = (ROOT / "requirements" / "oldest.txt").read_text().splitlines()
    oldest = dict(line.split("==") for line in lines if "==" in line)
    binary = bounds.pop("psycopg[binary]")  # a constraint has no extras
    assert bounds | {"psycopg": binary, "psycopg-binary": binary} == oldest


def test_every_dependency_is_pinned_for_our_own_installs() -> None:
    lines = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    wanted = {re.split(r"[>\[]", d)[0] for d in PROJECT["dependencies"]}
    for group in ("test", "docs"):
        words = (ROOT / "requirements" / f"{group}.txt").read_text().split()
        wanted |= {re.split(r"\[", w)[0] for w in words}
    assert {w.lower() for w in wanted} <= pinned


def test_importing_touches_nothing() -> None:
    """No file opened for writing, no folder made, no socket."""
    code = (
        "import sys\n"
        "seen = []\n"
        "def hook(event, args):\n"
        "    if event in ('os.mkdir', 'socket.connect', 'subprocess.Popen'): seen.append(event)\n"
        "    if event == 'open' and isinstance(args[1], str) and set(args[1]) & set('wax+'):\n"
        "        seen.append(str(args[0]))\n"
        "sys.addaudithook(hook)\n"
        "sys.dont_write_bytecode = True\n"
        "import trueground as tg\n"
        "[getattr(tg, name) for name in tg.__all__]\n"
        "sys.exit(repr(seen) if seen else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
