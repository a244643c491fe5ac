"""A service put together from its schema, its table and its settings."""
