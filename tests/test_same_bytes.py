"""Commands write the same bytes on every kind of machine that can be tried here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.machines import ALL, HUMAN, Machine, compute, machines, write_data

MACHINES = machines()
SETS = ("lfqa_verif", "wice_claim", "true_frank", "ab_expertqa")


@pytest.fixture(scope="module")
def computed_here(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("machines")
    write_data(folder / "data", 60)
    return folder, compute(Machine({}), folder / "here", 100)


@pytest.mark.parametrize(
    "name", [ALL, *(pytest.param(name, marks=pytest.mark.long) for name in MACHINES if name != ALL)]
)
def test_commands_on_other_machine_write_same_bytes(
    name: str, computed_here: tuple[Path, dict[str, str]]
) -> None:
    if reason := MACHINES[name].skipped:
        pytest.skip(reason)
    folder, expected = computed_here
    assert compute(MACHINES[name], folder / name, 100) == expected


@pytest.mark.long
@pytest.mark.skipif(not HUMAN.is_dir(), reason="the labeled sets are not here")
def test_commands_on_labeled_sets_write_same_bytes(tmp_path: Path) -> None:
    write_data(tmp_path / "data", 600, SETS)
    expected = compute(Machine({}), tmp_path / "here", 500)
    for name, machine in MACHINES.items():
        if machine.skipped is None:
            assert compute(machine, tmp_path / name, 500) == expected, name


def test_every_command_has_written_its_files(
    computed_here: tuple[Path, dict[str, str]],
) -> None:
    written = set(computed_here[1])
    assert written >= {
        "run_a/items.jsonl",
        "run_a/summary.json",
        "run_a/report.html",
        "compared/comparison.html",
        "validated/validation.json",
        "platt/calibration.json",
        "isotonic/calibration.json",
        "stack.json",
    }
