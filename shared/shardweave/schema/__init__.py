"""Schemas: the declarations of a user, their checks, and their compiled form. Pure."""
