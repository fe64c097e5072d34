"""Pages that a server of ours feeds: runs to browse, and tasks to label."""
