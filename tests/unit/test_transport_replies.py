"""How the direct transport reads one HTTP/1.1 reply: a closed grammar, however the bytes are cut."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.table.dynamodb.transport.reply_parser import MAX_HEAD, Malformed, ReplyParser, WireReply

BODY = b'{"Item": {"a": {"S": "b"}}}'
LENGTH = f"Content-Length: {len(BODY)}"


def reply(*lines: str, status: str = "HTTP/1.1 200 OK", body: bytes = BODY) -> bytes:
    return "\r\n".join([status, *lines, "", ""]).encode("latin-1") + body


def chunked(*chunks: bytes, head: str = "HTTP/1.1 200 OK") -> bytes:
    parts = b"".join(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in (*chunks, b""))
    return reply("Transfer-Encoding: chunked", status=head, body=parts)


def parsed(data: bytes, cuts: tuple[int, ...] = (), *, ends: bool = False) -> WireReply | None:
    """What comes of bytes that arrive in pieces."""
    parser = ReplyParser()
    edges = [0, *sorted({cut % (len(data) + 1) for cut in cuts}), len(data)]
    found = None
    for begin, end in itertools.pairwise(edges):
        piece = data[begin:end]
        while piece and found is None:
            space = parser.space()
            if space is None:
                found, piece = parser.receive(piece), b""
            else:
                part = piece[: len(space)]
                space[: len(part)] = part
                found, piece = parser.filled(len(part)), piece[len(part) :]
        if piece:
            raise Malformed("bytes behind the reply's end")
    return parser.ended() if ends and found is None else found


CUTS = st.lists(st.integers(0, 400), max_size=8).map(tuple)


@given(CUTS)
def test_a_reply_is_the_same_however_it_is_cut(cuts: tuple[int, ...]) -> None:
    found = parsed(reply(LENGTH, "x-amzn-RequestId:  r1 ", "x-amz-crc32: 5"), cuts)
    assert found is not None
    assert (found.status, found.body, found.keeps_open) == (200, BODY, True)
    assert found.headers["x-amzn-requestid"] == "r1"


@given(CUTS, st.integers(1, len(BODY) - 1))
def test_chunks_are_put_together(cuts: tuple[int, ...], middle: int) -> None:
    found = parsed(chunked(BODY[:middle], BODY[middle:]), cuts)
    assert found is not None
    assert (found.body, found.keeps_open) == (BODY, True)


@given(CUTS)
def test_a_body_without_a_length_ends_with_its_connection(cuts: tuple[int, ...]) -> None:
    assert parsed(reply(), cuts) is None
    found = parsed(reply(), cuts, ends=True)
    assert found is not None
    assert (found.body, found.keeps_open) == (BODY, False)


@pytest.mark.parametrize(
    "data",
    [
        reply(LENGTH, "Connection: close"),
        reply(LENGTH, "Connection: Keep-Alive, upgrade"),
        reply(LENGTH, status="HTTP/1.0 200 OK"),
        reply(LENGTH, "Connection: keep-alive", status="HTTP/1.0 200 OK"),
    ],
)
def test_a_connection_that_may_close_is_not_kept(data: bytes) -> None:
    """A14."""
    found = parsed(data)
    assert found is not None
    assert (found.body, found.keeps_open) == (BODY, False)


REFUSED = {
    "another protocol": reply(LENGTH, status="FTP/1.1 200 OK"),
    "another version": reply(LENGTH, status="HTTP/2.0 200 OK"),
    "a longer version": reply(LENGTH, status="HTTP/1.11 200 OK"),
    "a status that is no number": reply(LENGTH, status="HTTP/1.1 2x0 OK"),
    "a status of two digits": reply(LENGTH, status="HTTP/1.1 20 OK"),
    "a status of four digits": reply(LENGTH, status="HTTP/1.1 2000 OK"),
    "no blank before the reason": reply(LENGTH, status="HTTP/1.1 200OK"),
    "an interim reply": reply(status="HTTP/1.1 100 Continue", body=b""),
    "a length with a sign": reply(f"Content-Length: +{len(BODY)}"),
    "a negative length": reply("Content-Length: -1"),
    "a length in hexadecimal": reply("Content-Length: 0x1b"),
    "an empty length": reply("Content-Length:"),
    "a length with other digits": reply("Content-Length: \xb2\xb7"),
    "a length of ten digits": reply("Content-Length: 1000000000"),
    "a length that is too long": reply("Content-Length: 999999999"),
    "two lengths in one": reply(f"Content-Length: {len(BODY)}, {len(BODY)}"),
    "two equal lengths": reply(LENGTH, LENGTH),
    "two lengths": reply(LENGTH, "content-length: 3"),
    "a length and chunks": reply(LENGTH, "Transfer-Encoding: chunked"),
    "chunks of HTTP/1.0": chunked(BODY, head="HTTP/1.0 200 OK"),
    "another encoding of the transfer": reply("Transfer-Encoding: gzip, chunked"),
    "two encodings of the transfer": reply("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    "compressed content": reply(LENGTH, "Content-Encoding: gzip"),
    "two checksums": reply(LENGTH, "x-amz-crc32: 1", "x-amz-crc32: 2"),
    "a bare line feed": reply(LENGTH).replace(b"OK\r\n", b"OK\n"),
    "a bare carriage return": reply(LENGTH, "a: b\rc"),
    "a folded line": reply(LENGTH, "a: b", " c"),
    "a NUL": reply(LENGTH, "a: b\0"),
    "a blank before the colon": reply("Content-Length : 27"),
    "a line without a colon": reply(LENGTH, "nothing"),
    "no name": reply(LENGTH, ": x"),
    "bytes behind the end": reply(LENGTH) + b"H",
    "a second reply": reply(LENGTH) * 2,
    "a status that has no body": reply(status="HTTP/1.1 204 No Content", body=b""),
    "bytes behind the last chunk": chunked(BODY) + b"H",
    "a trailer": chunked(BODY)[:-2] + b"a: b\r\n\r\n",
    "a chunk that is longer than it says": reply("Transfer-Encoding: chunked", body=b"2\r\nabc\r\n0\r\n\r\n"),
    "a chunk without a size": reply("Transfer-Encoding: chunked", body=b"\r\nabc"),
    "a chunk with an extension": reply("Transfer-Encoding: chunked", body=b"3;a=b\r\nabc\r\n0\r\n\r\n"),
    "a chunk with a sign": reply("Transfer-Encoding: chunked", body=b"+3\r\nabc\r\n0\r\n\r\n"),
    "a chunk that is too long": reply("Transfer-Encoding: chunked", body=b"ffffffff\r\n"),
    "a head that is too long": reply(*[f"a{number}: {'b' * 1000}" for number in range(66)], LENGTH),
    "a head that never ends": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * (MAX_HEAD // 5),
}


@pytest.mark.parametrize("case", REFUSED)
@given(cuts=CUTS)
def test_what_is_not_certainly_one_reply_is_refused(case: str, cuts: tuple[int, ...]) -> None:
    """A11, A14."""
    with pytest.raises(Malformed):
        parsed(REFUSED[case], cuts, ends=True)


@given(st.data())
def test_what_is_cut_off_is_refused(data: st.DataObject) -> None:
    """A14, A27."""
    whole = data.draw(st.sampled_from([reply(LENGTH), chunked(BODY)]))
    with pytest.raises(Malformed):
        parsed(whole[: data.draw(st.integers(0, len(whole) - 1))], ends=True)


@given(st.binary(max_size=300), CUTS)
def test_no_bytes_raise_anything_else(data: bytes, cuts: tuple[int, ...]) -> None:
    for whole in (data, reply(body=data), reply("Transfer-Encoding: chunked", body=data)):
        with contextlib.suppress(Malformed):
            parsed(whole, cuts, ends=True)


def test_a_body_as_long_as_a_batch_may_be_is_read_into_one_buffer() -> None:
    """A17."""
    size = 128 * 1024 * 1024
    parser = ReplyParser()
    assert parser.receive(reply(f"Content-Length: {size}", body=b"{")) is None
    space = parser.space()
    assert space is not None
    assert len(space) == size
    found = parser.filled(size - 1)
    assert found is not None
    assert len(found.body) == size
