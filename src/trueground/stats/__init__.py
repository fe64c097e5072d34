"""Statistics over per-item numbers; nothing here ever reads a text."""
