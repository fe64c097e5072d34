"""What the judges over small models have in common: their options, and how one is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trueground.encoders import EncoderOptions
from trueground.encoders.base import Windowed
from trueground.encoders.options import BACKENDS, DEVICES, DTYPES
from trueground.errors import UsageError
from trueground.judges.calibration import threshold_of
from trueground.judges.windowed import Reader, WindowedJudge
from trueground.plugins import Given

_OPTIONS = (
    "backend",
    "batch_rows",
    "calibration",
    "device",
    "dtype",
    "file",
    "revision",
    "threshold",
    "trust_remote_code",
    "window",
)
_STEP = 8  # tokens: rooms beside claims of nearly the same length are the same


def given_or(name: str, given: Given | None, more: Iterable[str] = ()) -> Given:
    """What was given, seen through; the bare judge of that name where nothing was."""
    given = given or Given("judge", name)
    given.see((*_OPTIONS, *more))
    return given


def model_of(given: Given, default: str | None) -> str:
    """The model that was given, or the default. UsageError where there is neither."""
    model = given.model or default
    if model is None:
        raise UsageError(
            f"the judge {given.name} needs a model: write {given.name}:MODEL, a folder or a name "
            "on the Hugging Face Hub"
        )
    return model


def encoder_options(given: Given) -> EncoderOptions:
    """How the judge's model is run. UsageError for a value that cannot be meant."""
    options = EncoderOptions(
        backend=given.text("backend", "auto", BACKENDS),
        dtype=given.text("dtype", "float32", DTYPES),
        device=given.text("device", "auto", DEVICES),
        file=given.options.get("file"),
        revision=given.options.get("revision"),
        batch_rows=given.whole("batch_rows", 1) if "batch_rows" in given.options else None,
        cache=given.cache,
        trust_remote_code=given.text("trust_remote_code", "false", ("false", "true")) == "true",
        window=given.whole("window", 8, 8) if "window" in given.options else None,
    )
    options.see()
    return options


def made(given: Given, reader: Reader, threshold: float) -> WindowedJudge:
    """The judge over this reader, with the threshold and calibration that were given."""
    judge = WindowedJudge(given.name, reader, threshold)
    threshold, calibration = threshold_of(given, judge.basis, threshold)
    return WindowedJudge(given.name, reader, threshold, calibration)


def rooms_beside(encoder: Windowed, texts: Sequence[str]) -> list[int]:
    """Tokens that each of these texts leaves in the window, rounded down to steps.

    A few tokens are kept back, because two texts side by side can take more than each alone.
    """
    free = encoder.window - encoder.specials
    return [free - (length // _STEP + 1) * _STEP for length in encoder.lengths(texts)]
