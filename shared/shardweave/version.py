"""The version of the library: the one place that says it."""

__version__ = "0.1.0"
"""The version of the library."""
