"""Measuring the load of each shard, and proposing re-shards."""
