"""How much load each partition of the table takes, and when a re-shard should begin."""
