"""Files on this machine: where they are kept, how they are written, locked and recognized."""
