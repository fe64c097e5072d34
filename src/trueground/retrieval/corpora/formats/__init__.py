"""Files of passages in the layouts of their publishers."""
