"""Loading a model through `transformers`: from safetensors only, whole, and its errors in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from trueground.errors import InputError, TruegroundError, UsageError
from trueground.net.checkpoints import no_safetensors, reason


@contextmanager
def loading(
    needed: Callable[[str], Any], shown: str, trust: str = "pass --trust-remote-code"
) -> Iterator[Any]:
    """The `transformers` module, without progress bars; what goes wrong inside comes out in words.

    `trust` is how the user says that the model's own code may run.
    InputError; UsageError where the model brings code that would have to be trusted.
    """
    transformers = needed("transformers")
    try:
        with _quietly(transformers):
            yield transformers
    except TruegroundError:
        raise
    except Exception as error:  # every architecture has its own ways to fail
        if "trust_remote_code" in str(error):
            raise UsageError(
                f"{shown} brings Python code of its own, which would run on this machine; "
                f"if you trust its publisher, {trust}"
            ) from error
        if "use_safetensors" in str(error):
            raise no_safetensors(shown) from error
        raise InputError(f"{shown} cannot be loaded: {reason(error)}") from error


def check_complete(shown: str, missing: Iterable[str]) -> None:
    """InputError where parts of the model are in no file of weights."""
    if parts := sorted(missing):
        raise InputError(
            f"{shown}: the weights lack {len(parts)} parts of the model, such as "
            f"{parts[0]}; they would be random numbers. Fetch the files again."
        )


@contextmanager
def _quietly(transformers: Any) -> Iterator[None]:
    """The run has a progress bar of its own; and what matters of a loading is said as an error."""
    logging = transformers.utils.logging
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
