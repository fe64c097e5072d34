"""The flow of items through stages: what is done is taken, the rest made, all accounted for."""
