"""From names to models: prefixes count only where they are known."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trueground.errors import MissingExtraError, UsageError
from trueground.models.openai import OpenAIModel
from trueground.models.options import ModelOptions
from trueground.models.registry import kinds, make_model, model, models
from trueground.models.replay import FakeModel, ReplayModel

LOCAL = "http://127.0.0.1:1/v1"


@pytest.fixture
def own_kinds() -> Iterator[None]:
    """What a test registers is gone after it."""
    before = dict(models)
    yield
    models.clear()
    models.update(before)


@pytest.mark.parametrize("name", ["gpt-4o", "llama3:8b", "org/model:free", "fakes:x", ":x", "HF:x"])
def test_other_names_are_those_of_an_endpoint(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", LOCAL)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    made = make_model(name, ModelOptions())
    assert isinstance(made, OpenAIModel)
    assert made.name == name


@pytest.mark.parametrize("name", ["hf:org/model", "fake:echo", "llama3:8b"])
def test_with_a_base_url_names_are_verbatim(name: str) -> None:
    made = make_model(name, ModelOptions(base_url=LOCAL))
    assert isinstance(made, OpenAIModel)
    assert made.name == name


def test_prefixes_choose_kinds(tmp_path: Path) -> None:
    file = tmp_path / "odd:name.jsonl"
    file.write_text('{"id": 1, "response": "a"}\n')
    assert isinstance(make_model(f"replay:{file}", ModelOptions()), ReplayModel)
    fake = make_model("fake:a: b", ModelOptions())
    assert isinstance(fake, FakeModel)
    assert fake.name == "fake:a: b"


@pytest.mark.parametrize("name", ["", " ", "fake:", "replay:", "hf:"])
def test_a_name_is_needed(name: str) -> None:
    with pytest.raises(UsageError, match=r"is empty|is incomplete"):
        make_model(name, ModelOptions())


@pytest.mark.usefixtures("own_kinds")
def test_a_kind_of_another_package() -> None:
    @model("shout")
    def shout(rest: str, options: ModelOptions) -> FakeModel:
        """Answers in capitals.

        And more.
        """
        return FakeModel(rest.upper(), concurrency=options.batch_size)

    made = make_model("shout:hey: you", ModelOptions(batch_size=3))
    assert isinstance(made, FakeModel)
    assert made.signature.endswith("HEY: YOU")
    assert made.concurrency == 3
    assert {"name": "shout:NAME", "doc": "Answers in capitals."} in kinds()
    with pytest.raises(UsageError, match="a kind of model named 'shout' exists already"):
        model("shout")(lambda rest, options: FakeModel(rest))


def test_kinds_are_described() -> None:
    listed = {kind["name"]: kind for kind in kinds()}
    assert set(listed) >= {"NAME", "fake:TEXT", "replay:FILE", "hf:NAME_OR_PATH"}
    assert listed["hf:NAME_OR_PATH"]["extra"] == "hf"
    assert all(kind["doc"].endswith(".") for kind in listed.values())


@pytest.mark.parametrize("package", ["torch", "transformers", "accelerate"])
def test_a_missing_extra_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(MissingExtraError, match=r'pip install "trueground\[hf\]"'):
        make_model("hf:org/model", ModelOptions())
