"""`shardweave explorer`: the Explorer of a deployed stage in a browser.

    shardweave explorer https://abc.execute-api.eu-central-1.amazonaws.com --token-file token

A browser can't send a token, or a signature, with the address of a page. So this command listens on this machine and
passes requests on to the stage: with the token, or signed with the AWS credentials of the environment. The address that
it opens contains a random name that changes with each start; other paths are refused, so other programs and pages can't
use it. Ctrl+C stops it.
"""

from __future__ import annotations

import argparse
import webbrowser
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ConfigurationError
from .console import Streams
from .forwarding import Authorize, Forwarder, Upstream, is_loopback

MAX_TOKEN_BYTES = 64 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The stage, and who asks."""
    parser.add_argument("url", metavar="URL", help="the address of the API")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a token, read anew for each request")
    parser.add_argument("--region", metavar="NAME", help="the region to sign for (default: that of the credentials)")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port here (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(options: argparse.Namespace, streams: Streams, until: Callable[[Forwarder], None] | None = None) -> int:
    """Listen until Ctrl+C; `until` replaces that. Raises ConfigurationError."""
    upstream = upstream_of(options.url)
    authorize = token_in(options.token_file) if options.token_file else signature(options.region)
    with Forwarder(upstream, authorize, options.port) as forwarder:
        address = f"{forwarder.address}/explorer"
        streams.write(f"ready {address}")
        streams.stdout.flush()
        if not options.no_browser:
            webbrowser.open(address)
        (until or Forwarder.wait)(forwarder)
    return 0


def upstream_of(url: str) -> Upstream:
    """The API at an address. Raises ConfigurationError."""
    parts = urlsplit(url.removesuffix("/").removesuffix("/explorer"))
    try:
        fits = bool(parts.hostname) and not (parts.query or parts.fragment or parts.username) and parts.port != 0
    except ValueError:
        fits = False
    local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not fits or not (parts.scheme == "https" or local):
        fix = "give the address of the API, as https://abc.execute-api.eu-central-1.amazonaws.com"
        raise ConfigurationError("must be an https address without a query", where="URL", fix=fix)
    return Upstream(parts.scheme, parts.netloc, parts.path)


def token_in(file: Path) -> Authorize:
    """The header with the token in a file, which may be replaced while the command runs. Raises ConfigurationError."""

    def authorize(method: str, url: str, body: bytes, headers: dict[str, str]) -> dict[str, str]:
        try:
            token = file.read_text(encoding="ascii")[:MAX_TOKEN_BYTES].strip()
        except (OSError, UnicodeDecodeError):
            token = ""
        if not token or not token.isprintable():
            raise ConfigurationError(f"{file} holds no token", where="--token-file", fix="write one into it")
        return {**headers, "authorization": f"Bearer {token.removeprefix('Bearer ')}"}

    authorize("GET", "", b"", {})
    return authorize


def signature(region: str | None) -> Authorize:
    """The headers that sign with the AWS credentials of the environment. Raises ConfigurationError."""
    from ..table.dynamodb import new_session
    from ..table.dynamodb.gateway_signature import gateway_signer

    return gateway_signer(new_session(), region)
