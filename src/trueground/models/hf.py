"""Local Hugging Face models: decoders (Llama, GPT-2 …) and encoder-decoders (Flan-T5 …).

Weights are loaded from safetensors only, and all of them, with the first call that needs them.
"""

from __future__ import annotations

import gc
import hashlib
import random
from functools import partial
from importlib.util import find_spec
from typing import Any

import msgspec

from trueground.errors import MissingExtraError, UsageError
from trueground.models.base import ChatRequest, Message, Reply, TokenUsage
from trueground.models.hf_generate import (
    MAX_TOKENS,
    WHAT,
    Batcher,
    Loaded,
    Output,
    TokenizedPrompt,
    generate,
    import_extra,
    in_halves,
)
from trueground.models.hf_tokens import ControlTokenError
from trueground.models.openai_replies import split_thinking
from trueground.models.options import ModelOptions
from trueground.models.perplexity import UnscoredText, as_logprob
from trueground.models.prompts import lay_out, read_wrapper
from trueground.net import CheckpointSource, RequestedModel
from trueground.types import Status

_DTYPES = ("auto", "float32", "float16", "bfloat16")
# How prompts are tokenized. Part of all signatures: a change must not meet older cached replies.
_TOKENIZATION = "tokens-2"
_SPECIAL = (
    *("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"),
    *("forced_bos_token_id", "forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens"),
)


def check(options: ModelOptions) -> None:
    """Whether what is asked for can be had, before it is loaded. UsageError, MissingExtraError."""
    for module in ("torch", "transformers", "accelerate"):
        if find_spec(module) is None:
            raise MissingExtraError(WHAT, "hf")
    if options.dtype is not None and options.dtype not in _DTYPES:
        raise UsageError(f"dtype {options.dtype!r}; expected one of {', '.join(_DTYPES)}")
    if options.quantize is not None:
        if not import_extra("torch").cuda.is_available():
            raise UsageError(
                "4-bit quantization needs an NVIDIA GPU, and PyTorch finds none on this machine; "
                "leave quantization out, or run where there is one"
            )
        if find_spec("bitsandbytes") is None:
            raise MissingExtraError("4-bit quantization", "hf-4bit")


def find(name: str, options: ModelOptions) -> CheckpointSource:
    """The folder of that name, or else the model on the Hub; nothing is loaded. InputError."""
    requested = RequestedModel(name, prefix="hf:", what=WHAT)
    folder = requested.local_folder()
    if folder is None:
        source = requested.resolve()
    else:
        requested.read_config(folder)
        weights = sorted(folder.glob("*.safetensors"))
        if not weights:
            raise requested.no_safetensors()
        source = CheckpointSource.of_folder(folder, weights)
    # What of the options changes the answers.
    changes = [_TOKENIZATION]
    changes += [change for change in (options.dtype, options.quantize) if change is not None]
    texts = [] if options.wrapper is None else [options.wrapper.read_bytes()]
    if options.extra:
        texts.append(msgspec.json.encode(options.extra, order="sorted"))
    changes += [hashlib.sha256(text).hexdigest()[:16] for text in texts]
    signature = "+".join([source.signature, *changes])
    return CheckpointSource(source.where, source.revision, signature)


def load(source: CheckpointSource, options: ModelOptions) -> Loaded:
    """Load weights and tokenizer. InputError, or UsageError where code would have to be trusted."""
    torch, requested = import_extra("torch"), RequestedModel(source.where, prefix="hf:")
    common: dict[str, Any] = {"trust_remote_code": options.trust_remote_code}
    if source.revision is not None:
        common["revision"] = source.revision
    with requested.loading(import_extra) as transformers:
        config = transformers.AutoConfig.from_pretrained(source.where, **common)
        seq2seq = bool(config.is_encoder_decoder)
        kind = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
        device = "mps" if torch.backends.mps.is_available() else "cpu"
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
            device_map=options.device_map or ("cuda" if torch.cuda.is_available() else device),
            output_loading_info=True,
            **quantized,
            **common,
        )
        requested.check_complete(info["missing_keys"])
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.where, **common)
        model.eval()
        # The model's special tokens stay, none of its habits: parameters come with each call.
        own = {name: getattr(model.generation_config, name, None) for name in _SPECIAL}
        if own["eos_token_id"] is None:
            own["eos_token_id"] = tokenizer.eos_token_id
        ends = own["eos_token_id"]
        for pad in (tokenizer.pad_token_id, ends[0] if isinstance(ends, list) else ends, 0):
            if own["pad_token_id"] is None:
                own["pad_token_id"] = pad
        model.generation_config = transformers.GenerationConfig(**own)
        window = getattr(config.get_text_config(), "max_position_embeddings", None)
        return Loaded(model, tokenizer, seq2seq, window if window and window > 0 else None)


class _Local:
    """What a model and a scorer on this machine have in common: options, source, memory."""

    cacheable = True
    _batcher: Batcher[Any, Any]

    def __init__(self, name: str, options: ModelOptions) -> None:
        check(options)
        self._options = options
        self._source = find(name, options)
        self._loaded: Loaded | None = None
        self.name = f"hf:{name}"
        self.signature = self._source.signature

    def _load(self) -> Loaded:
        if self._loaded is None:
            self._loaded = load(self._source, self._options)
        return self._loaded

    async def close(self) -> None:
        """Give the memory back; a later call loads the model again."""
        await self._batcher.close()
        if self._loaded is not None:
            self._loaded = None
            gc.collect()
            import_extra("torch").cuda.empty_cache()


class HFModel(_Local):
    """A model of the `transformers` library on this machine.

    Raises MissingExtraError, UsageError for options that cannot be had here, and InputError for a
    model that cannot be found or loaded.
    """

    def __init__(self, name: str, options: ModelOptions) -> None:
        self._wrapper = None if options.wrapper is None else read_wrapper(options.wrapper)
        super().__init__(name, options)
        self._batcher = Batcher(
            self._answer,
            options.batch_size,
            # All but the seed, of which every row has its own.
            alike=lambda request: msgspec.structs.replace(request.params, seed=None),
            length=lambda request: sum(len(m.content) for m in request.messages),
        )
        self.concurrency = 2 * options.batch_size

    async def generate(self, request: ChatRequest) -> Reply:
        """One reply; calls under way at the same time are answered in batches."""
        reply: Reply = await self._batcher.ask(request)
        return reply

    def _answer(self, requests: list[ChatRequest]) -> list[Reply]:
        """Replies to requests with equal parameters (seeds aside); runs in the worker thread."""
        loaded = self._load()
        extra = {**self._options.extra, **requests[0].params.extra}
        template_options = extra.pop("chat_template_kwargs", {})
        params = msgspec.structs.replace(requests[0].params, extra=extra)
        limit = params.max_tokens or MAX_TOKENS
        replies: dict[int, Reply] = {}
        prompts: dict[int, TokenizedPrompt] = {}
        opened: set[int] = set()
        chat = self._wrapper is None and bool(loaded.tokenizer.chat_template)
        render = partial(self._lay_out, loaded.tokenizer, options=template_options)
        for number, request in enumerate(requests):
            try:
                prompt = loaded.prompts.encode(
                    request.messages, render, special=not chat or loaded.seq2seq
                )
            except ControlTokenError as error:
                replies[number] = Reply(status=Status.ERROR, error=str(error), model=self.signature)
                continue
            tokens = prompt.tokens or [loaded.model.generation_config.pad_token_id]
            # An encoder-decoder has a window for each, prompt and answer.
            needs = len(tokens) + (0 if loaded.seq2seq else limit)
            if loaded.window is not None and needs > loaded.window:
                answer = "" if loaded.seq2seq else f" and up to {limit} for the answer"
                replies[number] = Reply(
                    status=Status.TOO_LONG,
                    error=f"the prompt has {len(tokens)} tokens{answer}; the model's window has "
                    f"{loaded.window}",
                    usage=TokenUsage(len(tokens)),
                    model=self.signature,
                )
                continue
            seed = random.SystemRandom().getrandbits(63)
            if request.params.seed is not None:
                # The same for the same call; different for each prompt and draw.
                words = f"{request.params.seed}/{request.draw}/{tokens}"
                seed = random.Random(words).getrandbits(63)
            prompts[number] = TokenizedPrompt(tokens, seed)
            if chat and prompt.layout.rstrip().endswith("<think>"):
                opened.add(number)
        if prompts:
            outputs = generate(loaded, list(prompts.values()), params, self._batcher.closing)
            for (number, tokenized), output in zip(prompts.items(), outputs, strict=True):
                replies[number] = self._reply(tokenized, output, number in opened)
        return [replies[number] for number in range(len(requests))]

    def _lay_out(
        self, tokenizer: Any, messages: tuple[Message, ...], options: dict[str, Any]
    ) -> str:
        """The prompt. A wrapper that was given comes before the chat template."""
        if self._wrapper is not None or not tokenizer.chat_template:
            return lay_out(messages, self._wrapper)
        from jinja2 import TemplateError

        reason = ""
        for turns in (messages, _without_system(messages)):
            try:
                text: str = tokenizer.apply_chat_template(
                    [{"role": m.role, "content": m.content} for m in turns],
                    tokenize=False,
                    add_generation_prompt=True,
                    **options,
                )
            except TemplateError as error:
                reason = str(error)
                continue
            # Some templates leave a system message out without a word.
            if all(m.content.strip() in text for m in turns if m.role == "system"):
                return text
        raise UsageError(
            f"the chat template of {self.name} refuses these messages ({reason}); "
            "pass --wrapper FILE to lay them out otherwise"
        )

    def _reply(self, prompt: TokenizedPrompt, output: Output, opened: bool) -> Reply:
        usage = TokenUsage(len(prompt.tokens), output.count)
        if output.error is not None:
            return Reply(status=Status.ERROR, error=output.error, model=self.signature, usage=usage)
        cut = output.finish == "length"
        text, reasoning = split_thinking("<think>" * opened + output.text, may_be_open=False)
        return Reply(
            text=text,
            reasoning=reasoning,
            finish_reason=output.finish,
            status=Status.TRUNCATED if cut else None,
            model=self.signature,
            usage=usage,
            logprobs=output.logprobs,
        )


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The same with the system text at the head of the first user message."""
    system = "\n\n".join(m.content for m in messages if m.role == "system")
    rest = [m for m in messages if m.role != "system"]
    if not system:
        return tuple(rest)
    if rest and rest[0].role == "user":
        system, rest = f"{system}\n\n{rest[0].content}", rest[1:]
    return (Message("user", system), *rest)


class LocalScorer(_Local):
    """A decoder of the `transformers` library that gives perplexities (models.perplexity).

    A text that is longer than the model's window is unscored: nothing is cut off. Raises
    MissingExtraError, UsageError and InputError as a model `hf:…` does.
    """

    def __init__(self, name: str, options: ModelOptions) -> None:
        super().__init__(name, options)
        self._batcher = Batcher(self._score, options.batch_size, alike=lambda _: None, length=len)
        self.signature = f"logprobs/{self._source.signature}"

    async def logprobs(self, text: str) -> list[float]:
        """See PromptScorer. Texts under way at the same time are scored in batches."""
        if text != text.encode("utf-8", "replace").decode():
            raise UnscoredText("call_failed", "the text holds half a character (a lone surrogate)")
        found: list[float] | UnscoredText = await self._batcher.ask(text)
        if isinstance(found, UnscoredText):
            raise found
        return found

    def _score(self, texts: list[str]) -> list[list[float] | UnscoredText]:
        """The numbers of each text, or why it has none; runs in the worker thread."""
        loaded = self._load()
        if loaded.seq2seq:
            raise UsageError(
                f"{self.name} is an encoder-decoder, which gives no perplexity of a text; name a "
                "decoder, such as GPT-2, Llama or Qwen"
            )
        results: dict[int, list[float] | UnscoredText] = {}
        rows: dict[int, list[int]] = {}
        for number, text in enumerate(texts):
            try:
                tokens = _begun_tokens(loaded, text)
            except ControlTokenError as error:
                results[number] = UnscoredText("call_failed", str(error))
                continue
            if len(tokens) < 2:
                short = f"the text has {len(tokens)} tokens; expected 2 or more"
                results[number] = UnscoredText("too_short", short)
            elif loaded.window is not None and len(tokens) > loaded.window:
                long = f"the text has {len(tokens)} tokens; the model's window has {loaded.window}"
                results[number] = UnscoredText("too_long", long)
            else:
                rows[number] = tokens
        if rows:
            scored = in_halves(partial(_logprobs, loaded), [*rows.values()], _failed)
            results.update(zip(rows, scored, strict=True))
        return [results[number] for number in range(len(texts))]


def _begun_tokens(loaded: Loaded, text: str) -> list[int]:
    """Token ids, begun as the model wants texts to begin, and not ended.

    Raises ControlTokenError.
    """
    messages = (Message("user", text),)
    tokens, bare = (
        loaded.prompts.encode(messages, _bare_text, special=special).tokens
        for special in (True, False)
    )
    end = loaded.tokenizer.eos_token_id
    return tokens[:-1] if tokens and tokens[-1] == end and bare[-1:] != [end] else tokens


def _bare_text(messages: tuple[Message, ...]) -> str:
    return messages[0].content


def _failed(error: Exception) -> UnscoredText:
    return UnscoredText("call_failed", f"{type(error).__name__}: {error}", passing=True)


def _logprobs(loaded: Loaded, rows: Any) -> list[list[float] | UnscoredText]:
    """log p(token | those before) in float32 for each row's second to last token."""
    # Padding stands behind, where no token of a causal model sees it.
    tokens, mask = loaded.padded(rows, left=False)
    results: list[list[float] | UnscoredText] = []
    with import_extra("torch").inference_mode():
        logits = loaded.model(input_ids=tokens, attention_mask=mask, use_cache=False).logits
        for number, row in enumerate(rows):  # one by one: in float32 a row can take a gigabyte
            each = logits[number, : len(row) - 1].float()
            following = tokens[number, 1 : len(row)].to(each.device)
            chosen = each.gather(1, following[:, None])[:, 0]
            try:
                results.append([as_logprob(n) for n in (chosen - each.logsumexp(1)).tolist()])
            except ValueError as error:
                reason = f"the model computes no probabilities: {error}"
                results.append(UnscoredText("call_failed", reason, passing=True))
    return results
