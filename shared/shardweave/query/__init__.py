"""Queries: every shard and index that can hold a matching record is read, and merged into one exactly ordered page.

spec (what is asked) -> plan (pure: lanes and intervals) -> fan-out (reads) -> merge (pure: the order) -> cursor.
"""
