"""Search by vectors: over texts in memory, and over vectors on disk, exact or through faiss."""
