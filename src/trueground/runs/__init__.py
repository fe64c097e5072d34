"""The run directory: its files, its manifest and its lock. Results outlive code."""
