"""Loading a Hugging Face model: weights from safetensors only, and all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueground.models.hf_source import needed
from trueground.models.options import ModelOptions
from trueground.net.checkpoints import CheckpointSource, check_complete, loading


@dataclass(frozen=True)
class Loaded:
    """A model in memory. `window` is the most tokens it can attend to, None if not limited."""

    model: Any
    tokenizer: Any
    seq2seq: bool
    window: int | None


def load(source: CheckpointSource, options: ModelOptions) -> Loaded:
    """Load weights and tokenizer. InputError, or UsageError where code would have to be trusted."""
    with loading(needed, f"hf:{source.where}") as transformers:
        return _load(transformers, source, options)


def _load(transformers: Any, source: CheckpointSource, options: ModelOptions) -> Loaded:
    torch = needed("torch")
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
    check_complete(f"hf:{source.where}", info["missing_keys"])
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
