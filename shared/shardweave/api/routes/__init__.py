"""The operations of the API, a file for each kind of route."""
