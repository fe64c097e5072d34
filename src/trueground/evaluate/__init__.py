"""The only place that puts the rooms together: records, claims, judge, metrics, run, report."""
