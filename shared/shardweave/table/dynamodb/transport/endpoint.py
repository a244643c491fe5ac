"""Where requests go: the host of an address, its addresses, and TLS to it.

Nothing is resolved and no certificate read before the first request. Addresses are kept for a few seconds, since asking
for them can't be given a time limit, and asked for anew after a connection failed.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from .connection import Address

KEPT_SECONDS, KEPT_AFTER_FAILURE = 5.0, 0.5
_HOST = re.compile(r"[a-z0-9]([a-z0-9.\-_]*[a-z0-9])?")
_IPV6 = re.compile(r"[0-9a-f:.]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}
CA_FOLDER = Path(__file__).with_name("certificates")
"""Of a layer: the certificates of `ca_file`, a file each, which OpenSSL reads when it meets them."""
AWS_SUFFIXES = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")


@dataclass(frozen=True)
class Place:
    """A host and port. `header` is what the Host header says."""

    host: str
    port: int
    secure: bool
    header: str

    @property
    def is_aws(self) -> bool:
        """Whether it is the service itself, whose answers always carry a checksum."""
        return self.host.endswith(AWS_SUFFIXES)


def place_of(url: str) -> Place | None:
    """The place that an address names; None for one that says more than that, or is unusual."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in _DEFAULT_PORTS or parts.path not in ("", "/") or parts.query or parts.fragment:
        return None
    is_ipv6 = "[" in parts.netloc
    if "@" in parts.netloc or url != url.strip() or not (_IPV6 if is_ipv6 else _HOST).fullmatch(host) or port == 0:
        return None
    default = _DEFAULT_PORTS[parts.scheme]
    header = f"[{host}]" if is_ipv6 else host
    if port is not None and port != default:
        header += f":{port}"
    return Place(host, port or default, parts.scheme == "https", header)


def ca_file() -> str:
    """The certificates that botocore trusts when nothing else is said: certifi's, or its own."""
    try:
        import certifi
    except ImportError:
        # The package itself is not imported: only its file is wanted.
        botocore = importlib.util.find_spec("botocore")
        assert botocore is not None
        assert botocore.origin is not None
        return str(Path(botocore.origin).with_name("cacert.pem"))
    return str(certifi.where())


class HostEndpoint:
    """Implements `Endpoint` for a place. `trusted` is a file of certificates; if None, those of `ca_folder` are trusted
    where a layer has that folder, else those of `ca_file`."""

    def __init__(
        self,
        place: Place,
        trusted: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        ca_folder: Path = CA_FOLDER,
    ) -> None:
        self.place = place
        self._trusted = trusted
        self._ca_folder = ca_folder
        self._monotonic = monotonic
        self._literal = _literal(place)
        self._context: ssl.SSLContext | None = None
        self._known: tuple[float, Sequence[Address]] | None = None
        self.unlock()

    def unlock(self) -> None:
        """Forget who held the lock, in a process that was just forked."""
        self._lock = threading.Lock()

    def addresses(self, *, anew: bool = False) -> Sequence[Address]:
        if self._literal is not None:
            return self._literal
        known = self._known
        kept = KEPT_AFTER_FAILURE if anew else KEPT_SECONDS
        if known is None or self._monotonic() - known[0] >= kept:
            found = socket.getaddrinfo(self.place.host, self.place.port, type=socket.SOCK_STREAM)
            self._known = known = (self._monotonic(), _by_turns([(each[0], each[4]) for each in found]))
        return known[1]

    def secured(self, sock: socket.socket) -> socket.socket:
        if not self.place.secure:
            return sock
        context = self._context or self._new_context()
        return context.wrap_socket(
            sock, server_hostname=self.place.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )

    def _new_context(self) -> ssl.SSLContext:
        with self._lock:
            if self._context is None:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                context.minimum_version = ssl.TLSVersion.TLSv1_2
                if self._trusted is None and self._ca_folder.is_dir() and any(self._ca_folder.iterdir()):
                    context.load_verify_locations(capath=str(self._ca_folder))
                else:
                    context.load_verify_locations(cafile=self._trusted or ca_file())
                self._context = context
            return self._context


def _literal(place: Place) -> Sequence[Address] | None:
    """The address that a host is written as; None for a name."""
    try:
        version = ipaddress.ip_address(place.host).version
    except ValueError:
        return None
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    return [(family, (place.host, place.port) if version == 4 else (place.host, place.port, 0, 0))]


def _by_turns(addresses: Sequence[Address]) -> list[Address]:
    """The system's order, but the two families by turns, so that one that leads nowhere costs one wait."""
    first = addresses[0][0]
    same = [address for address in addresses if address[0] == first]
    other = [address for address in addresses if address[0] != first]
    turns = []
    while same or other:
        turns += [family.pop(0) for family in (same, other) if family]
    return turns
