"""Distractors: from the publisher's file or mined, as many as budget and cap leave room for.

Source: Lee et al. 2024, section 3.2 (step 5), section 4.2 (positions) and appendix A.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from trueground.benchmarks import get_dataset
from trueground.errors import InputError, UsageError
from trueground.records import DataPath, Problem, describe
from trueground.text import draw_number
from trueground.types import Passage
from trueground.wings.papers.truly_ground import DISTRACTOR_SET, TrulyGroundOptions
from trueground.wings.papers.truly_ground.mining import Gold, fill, mine
from trueground.wings.papers.truly_ground.source import (
    DATASET,
    DISTRACTORS,
    META,
    TEXTS,
    TITLES,
    VERSIONS,
    VersionQuestion,
    find_entry,
    format_context,
    pages_of,
    parse_contexts,
    read_items,
)
from trueground.wings.papers.user_files import read_entries
from trueground.wings.search import MemoryCorpus

Ranked = list[Sequence[Passage]]
CHARACTERS = 4  # to a token
APPROXIMATION = f"{CHARACTERS} characters a token"
_MINED_BUDGET = 2048
_LOCAL = "hf:"
_SHOWN = 5
_BETWEEN = 8  # tokens between two contexts, at most


@dataclass(frozen=True)
class Distractors:
    """Where distractors come from; `options` and `files` are part of the run's identity.

    `budget` is that of all contexts together, in tokens; None: all are shown. `rank(items)` gives
    each question's distractors, the nearest first, and raises InputError.
    """

    options: dict[str, str | bool | None]
    files: tuple[Path, ...]
    budget: int | None
    rank: Callable[[Sequence[VersionQuestion]], Ranked]


def make_distractors(options: TrulyGroundOptions, data: Path | None) -> Distractors:
    """As the options say; without a word the data's own file, or else mined by bm25."""
    path = options.distractors
    if path is None and options.retriever is None and options.corpus is None:
        path = get_dataset(DATASET).look_for_json(DISTRACTORS, data)
    if path is not None:
        return _from_file(path, options)
    if options.distractor_set != DISTRACTOR_SET:
        raise UsageError(
            f"--distractor-set {options.distractor_set}: it names a set of a file of distractors, "
            "and there is none; add --distractors FILE, or leave it out"
        )
    return _mined(options, data)


def _from_file(path: Path, options: TrulyGroundOptions) -> Distractors:
    """The file {qId: {SET: [context, …]}}; all of a set, unless there is a budget."""
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise InputError(f"--distractors {path} {what}; name a file as the publisher's")
    name = options.distractor_set

    def rank(items: Sequence[VersionQuestion]) -> Ranked:
        """Without doubles, and without a text that is a gold context too."""
        entries = read_entries(path)
        found: Ranked = []
        for item in items:
            entry, gold = find_entry(path, entries, item.id), {one.text for one in item.gold}
            try:
                if not isinstance(entry.get(name), list):
                    sets = ", ".join(entry) or "none"
                    what = describe(entry[name]) if name in entry else "no such set"
                    raise Problem(name, f"{what}; there are: {sets}", "a list of str")
                others = parse_contexts(name, entry[name], gold=False)
            except Problem as problem:
                raise InputError(problem.message(f"{path}, qId {item.id!r}")) from None
            found.append([one for one in others if one.text not in gold])
        return found

    return Distractors({"distractors": name, "retriever": None}, (path,), options.budget, rank)


def _mined(options: TrulyGroundOptions, data: Path | None) -> Distractors:
    """The nearest passages of a corpus, without those of pages that hold a gold context.

    They are the same for both versions of a question: pages are those of either version.
    """
    folder = options.corpus or data
    files: tuple[Path, ...]
    dataset = get_dataset(DATASET)
    if options.corpus is not None and dataset.look_for_json(TEXTS, options.corpus) is None:
        corpus, files = MemoryCorpus.read(options.corpus), tuple(DataPath(options.corpus).files())
    else:
        texts = dataset.find_json(TEXTS, folder)
        titles = dataset.find_json(TITLES, folder)
        corpus, files = MemoryCorpus.read(texts, titles), (texts, titles)
    opened = corpus.open(options.retriever or "bm25")
    original = None
    if options.version != "original":
        original = dataset.find_json(VERSIONS["original"], data)

    def rank(items: Sequence[VersionQuestion]) -> Ranked:
        others = read_items(original, dataset.find_json(META, data)) if original else []
        gold_of = {one.id: one.gold for one in others}
        contexts = [(*item.gold, *gold_of.get(item.id, ())) for item in items]
        gold = [Gold(tuple(sorted(pages_of(c))), tuple(one.text for one in c)) for c in contexts]
        try:
            queries = [item.question for item in items]
            mined = mine(corpus, opened, queries, gold, options.top)
        finally:
            opened.close()
        found = {}
        for index in {i for row in mined for i in row}:
            one = corpus.passages[index]  # a page that has no address is named by its title
            source = one.source if one.source != one.title else None
            found[index] = Passage(one.text, title=one.title, gold=False, source=source)
        return [[found[index] for index in row] for row in mined]

    return Distractors(
        {
            "distractors": "mined",
            "retriever": opened.retriever.signature,
            "top": str(options.top),
        },
        (*files, *([original] if original else [])),
        options.budget or _MINED_BUDGET,
        rank,
    )


class TokenCounter(NamedTuple):
    """`count(texts)` gives the tokens of each; `name` says whose, as part of a run's identity."""

    name: str
    count_tokens: Callable[[Sequence[str]], list[int]]


def make_counter(tokenizer: str | None, model: str | None) -> TokenCounter:
    """The tokenizer named, else that of a model `hf:…`, else 4 characters a token."""
    if tokenizer is None and model is not None and model.startswith(_LOCAL):
        tokenizer = model.removeprefix(_LOCAL)
    if tokenizer is None:
        return TokenCounter(
            APPROXIMATION, lambda texts: [-(-len(text) // CHARACTERS) for text in texts]
        )
    from trueground.encoders import make_token_counter

    # A file is named by its content, so that it may lie elsewhere on another machine.
    place = Path(tokenizer).expanduser()
    file = place / "tokenizer.json" if place.is_dir() else place
    name = tokenizer
    if file.is_file():
        name = f"tokenizer.json sha256:{sha256(file.read_bytes()).hexdigest()[:16]}"
    return TokenCounter(name, make_token_counter(tokenizer))


def cut_to_budget(
    items: Sequence[VersionQuestion], ranked: Ranked, budget: int, counter: TokenCounter
) -> Ranked:
    """The nearest distractors that fit; `budget` holds all contexts, and the gold ones always stay.

    A context's tokens are those of its title line and text.
    """
    pairs = list(zip(items, ranked, strict=True))
    tokens = _tokens((one for item, others in pairs for one in (*item.gold, *others)), counter)
    chosen: Ranked = []
    for item, others in pairs:
        room = budget - sum(tokens[format_context(one)] for one in item.gold)
        lengths = [tokens[format_context(one)] for one in others]
        chosen.append([others[i] for i in fill(range(len(others)), lengths, room)])
    return chosen


def cut_to_cap(
    items: Sequence[VersionQuestion],
    chosen: Ranked,
    cap: int,
    counter: TokenCounter,
    write: Callable[[VersionQuestion, Sequence[Passage]], str],
) -> Ranked:
    """The farthest distractors taken away until every prompt, as `write` has it, has `cap` tokens.

    UsageError where a prompt is longer even without any distractor.
    """
    bare = counter.count_tokens([write(item, ()) for item in items])
    if ids := [item.id for item, length in zip(items, bare, strict=True) if length > cap]:
        first = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
        raise UsageError(
            f"--input-cap {cap}: {len(ids)} prompts are longer even without distractors ({first}; "
            f"tokens: {counter.name}). Gold contexts are never cut: raise the cap, or leave it out"
        )
    found = [list(others) for others in chosen]
    long = dict.fromkeys(range(len(items)), 0)
    tokens: dict[str, int] = {}
    while long:
        lengths = counter.count_tokens([write(items[i], found[i]) for i in long])
        long = {i: n - cap for i, n in zip(long, lengths, strict=True) if n > cap}
        tokens = tokens or _tokens((one for i in long for one in found[i]), counter)
        # One goes, and as many more as surely must; the prompt is counted again afterwards.
        for i, over in long.items():
            over -= tokens[format_context(found[i].pop())] + _BETWEEN
            while found[i] and over > 0:
                over -= tokens[format_context(found[i].pop())] + _BETWEEN
    return [*found]


def _tokens(passages: Iterable[Passage], counter: TokenCounter) -> dict[str, int]:
    """The tokens of each context as it is written."""
    texts = list(dict.fromkeys(map(format_context, passages)))
    return dict(zip(texts, counter.count_tokens(texts), strict=True))


def place_gold(
    gold: Sequence[Passage], others: Sequence[Passage], position: str, seed: int, question: str
) -> list[Passage]:
    """Gold contexts and distractors in one list; each kind keeps its own order.

    `position`: beginning, middle (half of the distractors, rounded down, before them), end, or
    random: the places are drawn from the seed and the question's id, so that they depend neither
    on other questions nor on the wording of the contexts.
    """
    number = len(gold) + len(others)
    if position == "random":
        order = sorted(range(number), key=lambda n: draw_number(seed, question, n, separator="/"))
        places = set(order[: len(gold)])
    else:
        starts = {"beginning": 0, "middle": len(others) // 2, "end": len(others)}
        places = set(range(starts[position], starts[position] + len(gold)))
    golden, other = iter(gold), iter(others)
    return [next(golden if place in places else other) for place in range(number)]
