"""Text to tokens: one definition of every normaliser, tokeniser and sentence rule."""
