"""Lookups: lookup records, which find records by a value or keep a value unique."""
