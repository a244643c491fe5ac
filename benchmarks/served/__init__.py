"""The other side of the local server: a route of uvicorn's that does nothing."""
