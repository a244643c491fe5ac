"""Relations between records: loading related records, and enforcing relations in writes."""
