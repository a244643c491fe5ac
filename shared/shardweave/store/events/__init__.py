"""Applying events to read models."""
