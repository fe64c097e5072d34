"""Texts into tokens, by the `tokenizers` library whatever runs the model; counting tokens.

Texts are only text: what is written like a special token in them never becomes one. Special tokens
are those that the model's own rules put around and between texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueground.encoders.base import Pair, Parts, Prompt
from trueground.encoders.loading import takes_types
from trueground.encoders.tiles import TileRow
from trueground.errors import InputError, UsageError
from trueground.net import RequestedModel, import_optional, reason

_WHAT = "counting a model's tokens"
# What the library gives for a text is twenty times the size of its ids.
_BLOCK = 256
_PASSES = 3
_FILES = (".json", ".txt", ".model")


class Marked(NamedTuple):
    """A row, which of its tokens were added, and where each ends in the text (0 for those)."""

    row: TileRow
    special: NDArray[np.bool_]
    ends: NDArray[np.int32]


class Tokenizer:
    """A model's tokens: rows for it, and lengths. `window` as in `models.Encoder`."""

    def __init__(self, shown: str, folder: Path, window: int, pairs: bool) -> None:
        self._shown = shown
        self._tokenizer = read_tokenizer(shown, folder)
        self._typed = takes_types(shown, folder)
        self._window = window
        self.specials: int = self._tokenizer.num_special_tokens_to_add(pairs)
        if self.specials >= window:
            raise UsageError(
                f"window {window}; {shown} adds {self.specials} special tokens, so expected more"
            )

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        return [len(encoding.ids) for encoding in self._plain(texts)]

    def singles(self, texts: Sequence[str]) -> list[TileRow]:
        """Each text with special tokens, cut off at the window."""
        return [self._single(encoding) for encoding in self._plain(texts)]

    def marked(self, texts: Sequence[str]) -> list[Marked]:
        """As `singles`, and for each token whether it was added and where it ends in the text."""
        return [self._marked(encoding) for encoding in self._plain(texts)]

    def _marked(self, encoding: Any) -> Marked:
        encoding.truncate(self._window - self.specials)
        encoding = self._tokenizer.post_process(encoding, None, True)
        special = np.array(encoding.special_tokens_mask, np.bool_)
        return Marked(
            self._row(encoding), special, np.array([e for _, e in encoding.offsets], np.int32)
        )

    @property
    def by_bytes(self) -> bool:
        """Whether a word's tokens say if a space stands before it, as those of GPT-2's kind do."""
        return type(self._tokenizer.pre_tokenizer).__name__ == "ByteLevel"

    def prompts(self, prompts: Sequence[Prompt]) -> list[TileRow]:
        """Each prompt with special tokens, also between its parts, cut off at the window."""
        return [self._single(encoding) for encoding in self._joined(prompts)]

    def prompt_lengths(self, prompts: Sequence[Prompt]) -> list[int]:
        """Tokens of each prompt with special tokens, without truncation."""
        return [len(encoding.ids) + self.specials for encoding in self._joined(prompts)]

    def _joined(self, prompts: Sequence[Prompt]) -> Iterator[Any]:
        parts = [(prompt,) if isinstance(prompt, str) else prompt for prompt in prompts]
        texts = self._plain([text for part in parts for text in part])
        end = self._tokenizer.encode("", add_special_tokens=True)
        for part in parts:
            encodings = [next(texts) for _ in part]
            if len(encodings) > 1 and len(end.ids) != 1:
                raise InputError(
                    f"{self._shown}: its tokenizer puts {len(end.ids)} special tokens around a "
                    "text; expected one at its end, which stands between parts of a prompt too"
                )
            yield encodings[0] if len(encodings) == 1 else _merge(encodings, end)

    def _single(self, encoding: Any) -> TileRow:
        encoding.truncate(self._window - self.specials)
        return self._row(self._tokenizer.post_process(encoding, None, True))

    def pairs(self, pairs: Sequence[Parts]) -> list[TileRow]:
        """Each pair with special tokens, what follows the first text cut off at the window.

        A single text is read as such. InputError where the first of a pair leaves no room for the
        second.
        """
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        known = dict(zip(texts, self._plain(texts), strict=True))
        return [
            self._row(self._pair(known[first], known, rest)) if rest else self._single(known[first])
            for first, *rest in pairs
        ]

    def second_tokens(self, pairs: Sequence[Pair]) -> list[tuple[TileRow, NDArray[np.intp]]]:
        """As `pairs`, and for each the places of the second text's tokens in the row."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        known = dict(zip(texts, self._plain(texts), strict=True))
        joined = [self._pair(known[first], known, [second]) for first, second in pairs]
        return [
            (
                self._row(both),
                np.flatnonzero(np.array(both.special_tokens_mask) == 0)[len(known[first].ids) :],
            )
            for both, (first, _) in zip(joined, pairs, strict=True)
        ]

    def ends(self, text: str) -> list[int]:
        """The character of the text before which each of its tokens ends."""
        (encoding,) = self._plain([text])
        return [end for _, end in encoding.offsets]

    def _pair(self, first: Any, known: Mapping[str, Any], rest: list[str]) -> Any:
        """The library's encoding of a pair, with special tokens."""
        second = known[rest[0]]
        if len(rest) > 1:
            second = _merge([known[text] for text in rest], self._end())
        room = self._window - self.specials - len(first.ids)
        if room < min(1, len(second.ids)):
            raise InputError(
                f"{self._shown}: the first text of a pair has {len(first.ids)} tokens; with "
                f"{self.specials} special tokens the window of {self._window} leaves no room for "
                "the second. Shorten it, or leave the pair out."
            )
        if len(second.ids) > room:
            second = type(second).merge([second], False)  # its own copy: cutting changes it
            second.truncate(room)
        return self._tokenizer.post_process(first, second, True)

    def turns(self, conversations: Sequence[Sequence[str]]) -> list[TileRow]:
        """Each conversation as one text, with the token that ends a text between its turns.

        Beyond the window the oldest tokens are cut off; of a single turn the last ones, as in
        `singles`.
        """
        ended = self._tokenizer.encode("a", add_special_tokens=True).special_tokens_mask[-1]
        texts = [turns if ended else (" ".join(turns),) for turns in conversations]
        known = self._plain([text for turns in texts for text in turns])
        return [self._turns([next(known) for _ in turns]) for turns in texts]

    def _turns(self, turns: list[Any]) -> TileRow:
        whole = turns[0]
        if len(turns) > 1:
            whole = _merge(turns, self._end())
            whole.truncate(self._window - self.specials, direction="left")
        return self._single(whole)

    def _end(self) -> Any:
        """The token that ends a text for this model."""
        end = self._tokenizer.encode("", add_special_tokens=True)
        end.truncate(1, direction="left")
        return end

    def titled(self, passages: Sequence[Pair]) -> list[TileRow]:
        """Each (title, text) with special tokens between too, and as one text for the types.

        Beyond the window the longer of the two is cut off, then both alike. Source: DPR's code,
        which truncates so and gives all tokens the type 0.
        """
        titles = self._plain([title for title, _ in passages])
        texts = self._plain([text for _, text in passages])
        return [
            self._titled(title, text) if title.ids else self._single(text)
            for title, text in zip(titles, texts, strict=True)
        ]

    def _titled(self, title: Any, text: Any) -> TileRow:
        room = max(0, self._window - self._tokenizer.num_special_tokens_to_add(True))
        shorter, longer = sorted((title, text), key=lambda encoding: len(encoding.ids))
        if len(shorter.ids) + len(longer.ids) > room:
            shorter.truncate(min(len(shorter.ids), room // 2))
            longer.truncate(room - len(shorter.ids))
        ids = np.array(self._tokenizer.post_process(title, text, True).ids, np.int32)
        return TileRow(ids, np.zeros_like(ids))

    def _row(self, encoding: Any) -> TileRow:
        ids = np.array(encoding.ids, np.int32)
        types = np.array(encoding.type_ids, np.int32) if self._typed else np.zeros_like(ids)
        return TileRow(ids, types)

    def words(self, words: Sequence[str]) -> list[int]:
        """The token of each word. UsageError for a word that is not one token."""
        return [self._word(word, f.ids) for word, f in zip(words, self._plain(words), strict=True)]

    def _word(self, word: str, ids: list[int]) -> int:
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        if len(ids) != 1 or self._tokenizer.id_to_token(ids[0]) in (unknown, "<unk>"):
            tokens = [self._tokenizer.id_to_token(number) for number in ids]
            raise UsageError(
                f"{self._shown} has no token of its own for the word {word!r} (it reads "
                f"{' '.join(tokens) or 'nothing'}); choose a word that is one token"
            )
        return ids[0]

    def _plain(self, texts: Sequence[str]) -> Iterator[Any]:
        """The library's encoding of each text, without special tokens and truncation."""
        return plain(self._tokenizer, texts)


def _merge(texts: list[Any], end: Any) -> Any:
    """The encodings as one, with `end` between them."""
    return type(end).merge([e for text in texts for e in (end, text)][1:], False)


def plain(tokenizer: Any, texts: Sequence[str]) -> Iterator[Any]:
    """Each text's encoding, without special tokens and truncation; none stands for a special one.

    `encode_special_tokens` prevents most. In a vocabulary of pieces (T5's) they are entries like
    others, which are matched all the same: such a place is read letter by letter, and left out
    where that does not help.
    """
    special = _special(tokenizer)
    left = iter(texts)
    while block := list(islice(left, _BLOCK)):
        batch = tokenizer.encode_batch(block, add_special_tokens=False)
        for text, encoding in zip(block, batch, strict=True):
            clean = special.isdisjoint(encoding.ids)
            yield encoding if clean else _encode_spelled(tokenizer, text, special)


def _special(tokenizer: Any) -> set[int]:
    """The special tokens, but for the one of what is unknown: that says nothing."""
    unknown = (getattr(tokenizer.model, "unk_token", None), "<unk>")
    known = tokenizer.get_added_tokens_decoder().items()
    return {number for number, t in known if t.special and t.content not in unknown}


def _encode_spelled(tokenizer: Any, text: str, special: set[int]) -> Any:
    """The encoding of the text with its special tokens read letter by letter."""
    encoding = tokenizer.encode(text, add_special_tokens=False)
    for again in range(_PASSES):
        places = zip(encoding.ids, encoding.offsets, strict=True)
        spans = {span for number, span in places if number in special}
        for start, end in sorted(spans, reverse=True):
            # Letters that the tokenizer puts together again are left out.
            letters = "" if again else " ".join(text[start:end])
            text = f"{text[:start]} {letters} {text[end:]}"
        encoding = tokenizer.encode(text, add_special_tokens=False)
    return encoding


def read_tokenizer(shown: str, where: Path) -> Any:
    """The tokenizer of a folder, or of a tokenizer.json. InputError, MissingExtraError."""
    file = where / "tokenizer.json" if where.is_dir() else where
    library = import_optional("tokenizers", _WHAT, "onnx")
    if where.is_dir() and not file.exists():
        tokenizer = _converted(shown, where)
    else:
        try:
            tokenizer = library.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises plain Exception
            raise InputError(
                f"{shown}: {file.name} cannot be read as a tokenizer: {reason(error)}"
            ) from error
    tokenizer.encode_special_tokens = True
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _converted(shown: str, folder: Path) -> Any:
    """From the older files that `transformers` can read."""
    if not any(
        (folder / name).exists() for name in ("spiece.model", "vocab.txt", "vocab.json")
    ) and not any(folder.glob("*.model")):
        raise InputError(
            f"{shown}: no tokenizer.json there; save one with the tokenizer's save_pretrained()"
        )
    transformers = import_optional("transformers", f"{shown} without tokenizer.json", "hf")
    try:
        fast = transformers.AutoTokenizer.from_pretrained(str(folder))
        return fast.backend_tokenizer
    except Exception as error:  # every tokenizer has its own ways to fail
        raise InputError(
            f"{shown}: no tokenizer.json there, and the other files give none ({reason(error)}); "
            "save one with the tokenizer's save_pretrained()"
        ) from error


def make_token_counter(where: str | Path) -> Callable[[Sequence[str]], list[int]]:
    """A function that counts the tokens of texts, without special tokens.

    `where`: a tokenizer.json, a folder that holds one, or a name on the Hub. Raises InputError,
    MissingExtraError.
    """
    tokenizer = read_tokenizer(str(where), _locate(str(where)))

    return lambda texts: [len(encoding.ids) for encoding in plain(tokenizer, texts)]


def _locate(where: str) -> Path:
    path = Path(where).expanduser()
    if path.is_file():
        return path
    requested = RequestedModel(where, what=_WHAT, extra="onnx")
    if (folder := requested.local_folder()) is not None:
        return folder
    source = requested.resolve()
    files = [f for f in requested.list_files(source) if "/" not in f and f.endswith(_FILES)]
    return requested.fetch(source, files)
