"""Forms of records and queries as JSON and as text, which the HTTP API and the command line share."""
