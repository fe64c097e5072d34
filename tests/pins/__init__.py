"""What the public surface does, recorded: see `scenes`, and `python -m tests.pins --help`."""
