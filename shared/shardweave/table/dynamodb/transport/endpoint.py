"""The endpoint of requests: the host, its IP addresses, and TLS.

No name is resolved and no certificate read before the first request. Addresses are cached for a few seconds, since
resolving can't have a timeout, and resolved again after a connection failed. Callers that ask at the same time share
one resolution. An event loop resolves names in a thread of its own; an IP address needs no resolution.
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

from ...waiting import Lock, loop_work
from .connection import Address

KEPT_SECONDS, KEPT_AFTER_FAILURE = 5.0, 0.5
_HOST = re.compile(r"[a-z0-9]([a-z0-9.\-_]*[a-z0-9])?")
_IPV6 = re.compile(r"[0-9a-f:.]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}
CA_FOLDER = Path(__file__).with_name("certificates")
"""The folder in a layer with the certificates of `ca_file`, one file each, which OpenSSL reads on demand."""
AWS_SUFFIXES = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")


@dataclass(frozen=True)
class Place:
    """A host and port. `header` is the value of the Host header."""

    host: str
    port: int
    secure: bool
    header: str

    @property
    def is_aws(self) -> bool:
        """Whether it is the AWS service, whose answers always have a checksum."""
        return self.host.endswith(AWS_SUFFIXES)


def place_of(url: str) -> Place | None:
    """The place in an address; None for an address with more parts, or an unusual one."""
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
    """The certificates that botocore trusts by default: certifi's, or its own."""
    try:
        import certifi
    except ImportError:
        # The package is not imported, since only its file is needed.
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
        self._answer: Sequence[Address] | OSError = []
        self._answers = 0
        self._left_to_parent: list[ssl.SSLContext | None] = []
        self.unlock()

    def unlock(self) -> None:
        """Reset the locks in a forked process. A TLS context contains a lock of OpenSSL that a thread of the parent may
        hold: using that context, or freeing it, could be a deadlock, so it is kept and not used."""
        self._lock, self._asking = threading.Lock(), Lock()
        self._left_to_parent.append(self._context)
        self._context = None

    def addresses(self, *, anew: bool = False) -> Sequence[Address]:
        if self._literal is not None:
            return self._literal
        known = self._known
        kept = KEPT_AFTER_FAILURE if anew else KEPT_SECONDS
        if known is not None and self._monotonic() - known[0] < kept:
            return known[1]
        before = self._answers
        with self._asking:
            if self._answers == before:
                self._ask()
            answer = self._answer
        if isinstance(answer, OSError):
            raise answer
        return answer

    def _ask(self) -> None:
        work, host, port = loop_work(), self.place.host, self.place.port
        try:
            if work is None:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            else:
                found = work.wait_for(work.loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            self._answer = error
        else:
            self._answer = _by_turns([(each[0], each[4]) for each in found])
            self._known = (self._monotonic(), self._answer)
        self._answers += 1

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
    """The IP address if the host is one; None for a name."""
    try:
        version = ipaddress.ip_address(place.host).version
    except ValueError:
        return None
    family = socket.AF_INET if version == 4 else socket.AF_INET6
    return [(family, (place.host, place.port) if version == 4 else (place.host, place.port, 0, 0))]


def _by_turns(addresses: Sequence[Address]) -> list[Address]:
    """The system's order, alternating between the two address families, so that an unreachable family costs only one
    wait."""
    first = addresses[0][0]
    same = [address for address in addresses if address[0] == first]
    other = [address for address in addresses if address[0] != first]
    turns = []
    while same or other:
        turns += [family.pop(0) for family in (same, other) if family]
    return turns
