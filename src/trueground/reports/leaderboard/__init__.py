"""Several runs side by side, as a page and as text."""
