"""Lookups: the records by which others are found, or kept unique."""
