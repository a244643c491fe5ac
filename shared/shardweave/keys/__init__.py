"""Keys and shards: the design of keys, building and parsing their texts, and computing shards. Pure."""
