"""What is provisioned: one construct a file, put together in `stack`."""
