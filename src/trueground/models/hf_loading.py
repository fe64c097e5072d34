"""Loading a Hugging Face model: weights from safetensors only, and all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from trueground.errors import InputError, TruegroundError, UsageError
from trueground.models.hf_source import Source, needed, no_safetensors, reason
from trueground.models.options import ModelOptions


@dataclass(frozen=True)
class Loaded:
    """A model in memory. `window` is the most tokens it can attend to, None if not limited."""

    model: Any
    tokenizer: Any
    seq2seq: bool
    window: int | None


def load(source: Source, options: ModelOptions) -> Loaded:
    """Load weights and tokenizer. InputError, or UsageError where code would have to be trusted."""
    try:
        with _without_progress_bars():
            return _load(source, options)
    except TruegroundError:
        raise
    except Exception as error:  # every architecture has its own ways to fail
        if "trust_remote_code" in str(error):
            raise UsageError(
                f"{source.where} brings Python code of its own, which would run on this machine; "
                "if you trust its publisher, pass --trust-remote-code"
            ) from error
        if "use_safetensors" in str(error):
            raise no_safetensors(source.where) from error
        raise InputError(f"hf:{source.where} cannot be loaded: {reason(error)}") from error


def _load(source: Source, options: ModelOptions) -> Loaded:
    torch, transformers = needed("torch"), needed("transformers")
    common: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    if source.revision is not None:
        common["revision"] = source.revision
    config = transformers.AutoConfig.from_pretrained(source.where, **common)
    seq2seq = bool(config.is_encoder_decoder)
    kind = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    quantized = {}
    if options.quantize == "4bit":
        quantized["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
    model, info = kind.from_pretrained(
        source.where,
        config=config,
        use_safetensors=True,
        dtype=options.dtype or "auto",
        device_map=options.device_map or _device(torch),
        output_loading_info=True,
        **quantized,
        **common,
    )
    if missing := sorted(info["missing_keys"]):
        raise InputError(
            f"hf:{source.where}: the weights lack {len(missing)} parts of the model, such as "
            f"{missing[0]}; they would be random numbers. Fetch the files again."
        )
    tokenizer = transformers.AutoTokenizer.from_pretrained(source.where, **common)
    model.eval()
    _settle(transformers, model, tokenizer)
    window = getattr(config.get_text_config(), "max_position_embeddings", None)
    return Loaded(model, tokenizer, seq2seq, window if window and window > 0 else None)


def _device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _settle(transformers: Any, model: Any, tokenizer: Any) -> None:
    """Keep the model's special tokens and none of its habits: parameters come with each call."""
    given = model.generation_config
    kept = {
        name: getattr(given, name, None)
        for name in (
            "bos_token_id",
            "eos_token_id",
            "pad_token_id",
            "decoder_start_token_id",
            "forced_bos_token_id",
            "forced_eos_token_id",
            "suppress_tokens",
            "begin_suppress_tokens",
        )
    }
    if kept["eos_token_id"] is None:
        kept["eos_token_id"] = tokenizer.eos_token_id
    ends = kept["eos_token_id"]
    first_end = ends[0] if isinstance(ends, list) else ends
    for pad in (tokenizer.pad_token_id, first_end, 0):
        if kept["pad_token_id"] is None:
            kept["pad_token_id"] = pad
    model.generation_config = transformers.GenerationConfig(**kept)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """The run has a progress bar of its own; others would be drawn across it."""
    logging = needed("transformers").utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
