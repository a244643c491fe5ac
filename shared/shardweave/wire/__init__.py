"""JSON and text forms of records and queries, which the HTTP API and the command line share."""
