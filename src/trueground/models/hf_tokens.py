"""Token ids of prompts in which no content can forge a control token.

A chat template separates turns with control tokens such as `<|im_end|>`. If a context contains that
text, it must reach the model as ordinary text, or the context could end the user's turn and write
the assistant's. The template's own control tokens stay control tokens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from trueground.models.base import Message

Messages = tuple[Message, ...]
Render = Callable[[Messages], str]

# The spelling of a control token in `_PlainReader`: a noncharacter, then a private-use character.
_MARK = "\U0010fffe"
_FIRST_SPELLING = 0x100000
# Private-use characters that replace a content's characters while a template is rendered.
_STAND_INS = range(0xF0000, 0xFFFFE)
_REPLACEMENT = "\ufffd"
_BLANK = " \t\r\n▁"


class ControlTokenError(Exception):
    """A content contains the text of a control token that this tokenizer can't split."""


class EncodedPrompt(NamedTuple):
    """The ids of a prompt, and its text; contents with control tokens aren't readable in it."""

    tokens: list[int]
    layout: str


class PromptTokenizer:
    """Encodes prompts with a tokenizer of the `transformers` library.

    Control tokens are all tokens added to the vocabulary, special or not, except those that are
    ordinary text (see `_is_ordinary_text`). Contents that contain none are encoded as the library
    does it, token for token.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        added = tokenizer.added_tokens_decoder.items()
        tokens = {id_: t for id_, t in added if not _is_ordinary_text(t, self._is_single_letter(t))}
        self._texts = {id_: token.content for id_, token in tokens.items()}
        # Every unknown character gives the unknown token, which says nothing to the model.
        unknown = self._unknown_token()
        self._unknown_text = None if unknown is None else self._texts.get(unknown)
        self._control = self._texts.keys() - {unknown}

    def encode(self, messages: Messages, render: Render, *, special: bool) -> EncodedPrompt:
        """Return the ids of the prompt that `render` makes of the messages.

        Args:
            messages: The contents, in which control tokens are only text.
            render: The layout. Control tokens in what it adds keep their meaning.
            special: Add the tokens that begin and end a text, unless the layout begins with one.

        Raises:
            ControlTokenError: A content can't be split into ordinary text.
        """
        text = render(messages)
        suspects = {m.content for m in messages if self._may_forge(m.content)}
        if not suspects:
            return EncodedPrompt(self._encode_whole(text, text, special), text)
        stand_ins = _choose_stand_ins(suspects, messages)
        layout = render(
            tuple(
                Message(m.role, m.content.translate(stand_ins)) if m.content in suspects else m
                for m in messages
            )
        )
        originals = {ord(stand_in): chr(letter) for letter, stand_in in stand_ins.items()}
        pieces = self._split_at_control_tokens(layout)
        expected = [piece.token for piece in pieces if piece.token is not None]
        if (
            layout.translate(originals) == text
            and expected == self._control_tokens_of(text)
            and not any(map(self._holds_unknown, suspects))
        ):
            # The contents only looked as if they forged something.
            return EncodedPrompt(self._encode_whole(text, layout, special), layout)
        reader = self._plain_reader
        spelled = "".join(
            reader.spell(piece.token)
            if piece.token is not None
            else piece.text.translate(originals).replace(_MARK, _REPLACEMENT)
            for piece in pieces
        )
        tokens, actual = reader.encode(spelled, self._adds_special(layout, special))
        if actual != expected:
            raise ControlTokenError(
                f"the tokenizer makes control tokens of a content: found {len(actual)} in the "
                f"prompt, expected the {len(expected)} of its layout"
            )
        return EncodedPrompt(tokens, layout)

    def _encode_whole(self, text: str, layout: str, special: bool) -> list[int]:
        add = self._adds_special(layout, special)
        encoded = self._tokenizer(text, add_special_tokens=add, verbose=False)
        tokens: list[int] = encoded["input_ids"]
        return tokens

    def _adds_special(self, layout: str, special: bool) -> bool:
        """Whether to add the tokens around a text: never a second one at its beginning."""
        begin = self._tokenizer.bos_token
        return special and not (bool(begin) and layout.startswith(begin))

    def _control_tokens_of(self, text: str) -> list[int]:
        encoded = self._tokenizer(text, add_special_tokens=False, verbose=False)
        return [token for token in encoded["input_ids"] if token in self._control]

    def _may_forge(self, content: str) -> bool:
        """Whether a content holds a control token, or can be part of one with the text around it.

        It may hold one after normalization only: `＜|im_end|＞` under NFKC.
        """
        if self._control_tokens_of(content) or self._holds_unknown(content):
            return True
        return any(map(self._may_touch, {content, self._normalize(content)}))

    def _holds_unknown(self, content: str) -> bool:
        return self._unknown_text is not None and self._unknown_text in content

    def _may_touch(self, text: str) -> bool:
        """Whether a control token may begin or end in the text, and go on outside of it."""
        longest = self._longest
        for form in {text, text.strip(_BLANK), text.strip()}:
            if any(form[-size:] in self._beginnings for size in range(1, longest)):
                return True
            if any(form[:size] in self._endings for size in range(1, longest)):
                return True
            if 0 < len(form) < longest and any(form in control for control in self._forms):
                return True
        return False

    def _normalize(self, text: str) -> str:
        normalizer = self._backend.normalizer if self._tokenizer.is_fast else None
        normalized: str = text if normalizer is None else normalizer.normalize_str(text)
        return normalized

    def _unknown_token(self) -> int | None:
        """The token of unknown characters, if it has no other meaning.

        Tokenizers of bytes know all characters, and often name the end of a text as this token.
        """
        tokenizer = self._tokenizer
        ends = (None, tokenizer.bos_token, tokenizer.eos_token)
        if not tokenizer.is_fast or tokenizer.unk_token in ends:
            return None
        # Unigram has no such attribute, and always a token for unknown characters.
        text = getattr(self._backend.model, "unk_token", tokenizer.unk_token)
        token: int | None = tokenizer.unk_token_id if text == tokenizer.unk_token else None
        return token

    def _is_single_letter(self, token: Any) -> bool:
        """Whether a token is one character that the model has in its own vocabulary, too."""
        if len(token.content) != 1:
            return False
        return not self._tokenizer.is_fast or (
            self._backend.model.token_to_id(token.content) is not None
        )

    @property
    def _backend(self) -> Any:
        return self._tokenizer.backend_tokenizer

    @cached_property
    def _forms(self) -> set[str]:
        """The texts of the control tokens, as they are and normalized."""
        texts = self._texts.values()
        return {form for text in texts for form in (text, self._normalize(text).strip(_BLANK))}

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self._forms), default=0)

    @cached_property
    def _beginnings(self) -> set[str]:
        return {form[:end] for form in self._forms for end in range(1, len(form))}

    @cached_property
    def _endings(self) -> set[str]:
        return {form[start:] for form in self._forms for start in range(1, len(form))}

    def _split_at_control_tokens(self, text: str) -> list[_Piece]:
        """The text cut at its control tokens."""
        if not self._tokenizer.is_fast:
            # Its tokens have no places in the text.
            return [_Piece(text, None), *(_Piece("", t) for t in self._control_tokens_of(text))]
        encoded = self._tokenizer(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        pieces, done = [], 0
        for token, (start, end) in zip(
            encoded["input_ids"], encoded["offset_mapping"], strict=True
        ):
            if token in self._control:
                pieces += [_Piece(text[done:start], None), _Piece(text[start:end], token)]
                done = end
        return [*pieces, _Piece(text[done:], None)]

    @cached_property
    def _plain_reader(self) -> _PlainReader:
        """Raises ControlTokenError."""
        name = type(self._tokenizer).__name__
        if not self._tokenizer.is_fast:
            raise ControlTokenError(
                f"the text contains a control token, which the tokenizer {name} can't read as "
                "text; use a model with a tokenizer.json, or remove the control token"
            )
        try:
            return _PlainReader(self._backend, self._texts, self._control)
        except Exception as error:  # custom parts can't be saved; the library raises Exception
            raise ControlTokenError(
                f"the text contains a control token, which the tokenizer {name} can't read as "
                f"text: {error}; remove the control token from the text"
            ) from error


class _Piece(NamedTuple):
    """A run of text, or one control token."""

    text: str
    token: int | None


class _PlainReader:
    """A copy of a tokenizer that reads control tokens in a spelling that no text contains.

    What a text contains of their usual spelling is ordinary text to it.
    """

    def __init__(self, backend: Any, texts: Mapping[int, str], control: Iterable[int]) -> None:
        from tokenizers import Tokenizer

        numbers = enumerate(sorted(control), _FIRST_SPELLING)
        self._spellings = {token: _MARK + chr(number) for number, token in numbers}
        settings = json.loads(backend.to_str())
        # A token whose own spelling stays in the vocabulary, though not as an added token.
        dropped = texts.keys() - self._spellings.keys()
        settings["added_tokens"] = [
            self._respell(token, backend.normalizer)
            for token in settings["added_tokens"]
            if token["id"] not in dropped
        ]
        settings["truncation"] = settings["padding"] = None
        _respell_vocabulary(settings["model"], self._spellings, set(texts))
        self._tokenizer = Tokenizer.from_str(json.dumps(settings))
        self._tokenizer.encode_special_tokens = False
        # The copy may number added tokens otherwise.
        self._ids = {
            self._tokenizer.token_to_id(self._spellings.get(id_, token.content)): id_
            for id_, token in backend.get_added_tokens_decoder().items()
            if id_ not in dropped
        }

    def spell(self, token: int) -> str:
        """Return the spelling of a control token."""
        return self._spellings[token]

    def encode(self, text: str, special: bool) -> tuple[list[int], list[int]]:
        """Return all ids, and those of the control tokens in the text itself."""
        encoding = self._tokenizer.encode(text, add_special_tokens=special)
        tokens, control = [], []
        for token, is_added_around in zip(encoding.ids, encoding.special_tokens_mask, strict=True):
            # The post-processor's own tokens have the model's numbers already.
            original = token if is_added_around else self._ids.get(token, token)
            tokens.append(original)
            if not is_added_around and original in self._spellings:
                control.append(original)
        return tokens, control

    def _respell(self, token: dict[str, Any], normalizer: Any) -> dict[str, Any]:
        """The settings of an added token with the new spelling, if it is a control token."""
        if token["id"] not in self._spellings:
            return token
        spelling = self._spellings[token["id"]]
        # Some normalizers delete private-use characters.
        survives = normalizer is None or spelling in normalizer.normalize_str(spelling)
        return {
            **token,
            "content": spelling,
            "single_word": False,
            "normalized": token["normalized"] and survives,
        }


def _respell_vocabulary(
    model: dict[str, Any], spellings: Mapping[int, str], unreachable: set[int]
) -> None:
    """Take the usual spelling of control tokens out of a model's vocabulary.

    No merge leads to the `unreachable` tokens: pieces of a text could be joined to one otherwise.
    """
    vocabulary = model["vocab"]
    if isinstance(vocabulary, list):  # Unigram: pieces with scores, in order of their ids
        for token, spelling in spellings.items():
            if token < len(vocabulary):
                vocabulary[token][0] = spelling
        return
    model["vocab"] = {spellings.get(id_, name): id_ for name, id_ in vocabulary.items()}
    names = {name for name, id_ in vocabulary.items() if id_ in unreachable}
    prefix = model.get("continuing_subword_prefix") or ""
    merges = []
    for merge in model.get("merges", ()):
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        if names.isdisjoint((left, right, left + right.removeprefix(prefix))):
            merges.append(merge)
    if "merges" in model:
        model["merges"] = merges


def _is_ordinary_text(token: Any, single_letter: bool) -> bool:
    """Whether an added token can't be a control token.

    That is white space, a letter that can't be written otherwise, or a word that was added to
    the vocabulary without marking it as special.
    """
    text = token.content.strip(_BLANK)
    if not text or single_letter:
        return True
    return not token.special and text[0].isalnum() and text[-1].isalnum()


def _choose_stand_ins(contents: Iterable[str], messages: Messages) -> dict[int, str]:
    """A private-use character for each character of the contents, white space excepted.

    White space stays, so that templates trim a content as they always do. Raises ControlTokenError.
    """
    letters = sorted({letter for text in contents for letter in text if not letter.isspace()})
    used = {letter for message in messages for letter in message.content}
    free = [chr(number) for number in _STAND_INS if chr(number) not in used]
    if len(letters) > len(free):
        raise ControlTokenError(
            f"the texts contain a control token and {len(letters):,} different characters; "
            f"expected at most {len(free):,} with a control token"
        )
    return {ord(letter): stand_in for letter, stand_in in zip(letters, free, strict=False)}
