"""Commands and calls do what they did when the pins were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.pins.__main__ import HERE
from tests.pins.record import differences, play
from tests.pins.scenes import SCENES, SHARED, Scene


@pytest.fixture(autouse=True)
def _options_in_messages() -> None:
    """Errors are recorded as Python shows them."""


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_the_surface_does_what_it_did(scene: Scene, tmp_path: Path) -> None:
    if scene.shared and not SHARED.exists():
        pytest.skip("the shared data are not beside the project")
    old = json.loads((HERE / f"{scene.name}.json").read_text("utf-8"))
    folder = tmp_path / "scene"
    folder.mkdir()
    new = dict(play(scene, folder))
    assert old.keys() == new.keys()
    unlike = {step: found for step in new if (found := differences(old[step], new[step]))}
    assert not unlike
