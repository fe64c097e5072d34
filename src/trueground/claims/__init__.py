"""Claims: from a text to the statements in it that can be checked, each with its source span."""
