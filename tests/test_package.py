"""What the package promises about itself: names, bounds, rooms' faces."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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


REQUIREMENTS = ROOT / "requirements"


def locked_packages(name: str) -> dict[str, int]:
    """Return the packages of a lock file, each with its number of hashes."""
    hashes: dict[str, int] = {}
    for line in (REQUIREMENTS / f"{name}.txt").read_text().splitlines():
        if pin := re.match(r"([\w.-]+)==", line):
            package = pin[1].lower()
            hashes.setdefault(package, 0)
        else:
            hashes[package] += line.count("--hash=sha256:")
    return hashes


@pytest.mark.parametrize("name", ["base", "test", "long", "hf", "docs"])
def test_requirements_of_every_install_carry_hashes(name: str) -> None:
    without_hash = [package for package, count in locked_packages(name).items() if count == 0]
    assert without_hash == []


@pytest.mark.parametrize("name", ["base", "test", "long", "hf", "docs"])
def test_requirements_of_every_install_are_complete(name: str) -> None:
    lines = (REQUIREMENTS / f"{name}.in").read_text().splitlines()
    lines = [line for line in lines if line and not line.startswith("#")]
    requested = [re.split(r"[>\[]", line)[0] for line in [*PROJECT["dependencies"], *lines]]
    locked = locked_packages(name)
    assert [package for package in requested if package.lower() not in locked] == []


def test_requirements_with_the_same_package_have_the_same_version() -> None:
    versions: dict[str, set[str]] = {}
    for name in ("base", "test", "long", "hf"):
        for package, pin in re.findall(
            r"^([\w.-]+)(==.*?)(?: \\)?$", (REQUIREMENTS / f"{name}.txt").read_text(), re.MULTILINE
        ):
            versions.setdefault(f"{package} {pin.partition(';')[2]}", set()).add(pin)
    assert {package: pins for package, pins in versions.items() if len(pins) > 1} == {}


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
