"""A service: built from its schema, its table and its settings."""
