"""Names that metrics have in other tools: which of ours is the same, or the nearest.

A name is an alias only where the definition is the same: the same parts of a record, counted the
same way. Who judges may differ; `--judge` chooses that.
"""

from __future__ import annotations

# The same definition under another name.
SAME = {
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
_RELEVANCE = (
    "relevance",
    "a language model (--rater) rates from 1 to 5 how far the response answers the question; it is "
    "no similarity of generated questions, and no share of statements",
)
_GROUNDEDNESS = (
    "support",
    "the mean probability that a claim is supported, by a judge that reads claims; it is no rating "
    "by a language model of each sentence or of the whole",
)
_HALLUCINATION = (
    "grounding_precision",
    "the share of claims that the contexts support, so that higher is better; 1 minus it is the "
    "share of unsupported claims, which is not the share of contexts that are contradicted",
)
_CORRECTNESS = (
    "correct_support",
    "the probability that the response states a reference; no mean of claims that agree and of a "
    "similarity. llm_correctness asks a language model",
)
_CONTEXT_RECALL = (
    "grounding_recall",
    "the share of the gold facts that the response states, not that the contexts hold; "
    + _RETRIEVAL,
)
_CONTEXT_PRECISION = (
    "k_recall",
    "the share of the contexts' words that the response uses; it does not tell which passages are "
    f"relevant. {_RETRIEVAL}",
)
_SIMILARITY = ("bertscore_f1", "it compares tokens in context, not one vector of each text")
# Name → the nearest of ours, and what that is instead.
NEAREST = {
    "groundedness": _GROUNDEDNESS,
    "response_groundedness": _GROUNDEDNESS,
    "grounded": _GROUNDEDNESS,
    "answer_relevancy": _RELEVANCE,
    "answer_relevance": _RELEVANCE,
    "response_relevancy": _RELEVANCE,
    "response_relevance": _RELEVANCE,
    "hallucination": _HALLUCINATION,
    "hallucination_rate": _HALLUCINATION,
    "answer_correctness": _CORRECTNESS,
    "factual_correctness": _CORRECTNESS,
    "correctness": _CORRECTNESS,
    "context_recall": _CONTEXT_RECALL,
    "contextual_recall": _CONTEXT_RECALL,
    "context_entity_recall": _CONTEXT_RECALL,
    "claim_recall": _CONTEXT_RECALL,
    "context_precision": _CONTEXT_PRECISION,
    "contextual_precision": _CONTEXT_PRECISION,
    "context_relevance": _CONTEXT_PRECISION,
    "context_relevancy": _CONTEXT_PRECISION,
    "contextual_relevancy": _CONTEXT_PRECISION,
    "context_utilization": _CONTEXT_PRECISION,
    "answer_similarity": _SIMILARITY,
    "semantic_similarity": _SIMILARITY,
    "bleu": ("rouge_l", "the longest common subsequence of words, not the precision of n-grams"),
    "chrf": ("rouge_l", "the longest common subsequence of words, not of characters"),
    "string_present": ("recall_strict", "both texts are normalised before they are compared"),
    "string_presence": ("recall_strict", "both texts are normalised before they are compared"),
    "noise_sensitivity": (
        "grounding_precision",
        "the share of claims that the contexts support, right or wrong; it takes no references",
    ),
    "self_knowledge": (
        "grounding_precision",
        "1 minus it is the share of claims without support in the contexts, right or wrong",
    ),
    "refusal_rate": ("abstained", "its mean is the share of responses that decline to answer"),
}


def plain_name(name: str) -> str:
    """The name in small letters, with `_` between its words: `Answer-Relevancy` as ours."""
    return name.lower().replace("-", "_").replace(" ", "_")
