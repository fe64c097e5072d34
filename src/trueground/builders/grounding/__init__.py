"""`build grounding`: questions, gold facts, conflicting versions and distractors (Truly-Ground)."""
