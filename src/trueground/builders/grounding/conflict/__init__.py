"""Step 4: the same instance with its key knowledge changed."""
