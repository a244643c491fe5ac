"""Schemas: what a user writes, the checks of it, and what it becomes. Pure."""
