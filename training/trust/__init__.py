"""docs/trust.md: how metrics and the offline judge do on the human-labeled sets."""
