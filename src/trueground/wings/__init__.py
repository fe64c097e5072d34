"""Special subjects on top of the core. They come in by entry points, as other packages do."""
