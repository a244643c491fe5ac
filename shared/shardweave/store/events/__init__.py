"""Events carried out on read models."""
