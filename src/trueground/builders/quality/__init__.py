"""What a built benchmark is like: sizes, lengths, factors, doubles, overlap, agreement."""
