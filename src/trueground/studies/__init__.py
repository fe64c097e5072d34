"""Studies over finished runs and labelled data: sweeps, comparison, calibration, errors."""
