"""Several runs side by side: run directories → one table of rows, which page and terminal show."""
