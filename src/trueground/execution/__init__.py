"""How work is run: worker and child processes, an event loop in a thread, progress bars."""
