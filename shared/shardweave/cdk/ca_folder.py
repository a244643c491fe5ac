"""A folder of certificates in which OpenSSL can look up a single one, made from a file that contains all of them.

Reading a file of 140 authorities takes 40 to 60 ms at each start of a function; from a folder, OpenSSL reads only the
authority that signed. The format is OpenSSL's: a file for each certificate, whose name is the hash of its subject in
eight hexadecimal digits, a dot, and a number to distinguish subjects with the same hash. The hash, since OpenSSL 1.0.0,
is the first four bytes, least significant first, of the SHA-1 of the subject in a canonical form: each text is UTF-8 in
lower case, without spaces at its ends, and with single spaces inside.
"""

from __future__ import annotations

import re
import ssl
from collections import Counter
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE, _SET, _UTF8, _VERSION = 0x30, 0x31, 0x0C, 0xA0
_ENCODINGS = {
    _UTF8: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1A: "ascii",
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}
"""The types of texts that the canonical form changes, by their DER tags, with their encodings."""


def make_ca_folder(bundle: Path, folder: Path) -> int:
    """Write the folder for all certificates of a file in PEM form. Returns their number."""
    folder.mkdir(parents=True)
    numbers: Counter[str] = Counter()
    for certificate in _CERTIFICATE.findall(bundle.read_text()):
        name = subject_hash(ssl.PEM_cert_to_DER_cert(certificate))
        (folder / f"{name}.{numbers[name]}").write_text(f"{certificate}\n")
        numbers[name] += 1
    return numbers.total()


def subject_hash(certificate: bytes) -> str:
    """The hash by which OpenSSL looks up the subject of a certificate in DER form, in eight hexadecimal digits."""
    ((_, content),) = _elements(certificate)
    (_, signed), *_ = _elements(content)
    fields = [field for tag, field in _elements(signed) if tag != _VERSION]
    _serial, _algorithm, _issuer, _validity, subject, *_ = fields
    canonical = b"".join(_canonical_set(part) for _, part in _elements(subject))
    return sha1(canonical, usedforsecurity=False).digest()[3::-1].hex()


def _canonical_set(content: bytes) -> bytes:
    pairs = []
    for _, pair in _elements(content):
        (kind, identifier), (tag, text) = _elements(pair)
        pairs.append(_encoded(_SEQUENCE, _encoded(kind, identifier) + _canonical_text(tag, text)))
    return _encoded(_SET, b"".join(sorted(pairs)))


def _canonical_text(tag: int, text: bytes) -> bytes:
    encoding = _ENCODINGS.get(tag)
    if encoding is None:
        return _encoded(tag, text)
    utf8 = text.decode(encoding).encode()
    # Bytes above ASCII are not changed: only ASCII has lower case and white space here.
    return _encoded(_UTF8, re.sub(rb"[ \t\n\v\f\r]+", b" ", utf8.strip(b" \t\n\v\f\r")).lower())


def _elements(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The tags and contents of consecutive DER elements."""
    position = 0
    while position < len(content):
        tag, length, position = content[position], content[position + 1], position + 2
        if length >= 0x80:
            count = length - 0x80
            length, position = int.from_bytes(content[position : position + count], "big"), position + count
        yield tag, content[position : position + length]
        position += length


def _encoded(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 + len(digits))) + digits + content
