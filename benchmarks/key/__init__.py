"""The two sides of the comparison of key building, each a process that builds when it is told to."""
