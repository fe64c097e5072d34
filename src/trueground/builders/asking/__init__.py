"""Asking models within a stage: replies as checked objects, each paid for once."""
