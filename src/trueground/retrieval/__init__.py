"""Find passages: corpora, lexical and dense search, and distractors that look like an answer."""
