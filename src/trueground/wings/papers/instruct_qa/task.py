"""Make InstructQA's tasks: metrics, files and questions (Adlakha et al. 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueground.benchmarks import Question, Sources, Task
from trueground.errors import InputError, UsageError
from trueground.models import Message, Params, Prompt
from trueground.records import FileInfo
from trueground.types import Passage, PromptFile, Record, Turn
from trueground.wings.papers.instruct_qa import QaOptions
from trueground.wings.papers.instruct_qa.corpus import FoundPassages, QaCorpus
from trueground.wings.papers.instruct_qa.source import QaQuestion, read_items, task_files
from trueground.wings.search import CorpusSession, GoldPassage, SearchQuery, words

_PACKAGE = "trueground.wings.papers.instruct_qa"
# The metrics of Tables 3 and 5 that need no model, the headline first.
_CORRECT = ("recall", "exact_match", "f1", "recall_strict", "precision", "rouge_l")
_FAITHFUL = ("k_precision", "k_recall", "k_f1", "k_precision_pp", "k_f1_pp")
_DECLINING = "k_precision(abstention_passage=true)"
MAX_NEW_TOKENS = 500
_PARAMS = {  # Appendix A.
    "greedy": Params(temperature=0.0, max_tokens=MAX_NEW_TOKENS),
    "paper": Params(temperature=0.95, top_p=0.95, seed=0, min_tokens=1, max_tokens=MAX_NEW_TOKENS),
}
BATCH_SIZE = 256  # Questions per call of the retriever.
MAX_LISTED_IDS = 5
# Fields of `meta` that a run writes, by setting.
_META_FIELDS = {
    "retrieved": ("gold_retrieved", "gold_rank"),
    "irrelevant": ("irrelevant_rank", "irrelevant_found"),
}
# Warnings about searches with too few results.
_EMPTY = "the search found no passage. They are asked anyway, and the prompt says so"
_SAMPLED = (
    "too few passages were found, so the prompt has one that the search did not find "
    "(meta.irrelevant_found is false)"
)
_LEFT_OUT = (
    "too few passages were found, and every other passage of the corpus is gold or has an "
    "answer, so they are left out"
)
# Replaces the passages in prompts without passages.
_NO_PASSAGES = "(The search found no passage.)"
_USER_ROLES = ("user", "human")
# Starts of lines that begin another turn, question or passage.
_TURN_STARTS = ("user:", "User:", "assistant:", "- Title:", "Question:")
# These begin another turn only after an answer.
_ANSWER_STARTS = ("Agent:", "Answer:")


def make_task(options: QaOptions, sources: Sources) -> Task:
    """Make the task of some options, and open its corpus. Questions are read later.

    Raises:
        InputError: A file or the corpus can't be read.
        UsageError: A retriever has no corpus, or is unknown.
    """
    files = task_files(options, sources.data)
    _check_corpus(options)
    prompts = QaPrompts(options, sources)
    if options.gold is not None and not options.gold.is_file():
        state = "isn't a file" if options.gold.exists() else "does not exist"
        raise InputError(f"--gold {options.gold} {state}; expected DPR's nq-test_gold_info.json")
    corpus = None
    if options.corpus_path is not None and not options.closed_book:
        corpus = QaCorpus(options.corpus_path, options, sources)
    by = []
    if options.setting == "retrieved" and options.knows_gold:
        by.append("meta.gold_retrieved")
    if options.task == "hotpotqa":
        by.append("meta.type")
    data_files = list(files)
    if options.gold:
        data_files.append(options.gold)
    return Task(
        options=_identity(options, prompts, corpus),
        metrics=_metrics(options),
        by=tuple(by),
        params=_PARAMS[options.preset],
        # The options have the checksum of the corpus and the signature of the retriever.
        # Therefore, an index that was moved or extended is still the same.
        files=tuple(FileInfo.of(str(file), file) for file in data_files),
        prompts=prompts.files,
        questions=_QaQuestions(options, files, corpus, prompts),
        trim=TRIMMERS[options.post_process],
    )


def _check_corpus(options: QaOptions) -> None:
    """Check the corpus and the retriever, even if this run doesn't use them.

    Raises:
        InputError: The corpus doesn't exist.
        UsageError: There is nothing to search, or the retriever is invalid.
    """
    if options.searches and not options.has_corpus:
        raise UsageError(
            f"--setting {options.setting} needs passages to search. Add --corpus PATH with "
            "documents, a file of passages or an index. --setting gold and closed-book need no "
            "corpus, and neither does --retriever file:RESULTS.json if the results have the "
            "passages (DPR's ctxs)"
        )
    if options.retriever != "bm25":
        CorpusSession.check_retriever(options.retriever)
    if options.corpus_path is not None and not options.corpus_path.exists():
        raise InputError(
            f"--corpus {options.corpus_path} does not exist; expected a folder of documents, "
            "a file of passages or an index"
        )


def _metrics(options: QaOptions) -> tuple[str, ...]:
    if options.closed_book:
        return (*_CORRECT, "abstained")
    declining = (_DECLINING,) if options.instruction == "v2" else ()
    metrics = (*_CORRECT, *_FAITHFUL, *declining, "abstained")
    if options.setting == "irrelevant":
        return ("p_ir", *metrics)
    return (*metrics, "p_g") if options.knows_gold else metrics


def _identity(
    options: QaOptions, prompts: QaPrompts, corpus: QaCorpus | None
) -> dict[str, str | bool | None]:
    """Return the options that determine questions and scored text, with numbers as text."""
    identity: dict[str, str | bool | None] = {
        "setting": options.setting,
        "instruction": prompts.instruction,
        "preset": options.preset,
        "post-process": options.post_process,
    }
    if options.talks:
        identity["history-turns"] = str(options.history_turns)
    if options.task == "hotpotqa":
        identity["variant"] = options.variant
    if options.setting == "gold":
        identity["without-gold"] = options.without_gold
    if corpus is not None:
        identity["corpus"] = corpus.sha256
    if corpus is not None and options.searches:
        identity["retriever"] = corpus.signature
        if options.talks:
            identity["retrieval-query"] = options.retrieval_query
        identity["gold-needed"] = "all" if options.needs_all else "any"
        if options.setting == "retrieved":
            identity["passages"] = str(options.most_passages)
        else:
            identity["irrelevant-rank"] = str(options.irrelevant_rank)
    return identity


class QaPrompts:
    """Prompts of a task for single questions and for conversations, or the user's prompt.

    `instruction` describes the instruction in the run's identity.
    """

    def __init__(self, options: QaOptions, sources: Sources) -> None:
        """Choose the prompts. Raise UsageError or InputError for an unusable prompt file."""
        self._turns, self._path, task = options.history_turns, sources.prompt, options.task
        closed, version = options.closed_book, options.instruction
        needed = ["question"]
        if not closed:
            needed.append("passages")
        if task == "topiocqa":
            needed.append("history")
        optional = ["history"] if task == "questions" else []
        single = "closed-book-1" if closed else f"qa-{version}-1"
        conversation = "closed-book-conversation-1" if closed else f"conversation-{version}-1"
        names = [single]
        if task == "topiocqa":
            names = [conversation]
        elif options.talks:
            names = [single, conversation]
        prompts = [sources.choose_prompt(_PACKAGE, name, needed, optional) for name in names]
        self._single, self._conversation = prompts[0], prompts[-1]
        self.instruction: str = "none" if closed else version
        if sources.prompt is not None:
            self.instruction = "none but what the prompt says"

    @property
    def files(self) -> tuple[PromptFile, ...]:
        return tuple(dict.fromkeys((self._single.file, self._conversation.file)))

    def messages(self, item: QaQuestion, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """Fill the prompt. Raise UsageError if it has no placeholder for the history."""
        prompt: Prompt = self._conversation if item.history else self._single
        values = {"question": item.question, "passages": format_passages(passages)}
        if item.history:
            if not prompt.has("history"):
                raise UsageError(
                    f"{item.place}: the question has a history, but the prompt {self._path} has no "
                    "placeholder {history}. Add it to the prompt"
                )
            values["history"] = format_turns(item.history, self._turns)
        return prompt.fill(values)


def format_passages(passages: Sequence[Passage]) -> str:
    """Return passages as a list with titles and blank lines between them."""
    if not passages:
        return _NO_PASSAGES
    entries = []
    for passage in passages:
        title = f"Title: {passage.title}\n" if passage.title else ""
        entries.append(f"- {title}{passage.text.strip()}")
    return "\n\n".join(entries)


def cut_turns(turns: Sequence[Turn], max_turns: int) -> list[Turn]:
    """Remove questions with their answers from the middle until at most `max_turns` are left.

    The first turns, which introduce the topic, and the last turns stay.
    """
    remaining = list(turns)
    while len(remaining) > max_turns and len(remaining) > 1:
        middle = len(remaining) // 2
        start = middle - 2 + middle % 2
        del remaining[start : start + 2]
    return remaining[:max_turns]


def format_turns(turns: Sequence[Turn], max_turns: int) -> str:
    """Return the turns, one per line, with `User:` or `Agent:` before each.

    Turns without a role alternate, and the user begins.
    """
    speakers = []
    for number, turn in enumerate(turns):
        user = number % 2 == 0 if turn.role is None else turn.role.strip().lower() in _USER_ROLES
        speakers.append(Turn(turn.content, "User" if user else "Agent"))
    shown_turns = cut_turns(speakers, max_turns)
    return "\n".join(f"{turn.role}: {turn.content.strip()}" for turn in shown_turns)


def query_of(item: QaQuestion, form: str, *, plain: bool) -> SearchQuery:
    """Return the search query of a question.

    Args:
        item: The question.
        form: One of `wings.search.base.FORMS`.
        plain: Normalize as for TopiOCQA's retriever: lower case, straight apostrophes, no question
            marks around a turn.
    """
    turns = [*(turn.content for turn in item.history), item.question]
    declared_query = item.retrieval_query
    if plain:
        turns = list(map(_plain, turns))
        declared_query = _plain(declared_query) if declared_query else None
    return SearchQuery.of_turns(turns, declared_query, form, item.id)


def _plain(text: str) -> str:
    return text.replace("’", "'").lower().strip().strip("?").strip()


def first_line(reply: str) -> str:
    """Return the first line of a reply."""
    return reply.lstrip("\n").partition("\n")[0]


def own_turn(reply: str) -> str:
    """Return the lines before another turn, question or passage, without blank lines."""
    lines: list[str] = []
    for line in filter(str.strip, reply.split("\n")):
        if line.startswith(_TURN_STARTS) or (lines and line.startswith(_ANSWER_STARTS)):
            break
        lines.append(line)
    return "\n".join(lines)


# Functions of `--post-process`. None leaves replies unchanged.
TRIMMERS: dict[str, Callable[[str], str] | None] = {
    "off": None,
    "first-line": first_line,
    "turns": own_turn,
}


@dataclass
class _QaQuestions:
    """Stream of the questions. The first call reads and checks all of them.

    Passages are retrieved per batch, when its first question is needed, and kept for later calls.
    """

    options: QaOptions
    files: Sequence[Path]
    corpus: QaCorpus | None
    prompts: QaPrompts
    items: list[QaQuestion] | None = None
    gold_numbers: Mapping[GoldPassage, frozenset[int]] = field(default_factory=dict)
    results: dict[int, list[FoundPassages]] = field(default_factory=dict)

    def __call__(self) -> Iterator[Question]:
        if self.items is None:
            self.items = self._select_items(read_items(self.options, self.files))
        items, setting, corpus = self.items, self.options.setting, self.corpus
        counts: Counter[str] = Counter()  # Searches by warning.
        seen = 0
        try:
            for start in range(0, len(items), BATCH_SIZE):
                batch = items[start : start + BATCH_SIZE]
                for item, retrieved in zip(batch, self._search(start, batch), strict=True):
                    seen += 1
                    outcome = ""
                    if setting == "retrieved" and not retrieved.numbers:
                        outcome = _EMPTY
                    elif setting == "irrelevant" and retrieved.rank is None:
                        outcome = _SAMPLED if retrieved.numbers else _LEFT_OUT
                    if outcome:
                        counts[outcome] += 1
                    if outcome is not _LEFT_OUT:
                        yield self._question(item, retrieved)
            if seen and counts[_LEFT_OUT] == seen:
                raise InputError(
                    f"--setting irrelevant: the corpus {self.options.corpus_path} has no "
                    f"irrelevant passage for any of the {seen:,} questions: all passages after "
                    f"rank {self.options.irrelevant_rank} are gold or have an answer. Name a "
                    "corpus with more passages"
                )
        finally:
            if corpus is not None:
                settings = f"--setting {setting}, {self.options.retriever}"
                for outcome, count in counts.items():
                    corpus.note(f"{settings}: {count:,} of {seen:,} questions: {outcome}")
                corpus.close()

    def _select_items(self, items: list[QaQuestion]) -> list[QaQuestion]:
        """Check the items, look up named gold passages, and return the items to ask."""
        options, corpus = self.options, self.corpus
        for item in items:
            for name in _META_FIELDS.get(options.setting, ()):
                if name in item.meta:
                    raise InputError(
                        f"{item.place}, field 'meta.{name}': found one, but a run with --setting "
                        f"{options.setting} writes this field. Rename yours, or leave it out"
                    )
        if corpus is not None and (options.task == "questions" or options.setting == "gold"):
            self.gold_numbers = corpus.look_up(items)
        if options.setting != "gold":
            return items
        without_text = [item.id for item in items if not self._has_gold_texts(item)]
        if without_text:
            message = (
                f"--setting gold: {_count(without_text)} have gold passages with names only. Add "
                "--corpus PATH with their texts"
            )
            if options.task == "hotpotqa":
                message += ", or use --variant distractor, which has them"
            raise InputError(message)
        with_gold = [item for item in items if item.gold]
        lacking = [item.id for item in items if not item.gold]
        if lacking and not (options.without_gold == "skip" and with_gold):
            remedy = {
                "nq": "Add --gold FILE with DPR's nq-test_gold_info.json",
                "questions": 'Give each question a "gold" list of ids or titles of passages, or '
                'contexts with "gold": true',
            }.get(options.task, "Take a copy of the data that has them")
            if with_gold:
                remedy += ", or add --without-gold skip to ask only the others"
            raise InputError(f"--setting gold: {_count(lacking)} have no gold passage. {remedy}")
        return with_gold

    def _has_gold_texts(self, item: QaQuestion) -> bool:
        return all(gold.text is not None or gold in self.gold_numbers for gold in item.gold)

    def _search(self, start: int, batch: Sequence[QaQuestion]) -> list[FoundPassages]:
        options, corpus = self.options, self.corpus
        if not options.searches or corpus is None:
            return [FoundPassages(())] * len(batch)
        if start not in self.results:
            plain = options.task == "topiocqa"
            queries = [query_of(item, options.retrieval_query, plain=plain) for item in batch]
            self.results[start] = corpus.find(batch, queries)
        return self.results[start]

    def _question(self, item: QaQuestion, retrieved: FoundPassages) -> Question:
        options, answerable = self.options, item.answerable
        contexts: list[Passage] = []
        more: dict[str, Any] = {}
        if options.setting == "gold":
            contexts = self._gold_passages(item)
            answerable = item.answerable is not False
        elif options.setting == "irrelevant":
            contexts = self._passages(retrieved, [[]])
            more = {
                "irrelevant_rank": retrieved.rank,
                "irrelevant_found": retrieved.rank is not None,
            }
            answerable = False
        elif options.setting == "retrieved":
            contexts, more = self._retrieved(item, retrieved)
            # Without a gold passage, another passage may still have the answer.
            if item.gold and item.answerable is not False:
                answerable = True if more["gold_retrieved"] else None
        record = Record(
            id=item.id,
            response="",
            question=item.question,
            history=list(item.history) or None,
            contexts=None if options.closed_book else contexts,
            references=list(item.references) or None,
            answerable=answerable,
            group=item.group,
            meta={"dataset": options.task, "setting": options.setting, **item.meta, **more},
        )
        return Question(record, self.prompts.messages(item, contexts))

    def _retrieved(
        self, item: QaQuestion, retrieved: FoundPassages
    ) -> tuple[list[Passage], dict[str, Any]]:
        """Return the passages in rank order, and the rank at which the gold ones are complete."""
        assert self.corpus is not None
        golds = self.corpus.match(retrieved.numbers, item.gold)
        needed = len(item.gold) if self.options.needs_all else min(1, len(item.gold))
        seen: set[int] = set()
        rank = None
        for passage_rank, matches in enumerate(golds, start=1):
            seen.update(matches)
            if rank is None and needed and len(seen) >= needed:
                rank = passage_rank
        has_gold = bool(item.gold)
        more = {"gold_retrieved": rank is not None if has_gold else None, "gold_rank": rank}
        return self._passages(retrieved, golds, has_gold=has_gold), more

    def _passages(
        self, retrieved: FoundPassages, golds: Sequence[Sequence[int]], *, has_gold: bool = True
    ) -> list[Passage]:
        """Return the passages. Their `gold` is None if the item has no known gold passage."""
        assert self.corpus is not None
        passages = [self.corpus.passage(number) for number in retrieved.numbers]
        for passage, matches in zip(passages, golds, strict=False):
            passage.gold = bool(matches) if has_gold else None
        return passages

    def _gold_passages(self, item: QaQuestion) -> list[Passage]:
        """Return the gold passages without repeated texts. Passages of the corpus have priority."""
        unique: dict[str, tuple[bool, Passage]] = {}
        for gold in item.gold:
            if gold.text is not None:
                passages = [Passage(gold.text, id=gold.id, title=gold.title)]
            else:
                assert self.corpus is not None
                numbers = sorted(self.gold_numbers[gold])
                passages = [self.corpus.passage(number) for number in numbers]
            in_corpus = gold.text is None
            for passage in passages:
                passage.gold = True
                key = " ".join(words(passage.text)) or passage.text
                if key not in unique or in_corpus > unique[key][0]:
                    unique[key] = in_corpus, passage
        return [passage for _, passage in unique.values()]


def _count(ids: Sequence[str]) -> str:
    listed = ", ".join(ids[:MAX_LISTED_IDS]) + (", …" if len(ids) > MAX_LISTED_IDS else "")
    return f"{len(ids):,} questions ({listed})"
