"""Step 1: documents, how popular they are, and what they link to."""
