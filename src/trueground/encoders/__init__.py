"""Small models that compare texts, on this machine: shared by judges and dense retrieval."""
