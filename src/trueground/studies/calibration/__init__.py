"""A judge against human labels: its threshold, its probabilities, and how far both hold."""
