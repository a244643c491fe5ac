"""Relations between records: expanded in reads, enforced in writes."""
