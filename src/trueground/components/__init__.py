"""Components: how they are named and found, what each has to be, and users' functions."""
