"""Parsing DynamoDB's replies in botocore: unconverted JSON, and never a success for a broken reply.

botocore's own parser walks the service's model for every attribute of every item, which is most of what a page costs.
The reply's JSON already has the wanted structure, so for the operations on items it is used unchanged. Binary stays
base64 (`items` decodes it), and members that the model does not know are kept. Errors, the operations on the table, and
other protocols are parsed by botocore.

A reply is broken if its checksum is wrong, or if it has the status 200 and is not a JSON object. botocore treats the
latter as an empty answer, that is, as a successful write, and accepts the former after its last attempt. Here a broken
reply becomes an `Error` whose code botocore retries like a lost connection, and which `client` finally refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from botocore.parsers import JSONParser, ResponseParserFactory

from .trust import is_whole, readable

BROKEN = {"Code": "RequestTimeout", "Message": "The reply can't be read."}
"""The error for a broken reply. botocore's standard mode retries this code."""

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
    """Creates the parsers of a session's clients: `ReplyParser` for JSON, botocore's parsers for the rest."""

    def __init__(self) -> None:
        super().__init__()
        self._json = ReplyParser()

    def create_parser(self, protocol_name: str) -> Any:
        return self._json if protocol_name == "json" else super().create_parser(protocol_name)


class ReplyParser(JSONParser):  # type: ignore[misc]
    """Returns the same as botocore's parser, except for the differences described in the module. Stateless."""

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
    """The same check for clients with another parser, on botocore's `before-parse` event."""
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
    """The metadata of a response, as in botocore's parser."""
    headers = {name.lower(): value for name, value in response["headers"].items()}
    metadata = {"HTTPStatusCode": response["status_code"], "HTTPHeaders": headers}
    if "x-amzn-requestid" in headers:
        metadata["RequestId"] = headers["x-amzn-requestid"]
    return {"ResponseMetadata": metadata}
