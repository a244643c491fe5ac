"""A write, from what a caller gives to the transaction that is sent."""
