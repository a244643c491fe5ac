"""The parts of the benchmark of re-shards: a server that counts the write units of its movers."""
