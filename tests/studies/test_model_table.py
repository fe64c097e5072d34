"""The models table: names under which models are run, and lines of the user's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trueground.errors import InputError
from trueground.studies.leaderboard.model_info import ModelInfo, find_model, load_models, size_of

# Table 3 of the FaithEval paper, as it is printed there.
TABLE_3 = {
    "Phi-3-mini-128k-instruct": 3.8,
    "Phi-3-medium-128k-instruct": 14,
    "Phi-3.5-mini-instruct": 3.8,
    "LLaMA-3-8B-instruct": 8,
    "LLaMA-3.1-8B-instruct": 8,
    "LLaMA-3-70B-instruct": 70,
    "LLaMA-3.1-70B-instruct": 70,
    "Mistral-7B-instruct-v0.3": 7,
    "Mistral-Nemo-instruct-2407": 12,
    "Gemma-2-9B-it": 9,
    "Gemma-2-27B-it": 27,
    "GPT-3.5 Turbo": None,
    "GPT-4o-mini": None,
    "GPT-4o": None,
    "GPT-4 Turbo": None,
    "Command R": 35,
    "Command R+": 104,
    "Claude 3.5 Sonnet": None,
}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("name", "size"), TABLE_3.items())
def test_the_sizes_are_those_of_table_3(name: str, size: float | None) -> None:
    info = find_model(name)
    assert info is not None
    assert info.size == size
    assert info.organization
    assert info.family
    assert info.training in ("instruct", "chat")
    assert info.open is not None


@pytest.mark.parametrize(
    ("run_as", "name"),
    [
        ("gpt-4o-2024-05-13", "gpt-4o"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct"),
        ("hf:meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B-Instruct"),
        ("llama3.1:70b", "Llama-3.1-70B-Instruct"),
        ("anthropic/claude-3.5-sonnet", "Claude 3.5 Sonnet"),
        ("CohereForAI/c4ai-command-r-plus", "Command R+"),
        ("google/gemma-2-9b-it", "gemma-2-9b-it"),
        ("microsoft/Phi-3.5-mini-instruct", "Phi-3.5-mini-instruct"),
    ],
)
def test_models_are_found_under_the_names_they_run_by(run_as: str, name: str) -> None:
    info = find_model(run_as)
    assert info is not None
    assert info.name == name


def test_an_unknown_model_is_none() -> None:
    assert find_model("gpt-4o-realtime-of-nobody") is None
    assert find_model("") is None


def test_no_two_models_share_a_name() -> None:
    models = load_models()
    names = [
        n.lower().replace(" ", "-") for m in set(models.values()) for n in (m.name, *m.aliases)
    ]
    assert len(names) == len(set(names))


def test_users_add_and_replace_models(own_home: Path, tmp_path: Path) -> None:
    own = {"name": "My-7B", "family": "My", "organization": "Me", "size": 7, "aliases": ["mine"]}
    (own_home / "models.json").write_text(json.dumps([own]))
    assert find_model("me/mine") == ModelInfo("My-7B", "My", "Me", size=7, aliases=("mine",))
    extra = tmp_path / "more.json"
    extra.write_text(json.dumps([{**own, "size": 8}, {**own, "name": "gpt-4o", "aliases": []}]))
    models = load_models(extra)
    for name, size in (("My-7B", 8), ("gpt-4o", 7), ("gpt-4o-mini", None)):
        info = find_model(name, models)
        assert info is not None
        assert info.size == size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"name": "x"}]', "missing required field `family`.*Expected a JSON list such as"),
        ('{"name": "x"}', "Expected `array`"),
        ("[", "more.json"),
        ('[{"name": "x", "family": "y", "organization": "z", "sise": 3}]', "unknown field `sise`"),
    ],
)
def test_load_models_invalid_table_names_the_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "more.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_models(path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_models(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("llama2:70b-chat", 70),
        ("org/My-0.5B-it", 0.5),
        ("mixtral-8x7b", None),
        ("model-7b-vs-13b", None),
        ("70b-club/thing", None),
        ("fp16b1", None),
        ("plain", None),
    ],
)
def test_sizes_read_from_names(name: str, size: float | None) -> None:
    assert size_of(name, None) == (None if size is None else (size, "name"))


def test_load_models_old_spelling_of_organization_is_read(tmp_path: Path) -> None:
    path = tmp_path / "more.json"
    path.write_text('[{"name": "x", "family": "X", "organisation": "Me"}]')

    info = find_model("x", load_models(path))

    assert info is not None
    assert info.organization == "Me"
