"""Models by their name on the Hugging Face Hub: a copy of its layout on 127.0.0.1.

The Hub's client reads its address once, when it is imported: hence a process for each try.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the hf extra is not installed")
pytest.importorskip("transformers", reason="the hf extra is not installed")

from tests.models import tiny_models as tiny
from tests.net.loopback_models import COMMIT, Hub, serving

ASK = """
import asyncio, sys
from trueground.errors import TruegroundError
from trueground.models.base import ChatRequest, Message, Params
from trueground.models.options import ModelOptions
from trueground.models.registry import make_model

async def main():
    model = make_model(sys.argv[1], ModelOptions())
    request = ChatRequest((Message("user", "Where?"),), Params(max_tokens=20))
    print(model.signature, (await model.generate(request)).text)
    await model.close()

try:
    asyncio.run(main())
except TruegroundError as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    root = tmp_path / "hub"
    tiny.save_parrot(root / "tiny" / "parrot", "Paris;no")
    with serving(root) as server:
        yield server


def ask(hub: Hub, name: str, **variables: str) -> str:
    """What the model of that name says, or the error; nothing else may be written."""
    environment = {
        **os.environ,
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
        "HF_HOME": str(hub.root.parent / "cache"),
        "HF_TOKEN": "hf_secret",
        **variables,
    }
    command = [sys.executable, "-W", "error", "-c", ASK, name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "hf_secret" not in done.stdout
    return done.stdout.strip()


def test_a_model_comes_from_the_hub_and_then_from_the_cache(hub: Hub) -> None:
    expected = f"hf/tiny/parrot@{COMMIT[:16]}+tokens-2 Paris;no"
    assert ask(hub, "hf:tiny/parrot") == expected
    fetched = [path for path in hub.asked if path.endswith("model.safetensors")]
    assert fetched
    assert all(COMMIT in path for path in fetched)
    hub.asked.clear()
    assert ask(hub, "hf:tiny/parrot", HF_HUB_OFFLINE="1") == expected
    # A folder needs no network, and none is used though it is there.
    assert ask(hub, f"hf:{hub.root}/tiny/parrot").endswith("Paris;no")
    assert hub.asked == []


def test_a_name_that_the_hub_does_not_know(hub: Hub) -> None:
    unknown = ask(hub, "hf:no/such")
    assert unknown.startswith("InputError: hf:no/such isn't a local folder")
    assert "RepositoryNotFoundError" in unknown
    offline = ask(hub, "hf:tiny/parrot", HF_HUB_OFFLINE="1")
    assert "wasn't downloaded before, and HF_HUB_OFFLINE is set" in offline
    assert "run `hf download tiny/parrot --local-dir FOLDER`" in offline


def test_a_home_of_ours_holds_models_too(hub: Hub, tmp_path: Path) -> None:
    code = (
        "from trueground.net.checkpoints import import_optional\n"
        "print(import_optional('huggingface_hub.constants', '', 'hf').HF_HUB_CACHE)"
    )
    places = {}
    for name in ("HF_HOME", ""):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
        environment |= {"TRUEGROUND_HOME": str(tmp_path / "own")}
        if name:
            environment[name] = str(tmp_path / "theirs")
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        places[name] = done.stdout.strip()
    assert places == {
        "HF_HOME": str(tmp_path / "theirs" / "hub"),
        "": str(tmp_path / "own" / "hub"),
    }


def test_other_formats_of_weights_are_not_fetched(hub: Hub) -> None:
    folder = hub.root / "tiny" / "parrot"
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert ask(hub, "hf:tiny/parrot").startswith("InputError: hf:tiny/parrot has no *.safetensors")
    assert not any("pytorch_model.bin" in path for path in hub.asked)
