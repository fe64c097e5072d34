"""Help texts of all commands at 80 columns."""

from __future__ import annotations

import os
from unittest.mock import patch

import pytest
import typer
from typer.testing import CliRunner

from trueground.cli.app import app

MAX_SEED_TEXT = str(2**63 - 1)


def command_paths() -> list[tuple[str, ...]]:
    """Return the names of all commands, with those of the groups."""
    root = typer.main.get_command(app)
    paths: list[tuple[str, ...]] = []
    commands: list[tuple[tuple[str, ...], object]] = [((), root)]
    while commands:
        path, command = commands.pop()
        paths.append(path)
        if isinstance(command, typer.core.TyperGroup):
            context = typer.Context(command)
            names = command.list_commands(context)
            commands += [((*path, name), command.get_command(context, name)) for name in names]
    return sorted(paths)


@pytest.mark.parametrize("path", command_paths(), ids=lambda path: "-".join(path) or "root")
def test_help_at_80_columns_is_complete(path: tuple[str, ...]) -> None:
    with patch.dict(os.environ, {"COLUMNS": "80"}):
        result = CliRunner().invoke(app, [*path, "--help"])
    lines = result.output.splitlines()
    _, _, listed = result.output.partition("\nCommands:\n")

    assert result.exit_code == 0
    assert max(map(len, lines)) <= 80
    assert "…" not in result.output
    assert [line for line in listed.splitlines() if line.endswith("...")] == []
    assert MAX_SEED_TEXT not in result.output
