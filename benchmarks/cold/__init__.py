"""What `cold_start` runs in fresh processes: the deployed function, and what it is compared with."""
