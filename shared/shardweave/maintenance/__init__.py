"""Maintenance of a table in use: rewriting records, checking them, export and import.

Long work reads the table in lanes, a page of each at a time, and stores its progress in the table, so that it can stop
at any time and be continued later by any process. What it writes is conditioned on what it has read.
"""
