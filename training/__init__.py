"""What ships as data was made here; nothing of it is part of the package."""
