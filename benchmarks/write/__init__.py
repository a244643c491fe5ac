"""The parts of the benchmark of writes: the users that are written, and the server that takes them."""
