"""The four papers: their benchmarks, builders that make such benchmarks, kinds of errors."""
