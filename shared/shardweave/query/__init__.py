"""Queries: one question, every shard and index that can hold an answer, one exactly ordered page.

spec (what is asked) -> plan (pure: lanes and intervals) -> fan-out (reads) -> merge (pure: the order) -> cursor.
"""
