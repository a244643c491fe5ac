"""DynamoDB and Secrets Manager as far as one request needs them: users of every shard, and a key ring.

It runs in threads of the process that measures, which waits meanwhile. Records are the deployed service's own, made by
its declaration.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from services import user_service
from shardweave.keys.shard_key.key_ring import KeyRing, encode_key_ring
from shardweave.table.values import to_attribute_values

USERS = 40
KNOWN = "u00"
"""A user that is there."""

CREATED = 1_726_880_933_000


def stored_users() -> list[dict[str, Any]]:
    """Users in DynamoDB's typed form, in the order in which they were made."""
    user = user_service.schema().entity("user")
    return [
        dict(
            to_attribute_values(
                user.complete(
                    {
                        "userId": f"u{number:02d}",
                        "created": CREATED + number,
                        "updated": CREATED + number,
                        "beneficiaryId": f"b{number % 2}",
                        "firstName": "Jason",
                        "firstNameCanonical": "jason",
                        "lastName": f"Williscroft {number:02d}",
                        "lastNameCanonical": f"williscroft{number:02d}",
                        "phone": f"1773{number:07d}",
                    }
                )
            )
        )
        for number in range(USERS)
    ]


def known_shard() -> str:
    """The hash key of the user that is there."""
    (found,) = (user["hashKey"]["S"] for user in stored_users() if user["userId"]["S"] == KNOWN)
    return str(found)


class Account:
    """An emulated account at `url`."""

    def __init__(self) -> None:
        users = stored_users()
        self._users = {(user["hashKey"]["S"], user["rangeKey"]["S"]): user for user in users}
        self._ring = encode_key_ring(KeyRing("k1", {"k1": b"0123456789abcdef0123456789abcdef"}))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _serving(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, operation: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What an operation answers."""
        match operation:
            case "GetItem":
                found = self._users.get((asked["Key"]["hashKey"]["S"], asked["Key"]["rangeKey"]["S"]))
                return {} if found is None else {"Item": found}
            case "Query":
                return self._query(asked)
            case "GetSecretValue":
                return {"ARN": asked["SecretId"], "Name": "keys", "SecretString": self._ring}
            case _:
                raise LookupError(operation)

    def _query(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        values = [value.get("S") for value in asked["ExpressionAttributeValues"].values()]
        found = [user for user in self._users.values() if user["hashKey"]["S"] in values][: asked["Limit"]]
        keys = {name: found[-1][name] for name in ("hashKey", "rangeKey", "created")}
        return {"Items": found, "Count": len(found), "ScannedCount": len(found), "LastEvaluatedKey": keys}


def _serving(account: Account) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer is sent at once: its head and its body apart would wait 40 ms for each other on a kept connection.
        wbufsize = -1

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(account.answer(self.headers["X-Amz-Target"].rpartition(".")[2], asked)).encode()
            self.send_response(200)
            self.send_header("Content-Type", self.headers["Content-Type"])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Requests are not news."""

    return Handler
