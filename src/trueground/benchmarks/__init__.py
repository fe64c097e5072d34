"""One folder per paper: where the data comes from, prompts, task, published numbers."""
