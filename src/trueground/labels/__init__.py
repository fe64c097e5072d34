"""Human labels of records: what they are, how they were sampled, and the files that hold them."""
