"""The retry quota of all calls of a table."""

from __future__ import annotations

import threading

from .retries import QUOTA


class RetryQuota:
    """Implements `Quota`. Safe for use by many threads."""

    def __init__(self, capacity: int = QUOTA) -> None:
        self._capacity = self.available = capacity
        self.unlock()

    def unlock(self) -> None:
        """Reset the lock in a forked process."""
        self._lock = threading.Lock()

    def take(self, cost: int) -> bool:
        with self._lock:
            if cost > self.available:
                return False
            self.available -= cost
            return True

    def give(self, amount: int) -> None:
        if self.available != self._capacity:
            with self._lock:
                self.available = min(self._capacity, self.available + amount)
