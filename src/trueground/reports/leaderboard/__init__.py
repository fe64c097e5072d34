"""Several runs side by side: from run directories to one page, one table, one JSON value."""
