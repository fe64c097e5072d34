"""Names that metrics have in other tools, and the nearest metrics to what isn't here."""

from __future__ import annotations

# Names that metrics have in other tools. An alias has the same definition: the same parts of a
# record, counted the same way; who judges may differ, `--judge` chooses that.
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
# The names of others, the nearest of ours, and what that is instead.
_NEAREST = (
    (
        "groundedness response_groundedness grounded",
        "support",
        "the mean probability that a claim is supported, by a judge that reads claims; it is no "
        "rating by a language model of each sentence or of the whole",
    ),
    (
        "answer_relevancy answer_relevance response_relevancy response_relevance",
        "relevance",
        "a language model (--rater) rates from 1 to 5 how far the response answers the question; "
        "it is no similarity of generated questions, and no share of statements",
    ),
    (
        "hallucination hallucination_rate",
        "grounding_precision",
        "the share of claims that the contexts support, so that higher is better; 1 minus it is "
        "the share of unsupported claims, which is not the share of contexts that are contradicted",
    ),
    (
        "answer_correctness factual_correctness correctness",
        "correct_support",
        "the probability that the response states a reference; no mean of claims that agree and "
        "of a similarity. llm_correctness asks a language model",
    ),
    (
        "context_recall contextual_recall context_entity_recall claim_recall",
        "grounding_recall",
        "the share of the gold facts that the response states, not that the contexts hold; "
        + _RETRIEVAL,
    ),
    (
        "context_precision contextual_precision context_relevance context_relevancy "
        "contextual_relevancy context_utilization",
        "k_recall",
        "the share of the contexts' words that the response uses; it does not tell which passages "
        f"are relevant. {_RETRIEVAL}",
    ),
    (
        "answer_similarity semantic_similarity",
        "bertscore_f1",
        "it compares tokens in context, not one vector of each text",
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
        "the share of claims that the contexts support, right or wrong; it takes no references",
    ),
    (
        "self_knowledge",
        "grounding_precision",
        "1 minus it is the share of claims without support in the contexts, right or wrong",
    ),
    ("refusal_rate", "abstained", "its mean is the share of responses that decline to answer"),
)
SIMILAR_METRICS = {name: (ours, why) for names, ours, why in _NEAREST for name in names.split()}


def resolve_alias(name: str) -> str:
    """Return the name here of a metric that other tools call so; any other name as it is."""
    return METRIC_ALIASES.get(plain_name(name), name)


def plain_name(name: str) -> str:
    """The name in small letters, with `_` between its words: `Answer-Relevancy` as ours."""
    return name.lower().replace("-", "_").replace(" ", "_")
