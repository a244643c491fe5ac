"""Typed clients of a service, written from its schema: one file of TypeScript or Python that needs no other package."""
