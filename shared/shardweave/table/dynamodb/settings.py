"""Connection settings for both transports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """How clients connect. Timeouts are in seconds, and for each attempt. `stock_parser`: botocore's own parser reads
    all replies, as with a given client; the answers are the same."""

    endpoint_url: str | None = None
    region: str | None = None
    max_pool_connections: int = 64
    connect_timeout: float = 2.0
    read_timeout: float = 5.0
    max_attempts: int = 3
    stock_parser: bool = False


DEFAULTS = Settings()
