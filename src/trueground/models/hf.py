"""Local Hugging Face models: decoders (Llama, GPT-2 …) and encoder-decoders (Flan-T5 …)."""

from __future__ import annotations

import gc
import random
from typing import Any

import msgspec

from trueground.errors import UsageError
from trueground.models.base import ChatRequest, Message, Reply, Usage
from trueground.models.hf_batching import Batcher
from trueground.models.hf_generate import MAX_TOKENS, Output, TokenizedPrompt, generate
from trueground.models.hf_loading import Loaded, load
from trueground.models.hf_source import check, find, needed
from trueground.models.openai_replies import split_thinking
from trueground.models.options import ModelOptions
from trueground.models.prompts import lay_out, read_wrapper
from trueground.types import Status


class HFModel:
    """A model of the `transformers` library on this machine.

    Weights are loaded with the first call that needs them. Raises MissingExtraError, UsageError for
    options that cannot be had here, and InputError for a model that cannot be found or loaded.
    """

    def __init__(self, name: str, options: ModelOptions) -> None:
        check(options)
        self._wrapper = None if options.wrapper is None else read_wrapper(options.wrapper)
        self._source = find(name, options)
        self._options = options
        self._loaded: Loaded | None = None
        self._batcher = Batcher(self._answer, options.batch_size)
        self.name = f"hf:{name}"
        self.signature = self._source.signature
        self.cacheable = True
        self.concurrency = 2 * options.batch_size

    async def generate(self, request: ChatRequest) -> Reply:
        """One reply; calls under way at the same time are answered in batches."""
        return await self._batcher.ask(request)

    async def close(self) -> None:
        """Give the memory back; a later call loads the model again."""
        await self._batcher.close()
        if self._loaded is not None:
            self._loaded = None
            gc.collect()
            needed("torch").cuda.empty_cache()

    def _answer(self, requests: list[ChatRequest]) -> list[Reply]:
        """Replies to requests with equal parameters (seeds aside); runs in the worker thread."""
        if self._loaded is None:
            self._loaded = load(self._source, self._options)
        loaded = self._loaded
        extra = {**self._options.extra, **requests[0].params.extra}
        template_options = extra.pop("chat_template_kwargs", {})
        params = msgspec.structs.replace(requests[0].params, extra=extra)
        replies: dict[int, Reply] = {}
        prompts: dict[int, TokenizedPrompt] = {}
        opened: set[int] = set()
        for number, request in enumerate(requests):
            text, chat = self._lay_out(loaded.tokenizer, request.messages, template_options)
            tokens = _tokenise(loaded, text, special=not chat or loaded.seq2seq)
            if reason := _too_long(loaded, len(tokens), params.max_tokens or MAX_TOKENS):
                replies[number] = Reply(
                    status=Status.TOO_LONG,
                    error=reason,
                    usage=Usage(len(tokens)),
                    model=self.signature,
                )
                continue
            prompts[number] = TokenizedPrompt(tokens, _seed(request, tokens))
            if chat and text.rstrip().endswith("<think>"):
                opened.add(number)
        if prompts:
            outputs = generate(loaded, list(prompts.values()), params, self._batcher.closing)
            for (number, prompt), output in zip(prompts.items(), outputs, strict=True):
                replies[number] = self._reply(prompt, output, number in opened)
        return [replies[number] for number in range(len(requests))]

    def _lay_out(
        self, tokenizer: Any, messages: tuple[Message, ...], options: dict[str, Any]
    ) -> tuple[str, bool]:
        """(prompt, whether the chat template made it). A wrapper that was given comes first."""
        if self._wrapper is not None or not tokenizer.chat_template:
            return lay_out(messages, self._wrapper), False
        from jinja2 import TemplateError

        reason = ""
        for tried in (messages, _without_system(messages)):
            turns = [{"role": m.role, "content": m.content} for m in tried]
            try:
                text: str = tokenizer.apply_chat_template(
                    turns, tokenize=False, add_generation_prompt=True, **options
                )
            except TemplateError as error:
                reason = str(error)
                continue
            # Some templates leave a system message out without a word.
            if all(m.content.strip() in text for m in tried if m.role == "system"):
                return text, True
        raise UsageError(
            f"the chat template of {self.name} refuses these messages ({reason}); "
            "pass --wrapper FILE to lay them out otherwise"
        )

    def _reply(self, prompt: TokenizedPrompt, output: Output, opened: bool) -> Reply:
        usage = Usage(len(prompt.tokens), output.count)
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


def _tokenise(loaded: Loaded, text: str, special: bool) -> list[int]:
    """Token ids; with `special` as the model wants texts to begin and end, but never doubly."""
    tokenizer = loaded.tokenizer
    begun = bool(tokenizer.bos_token) and text.startswith(tokenizer.bos_token)
    encoded = tokenizer(text, add_special_tokens=special and not begun, verbose=False)
    tokens: list[int] = encoded["input_ids"]
    return tokens or [loaded.model.generation_config.pad_token_id]


def _too_long(loaded: Loaded, tokens: int, max_tokens: int) -> str | None:
    """Why prompt and answer do not fit; an encoder-decoder has a window for each."""
    window = loaded.window
    if window is None or tokens + (0 if loaded.seq2seq else max_tokens) <= window:
        return None
    answer = "" if loaded.seq2seq else f" and up to {max_tokens} for the answer"
    return f"the prompt has {tokens} tokens{answer}; the model's window has {window}"


def _seed(request: ChatRequest, tokens: list[int]) -> int:
    """The same for the same call; different for each prompt and draw. Fresh without a seed."""
    if request.params.seed is None:
        return random.SystemRandom().getrandbits(63)
    return random.Random(f"{request.params.seed}/{request.draw}/{tokens}").getrandbits(63)
