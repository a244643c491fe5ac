"""Programs that use typed clients of the issue tracker: a day's work, and wrong uses, each of which has its mark."""
