"""Names of metrics in other tools, and the nearest metric here if the definition differs."""

from __future__ import annotations

# An alias has the same definition as the metric here: it reads the same fields of a record and
# counts the same way. Only the judge may differ, which `--judge` selects.
METRIC_ALIASES = {
    # Share of the response's claims that can be inferred from the contexts (ragas, RAGChecker).
    "faithfulness": "grounding_precision",
    "rc_faithfulness": "grounding_precision",
    "em": "exact_match",
    "f1_score": "f1",
    "token_f1": "f1",
    "rouge1": "rouge_1",
    "rouge2": "rouge_2",
    "rougel": "rouge_l",
    "bertscore": "bertscore_f1",
    "bert_score": "bertscore_f1",
}
_RETRIEVAL = "`trueground index evaluate` measures a retriever against gold passages"
# Names in other tools, the nearest metric here, and how its definition differs.
_SIMILAR = (
    (
        "groundedness response_groundedness grounded",
        "support",
        "the mean probability that a claim is supported. A judge checks each claim; no language "
        "model rates sentences or the whole answer",
    ),
    (
        "answer_relevancy answer_relevance response_relevancy response_relevance",
        "relevance",
        "a language model (--rater) rates from 1 to 5 how well the response answers the question. "
        "It isn't the similarity of generated questions or the share of relevant statements",
    ),
    (
        "hallucination hallucination_rate",
        "grounding_precision",
        "the share of claims that the contexts support (higher is better). 1 minus it is the "
        "share of unsupported claims, not the share of contexts that the response contradicts",
    ),
    (
        "answer_correctness factual_correctness correctness",
        "correct_support",
        "the probability that the response states a reference. It isn't the mean of a claim "
        "score and a similarity. To ask a language model, use llm_correctness",
    ),
    (
        "context_recall contextual_recall context_entity_recall claim_recall",
        "grounding_recall",
        "the share of the gold facts that the response states, not the share that the contexts "
        f"contain. {_RETRIEVAL}",
    ),
    (
        "context_precision contextual_precision context_relevance context_relevancy "
        "contextual_relevancy context_utilization",
        "k_recall",
        "the share of the contexts' words that the response uses. It doesn't show which passages "
        f"are relevant. {_RETRIEVAL}",
    ),
    (
        "answer_similarity semantic_similarity",
        "bertscore_f1",
        "it compares the embeddings of tokens in context, not one embedding of each text",
    ),
    (
        "bleu",
        "rouge_l",
        "the longest common subsequence of words, not the precision of n-grams",
    ),
    ("chrf", "rouge_l", "the longest common subsequence of words, not of characters"),
    (
        "string_present string_presence",
        "recall_strict",
        "both texts are normalized before they are compared",
    ),
    (
        "noise_sensitivity",
        "grounding_precision",
        "the share of claims that the contexts support, whether correct or not. It doesn't use "
        "references",
    ),
    (
        "self_knowledge",
        "grounding_precision",
        "1 minus it is the share of claims that the contexts don't support, whether correct or not",
    ),
    ("refusal_rate", "abstained", "its mean is the share of responses that decline to answer"),
)


def resolve_alias(name: str) -> str:
    """Return the metric here for a name in other tools; any other name unchanged."""
    return METRIC_ALIASES.get(plain_name(name), name)


def plain_name(name: str) -> str:
    """Return the name in lower case, with `_` between words: `answer_relevancy`."""
    return name.lower().replace("-", "_").replace(" ", "_")


def _index_similar() -> dict[str, tuple[str, str]]:
    similar = {}
    for names, nearest, difference in _SIMILAR:
        for name in names.split():
            similar[name] = (nearest, difference)
    return similar


SIMILAR_METRICS = _index_similar()
