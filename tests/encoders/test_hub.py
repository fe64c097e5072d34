"""Encoders by their name on the Hugging Face Hub: a copy of its layout on 127.0.0.1.

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
pytest.importorskip("onnxruntime", reason="the onnx extra is not installed")
pytest.importorskip("onnx", reason="onnx, which exports the models of this test, is not installed")

from tests.encoders import tiny
from tests.net.loopback_models import COMMIT, Hub, serving

from trueground.encoders.tiles import library_version

ASK = """
import sys
from trueground.encoders.base import EncoderOptions
from trueground.encoders.models import BiEncoder
from trueground.encoders.tokens import make_token_counter
from trueground.errors import TruegroundError

try:
    options = EncoderOptions(backend=sys.argv[2], cache=False)
    encoder = BiEncoder(sys.argv[1], options)
    vector = encoder.encode(["the city"])[0]
    print(encoder.signature, make_token_counter(sys.argv[1])(["the city"]), vector.round(3)[:3])
except TruegroundError as error:
    print(f"{type(error).__name__}: {error}")
"""


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    folder = tiny.tiny_text_encoder(tmp_path / "hub" / "tiny" / "bert", onnx=True)
    (folder / "pytorch_model.bin").write_bytes(b"code that would run")
    (folder / "modeling.py").write_text("raise SystemExit")
    with serving(tmp_path / "hub") as server:
        yield server


def ask(hub: Hub, name: str, backend: str = "torch", **variables: str) -> str:
    """What the encoder of that name says, or the error; nothing else may be written."""
    environment = {
        **os.environ,
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
        "HF_HOME": str(hub.root.parent / "cache"),
        "HF_TOKEN": "hf_secret",
        **variables,
    }
    command = [sys.executable, "-W", "error", "-c", ASK, name, backend]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "hf_secret" not in done.stdout
    return done.stdout.strip()


def fetched(hub: Hub) -> set[str]:
    """Files of the repository that were asked for at the commit."""
    return {path.partition(f"/{COMMIT}/")[2] for path in hub.asked if f"/{COMMIT}/" in path}


def test_an_encoder_comes_from_the_hub_and_then_from_the_cache(hub: Hub) -> None:
    found = ask(hub, "tiny/bert")
    assert found.startswith(
        f"hf/tiny/bert@{COMMIT[:16]}+{library_version('torch')}+float32+128+mean [2] ["
    )
    assert "model.safetensors" in fetched(hub)
    assert "1_Pooling/config.json" in fetched(hub)
    assert not fetched(hub) & {"pytorch_model.bin", "modeling.py", "onnx/model.onnx"}
    hub.asked.clear()
    assert ask(hub, "tiny/bert", HF_HUB_OFFLINE="1") == found
    assert hub.asked == []


def test_an_onnx_file_and_a_revision(hub: Hub) -> None:
    found = ask(hub, f"tiny/bert@{COMMIT}", "auto")
    runtime = library_version("onnxruntime")
    start = f"hf/tiny/bert@{COMMIT[:16]}/onnx/model.onnx+{runtime}+float32+128+mean [2] ["
    assert found.startswith(start)
    assert "onnx/model.onnx" in fetched(hub)
    assert "model.safetensors" not in fetched(hub)


def test_a_name_that_the_hub_does_not_know(hub: Hub) -> None:
    assert ask(hub, "no/such").startswith("InputError: no/such isn't a local folder")
    offline = ask(hub, "tiny/bert", HF_HUB_OFFLINE="1")
    assert "run `hf download tiny/bert --local-dir FOLDER`" in offline


def test_other_formats_of_weights_are_not_fetched(hub: Hub) -> None:
    (hub.root / "tiny" / "bert" / "model.safetensors").unlink()
    assert ask(hub, "tiny/bert").startswith("InputError: tiny/bert has no *.safetensors")
    assert "pytorch_model.bin" not in fetched(hub)
