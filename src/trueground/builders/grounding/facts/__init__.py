"""Step 3: atomic facts, and which of them an answer needs."""
