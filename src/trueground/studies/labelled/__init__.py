"""Records that people have labelled: which label is meant, and what it is of each record."""
