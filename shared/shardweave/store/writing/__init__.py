"""Writing: from the caller's operation to the transaction that is sent."""
