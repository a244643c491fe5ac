"""Keys and shards: how a key is designed, how its texts are built and read, and which shard they lead to. Pure."""
