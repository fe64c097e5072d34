"""What is published: a paper's own numbers (`published.json`), and what is known about models.

The table of models is `models_table.json`. `models.json` in the folder of TRUEGROUND_HOME and a
file given by the caller hold more in the same form, a JSON list; later ones replace earlier ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec

from trueground.errors import InputError
from trueground.net.files import home
from trueground.options import Value


class PublishedScore(msgspec.Struct, frozen=True):
    """One printed number, a fraction of 1 (a rating stays on its scale of 1 to 5).

    `model` is its name in the models table, `printed` how the paper writes it there. `task` is ""
    where the paper does not say which. `dataset` is None for the average; `by` names the part of
    the items, as in {"meta.popularity": "high"}, and is empty for all of them. `options` are the
    task's options where they are not the default ones, `sd` the standard deviation over runs where
    one is printed, on the scale of the value.
    """

    model: str
    task: str
    metric: str
    value: float
    dataset: str | None = None
    options: dict[str, Value] = {}
    by: dict[str, str] = {}
    printed: str | None = None
    sd: float | None = None


class PublishedRate(msgspec.Struct, frozen=True):
    """One printed degradation rate: (baseline - model) / baseline, a fraction of 1."""

    model: str
    baseline: str
    task: str
    metric: str
    value: float


class PublishedRank(msgspec.Struct, frozen=True):
    """One printed row of ranks; 1 is the best. `difference` is printed too: original - new."""

    model: str
    task: str
    original: int
    new: int
    difference: int
    printed: str | None = None


class PublishedCorrelation(msgspec.Struct, frozen=True):
    """How far one metric agrees with people, item by item; coefficients from -1 to 1.

    `judge` is the model behind a judged metric, `printed` how the paper names the two.
    """

    metric: str
    spearman: float
    kendall: float
    judge: str | None = None
    printed: str | None = None


class PublishedDistribution(msgspec.Struct, frozen=True):
    """One metric's values over the items that people gave `label`; fractions of 1."""

    metric: str
    label: int
    mean: float
    median: float
    sd: float
    judge: str | None = None
    printed: str | None = None


class PublishedNumber(msgspec.Struct, frozen=True):
    """A printed number that is no model's score: a count, an agreement, a share of something.

    A share and a relative change are fractions of 1. `of` says what a share is a share of, `task`
    is "" where the number is over all tasks. `of_label` is the human label that it tells of, where
    it says how far people and a metric, or people among themselves, agree.
    """

    name: str
    value: float
    unit: Literal["share", "count", "mean", "coefficient", "relative"]
    of: str = ""
    task: str = ""
    of_label: str = ""


class PublishedTable(msgspec.Struct, frozen=True):
    """One table, or the numbers of the running text (`text`); `place` says where it stands.

    `of_label` is the human label that all of the table is about, as records have it.
    """

    id: str
    place: str
    source: str
    scores: tuple[PublishedScore, ...] = ()
    ranks: tuple[PublishedRank, ...] = ()
    rates: tuple[PublishedRate, ...] = ()
    correlations: tuple[PublishedCorrelation, ...] = ()
    distributions: tuple[PublishedDistribution, ...] = ()
    numbers: tuple[PublishedNumber, ...] = ()
    of_label: str = ""


@cache
def published(benchmark: str) -> tuple[PublishedTable, ...]:
    """The paper's tables; empty where nothing was published for the benchmark.

    Where tables print the same score, the first is the one to compare with.
    """
    file = files("trueground.benchmarks") / benchmark.replace("-", "_") / "published.json"
    if not file.is_file():
        return ()
    found = msgspec.json.decode(file.read_bytes())
    parts = {name: found[name] for name in PublishedTable.__struct_fields__ if name in found}
    source = parts.pop("source")
    return tuple(
        msgspec.convert(
            {"id": id_, "place": place, "source": source}
            | {name: tables[id_] for name, tables in parts.items() if id_ in tables},
            PublishedTable,
        )
        for id_, place in found["tables"].items()
    )


OWN_FILE = "models.json"
# "7b", "0.5B", "llama2:70b-chat"; not "8x7b", whose size is no product, and not "fp16b1".
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)b(?![a-z0-9])", re.IGNORECASE)
_SPACES = re.compile(r"[\s_]+")


class ModelInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model. `size` is in billions of parameters, None where it is not public.

    `base` is the model, or the generation, that it was made from ("" where that is not public);
    `aliases` are other names under which it is run.
    """

    name: str
    family: str
    organisation: str
    size: float | None = None
    base: str = ""
    training: str = ""
    open: bool | None = None
    aliases: tuple[str, ...] = ()


Models = Mapping[str, ModelInfo]


def load_models(extra: Path | None = None) -> Models:
    """All models by every name that `find_model` looks for. InputError: a file that is no table."""
    found = dict(_shipped())
    own = home() / OWN_FILE
    for path in (own if own.is_file() else None, extra):
        if path is None:
            continue
        try:
            models = msgspec.json.decode(path.read_bytes(), type=list[ModelInfo])
        except OSError as error:
            raise InputError(f"the models table {path} cannot be read: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"the models table {path}: {error}. Expected a JSON list such as "
                '[{"name": "my-model", "family": "My", "organisation": "Me", "size": 7}]'
            ) from error
        found |= _by_name(models)
    return MappingProxyType(found)


def find_model(name: str, models: Models | None = None) -> ModelInfo | None:
    """The model of that name or alias, in any case, also behind an organisation's or `hf:` prefix.

    `models` is what `load_models` gave; without it the shipped table and the user's own are read.
    """
    models = load_models() if models is None else models
    key = _key(name.removeprefix("hf:"))
    return models.get(key) or models.get(key.rpartition("/")[2])


def size_of(name: str, facts: ModelInfo | None) -> tuple[float, str] | None:
    """Billions of parameters and who says so: the models table, else the name ("…-7b-…")."""
    if facts is not None and facts.size:
        return facts.size, "models table"
    sizes = [float(size) for size in _SIZE.findall(name.rpartition("/")[2])]
    return (sizes[0], "name") if len(sizes) == 1 and sizes[0] > 0 else None


@cache
def _shipped() -> Models:
    file = files("trueground.benchmarks") / "models_table.json"
    return _by_name(msgspec.json.decode(file.read_bytes(), type=list[ModelInfo]))


def _by_name(models: list[ModelInfo]) -> dict[str, ModelInfo]:
    return {_key(name): model for model in models for name in (model.name, *model.aliases)}


def _key(name: str) -> str:
    return _SPACES.sub("-", name.strip().lower())
