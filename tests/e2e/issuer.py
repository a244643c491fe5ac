"""An issuer of tokens on loopback: what an authorizer asks it, and tokens that it signs."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE = "shardweave-tests"


class Issuer:
    """Signs tokens with RS256; its public key is where OpenID Connect has it."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._pages: dict[str, Any] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _serving(self._pages))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._pages["/.well-known/openid-configuration"] = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        self._pages["/keys"] = {"keys": [self._public_key()]}
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def token(self, subject: str = "ana", **claims: Any) -> str:
        """A token that is valid for a day, unless the claims say otherwise."""
        now = int(time.time())
        said = {"iss": self.url, "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + 86_400, **claims}
        signed = ".".join(_text(part) for part in ({"alg": "RS256", "typ": "JWT", "kid": "1"}, said))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_base64(signature)}"

    def _public_key(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        kind = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1"}
        return kind | {"n": _number(numbers.n), "e": _number(numbers.e)}


def _serving(pages: Mapping[str, Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path)
            self.send_response(404 if page is None else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(page).encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            """Requests are not news."""

    return Handler


def _text(part: dict[str, Any]) -> str:
    return _base64(json.dumps(part).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _number(number: int) -> str:
    return _base64(number.to_bytes(-(-number.bit_length() // 8), "big"))
