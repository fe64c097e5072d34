"""Entry points: read as importlib.metadata does, and loaded only as far as needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from trueground.components.plugins import PREFIX, EntryPoint
from trueground.components.registry import Registry
from trueground.errors import PluginError

ROOT = Path(__file__).parent.parent


def as_set(group: str) -> set[tuple[str, str]]:
    return {(entry.name, entry.value) for entry in EntryPoint.of_group(group)}


def test_entry_points_are_those_of_importlib() -> None:
    groups = {group for group in metadata.entry_points().groups if group.startswith(PREFIX)}
    expected = {
        group: {(entry.name, entry.value) for entry in metadata.entry_points(group=group)}
        for group in groups
    }

    assert groups >= {"trueground.benchmarks", "trueground.builders", "trueground.commands"}
    assert {group: as_set(group) for group in groups} == expected


def test_entry_points_of_this_package_are_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    for group, lines in project["entry-points"].items():
        found = {e.name: e.value for e in EntryPoint.of_group(group) if e.package == "trueground"}
        assert found == lines, "install again: pip install --no-deps --editable ."


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def write_metadata(folder: Path, name: str, text: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "entry_points.txt").write_text(text, encoding="utf-8")


def test_entry_points_skip_comments_extras_and_other_groups(folder: Path) -> None:
    write_metadata(
        folder,
        "a_b-1.dist-info",
        "[console_scripts]\nx = y:z\n\n[trueground.toys]\n# no\n; no\nball = a.b : c [extra]\n",
    )

    assert [e[:3] for e in EntryPoint.of_group("trueground.toys")] == [
        ("a_b", "trueground.toys", "ball")
    ]
    assert EntryPoint.of_group("console_scripts") == []


def test_entry_points_of_first_folder_win(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_metadata(folder / "old", "A.b-1.dist-info", "[trueground.toys]\nball = old\n")
    write_metadata(folder / "new", "a_b.egg-info", "[trueground.toys]\nball = new\n")
    monkeypatch.syspath_prepend(str(folder / "old"))
    monkeypatch.syspath_prepend(str(folder / "new"))

    assert [entry.value for entry in EntryPoint.of_group("trueground.toys")] == ["new"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param("no_such_module", "ModuleNotFoundError: No module named", id="module"),
        pytest.param("trueground.types:nothing", "AttributeError: module", id="attribute"),
        pytest.param("", "ValueError: Empty module name", id="empty"),
    ],
)
def test_load_of_broken_entry_names_package_and_reason(value: str, reason: str) -> None:
    entry = EntryPoint("theirs", "trueground.toys", "ball", value)

    with pytest.raises(PluginError, match=f"the package theirs adds 'ball'.*{reason}"):
        entry.load()


def test_component_of_entry_point_is_known_to_other_processes(folder: Path) -> None:
    write_metadata(folder, "theirs-1.dist-info", "[trueground.judges]\nmine = theirs\n")

    judges = Registry[object]("judge")
    judges.register("mine", object())

    assert judges.is_shared(["mine"])


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("ask", "package"),
    [
        pytest.param(
            "from trueground.benchmarks.base import get_benchmark as get",
            "wings.papers",
            id="benchmark",
        ),
        pytest.param(
            "from trueground.wings.papers.builders.registry import get_builder as get",
            "wings.papers.builders",
            id="builder",
        ),
    ],
)
def test_component_by_name_loads_no_other(ask: str, package: str) -> None:
    code = (
        f"{ask}\nimport sys\nassert get('kalma').name == 'kalma'\n"
        f"names = ('faitheval', 'truly_ground', 'instruct_qa', 'contexts', 'grounding', 'kalma')\n"
        f"print(*[n for n in names if f'trueground.{package}.{{n}}' in sys.modules])"
    )

    assert run_python(code) == "kalma\n"


def test_broken_package_is_a_warning_for_lists(folder: Path) -> None:
    write_metadata(folder, "theirs-1.dist-info", "[trueground.judges]\nmine = no_such_module\n")
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n"
        "from trueground.judges.registry import kinds\nprint(len(kinds()) > 3)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout == "True\n"
    assert done.stderr.startswith("trueground: the package theirs adds 'mine'")
    assert done.stderr.count("\n") == 1
