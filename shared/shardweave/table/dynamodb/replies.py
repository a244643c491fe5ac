"""DynamoDB's replies as botocore hands them on: JSON as it is, and never a broken reply as a success.

botocore's own parser walks the service's model for every attribute of every item, which is most of what a page costs.
The reply's JSON already has the wanted shape, so for the operations on items it is taken as it is: what differs is
binary, which stays base64 (`items` decodes it), and members that the model does not know, which stay. Errors, the
operations on the table, and other protocols are parsed by botocore.

A reply is broken when it is not the one of which its checksum was made, and one that says 200 also when it is no JSON
object; botocore takes the latter for an empty answer, so for a write that succeeded, and after its last attempt the
former for a good one. A broken reply becomes an `Error` whose code botocore repeats like a lost connection, and which
`client` refuses in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.parsers import JSONParser, ResponseParserFactory

from .trust import is_whole, readable

BROKEN = {"Code": "RequestTimeout", "Message": "The reply can't be read."}
"""The error in a broken reply. The code is one that botocore's standard mode repeats."""

_AS_IT_IS = frozenset(
    f"{operation}Output"
    for operation in (
        "GetItem",
        "BatchGetItem",
        "TransactGetItems",
        "Query",
        "Scan",
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "TransactWriteItems",
        "BatchWriteItem",
    )
)


class ReplyParserFactory(ResponseParserFactory):  # type: ignore[misc]
    """Makes the parsers of a session's clients: `ReplyParser` for JSON, botocore's for the rest."""

    def __init__(self) -> None:
        super().__init__()
        self._json = ReplyParser()

    def create_parser(self, protocol_name: str) -> Any:
        return self._json if protocol_name == "json" else super().create_parser(protocol_name)


class ReplyParser(JSONParser):  # type: ignore[misc]
    """Gives the same as botocore's parser, except for what the module says. Holds no state."""

    def parse(self, response: Mapping[str, Any], shape: Any) -> Any:
        if response["status_code"] >= 300:
            return self._parse_error(response, shape) if is_whole(response) else _broken(response)
        body = readable(response)
        if body is None:
            return _broken(response)
        if shape is None or shape.name not in _AS_IT_IS:
            return super().parse(response, shape)
        reply = {name: value for name, value in body.items() if value is not None}
        return reply | _metadata(response)

    def _parse_error(self, response: Mapping[str, Any], shape: Any) -> Any:
        try:
            return super().parse(response, shape)
        except (AttributeError, TypeError, ValueError):
            # Not DynamoDB's form of an error, as from a proxy: its status has to do.
            return super().parse({**response, "body": b""}, shape)


def refuse_broken(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """For clients with a parser of their own, on botocore's `before-parse` event: the same refusal."""
    is_error = response_dict["status_code"] >= 300
    if not is_whole(response_dict) or (not is_error and readable(response_dict) is None):
        response_dict["body"] = b"{}"
        customized_response_dict["Error"] = dict(BROKEN)
    elif is_error and readable(response_dict) is None:
        # Not DynamoDB's form of an error, as from a proxy: its status has to do.
        response_dict["body"] = b""


def _broken(response: Mapping[str, Any]) -> dict[str, Any]:
    return {"Error": dict(BROKEN), **_metadata(response)}


def _metadata(response: Mapping[str, Any]) -> dict[str, Any]:
    """What botocore's parser says of a response besides its body."""
    headers = {name.lower(): value for name, value in response["headers"].items()}
    metadata = {"HTTPStatusCode": response["status_code"], "HTTPHeaders": headers}
    if "x-amzn-requestid" in headers:
        metadata["RequestId"] = headers["x-amzn-requestid"]
    return {"ResponseMetadata": metadata}
