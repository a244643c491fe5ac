"""The folder of certificates that a layer has: OpenSSL finds in it each authority of the file that it is made of."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shardweave.cdk.ca_folder import make_ca_folder
from shardweave.table.dynamodb.transport.endpoint import CA_FOLDER, HostEndpoint, ca_file, place_of

SUBJECTS = {
    "plain": [[(NameOID.COMMON_NAME, "Authority")]],
    "of several parts": [[(NameOID.COUNTRY_NAME, "NL")], [(NameOID.ORGANIZATION_NAME, "An AUTHORITY")]],
    "with spaces": [[(NameOID.COMMON_NAME, "  An   Authority\t of\n\nTests ")]],
    "beyond ASCII": [[(NameOID.COMMON_NAME, "AUTORITÉ ÉTRANGÈRE 權威")]],
    "longer than a byte tells": [[(NameOID.ORGANIZATION_NAME, "x" * 64), (NameOID.COMMON_NAME, "y" * 64)]] * 2,
    "of two attributes in one part": [[(NameOID.COMMON_NAME, "a"), (NameOID.ORGANIZATION_NAME, "b")]],
}
NOW = dt.datetime.now(dt.UTC)


def certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, **signed: object) -> bytes:
    """A certificate in PEM form, of a subject's key, signed by the issuer's."""
    signer = signed["by"]
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW - dt.timedelta(days=1))
        .not_valid_after(NOW + dt.timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=signed.get("authority") is True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


class Authority:
    """An authority of a name of its own, and a server that it vouches for."""

    def __init__(self, parts: list[list[tuple[x509.ObjectIdentifier, str]]], folder: Path) -> None:
        subject = x509.Name(
            [x509.RelativeDistinguishedName([x509.NameAttribute(*pair) for pair in part]) for part in parts]
        )
        key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        self.pem = certificate(subject, subject, key, by=key, authority=True)
        served = folder / "server.pem"
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        private = own.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        served.write_bytes(private + certificate(name, subject, own, by=key))
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(served)


def accepts(client: ssl.SSLContext, server: ssl.SSLContext) -> bool:
    """Whether a client trusts a server, by a handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


def folder_context(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(capath=str(folder))
    return context


@pytest.mark.parametrize("name", SUBJECTS)
def test_openssl_finds_an_authority_whatever_its_name(tmp_path: Path, name: str) -> None:
    authority = Authority(SUBJECTS[name], tmp_path)
    (tmp_path / "bundle.pem").write_bytes(authority.pem)
    assert make_ca_folder(tmp_path / "bundle.pem", tmp_path / "folder") == 1
    assert accepts(folder_context(tmp_path / "folder"), authority.server)


def test_two_authorities_of_one_name_are_both_found_and_a_stranger_is_not(tmp_path: Path) -> None:
    known, namesake, stranger = (Authority(SUBJECTS["plain"], tmp_path) for _ in range(3))
    (tmp_path / "bundle.pem").write_bytes(known.pem + namesake.pem)
    assert make_ca_folder(tmp_path / "bundle.pem", tmp_path / "folder") == 2
    context = folder_context(tmp_path / "folder")
    assert [accepts(context, each.server) for each in (known, namesake, stranger)] == [True, True, False]


def test_each_authority_of_the_file_has_a_file(tmp_path: Path) -> None:
    bundle = Path(ca_file())
    number = bundle.read_bytes().count(b"-----BEGIN CERTIFICATE-----")
    assert make_ca_folder(bundle, tmp_path / "folder") == number
    assert len(list((tmp_path / "folder").iterdir())) == number > 100


def trusted_by(endpoint: HostEndpoint) -> int:
    """How many authorities are read before the first handshake."""
    context = endpoint._new_context()
    return len(context.get_ca_certs())


def test_an_endpoint_reads_nothing_where_there_is_a_folder_and_the_file_where_it_is_missing_or_empty(
    tmp_path: Path,
) -> None:
    place = place_of("https://localhost")
    assert place is not None
    authority = Authority(SUBJECTS["plain"], tmp_path)
    (tmp_path / "bundle.pem").write_bytes(authority.pem)
    make_ca_folder(tmp_path / "bundle.pem", tmp_path / "folder")
    (tmp_path / "empty").mkdir()
    assert trusted_by(HostEndpoint(place, ca_folder=tmp_path / "folder")) == 0
    assert trusted_by(HostEndpoint(place, str(tmp_path / "bundle.pem"), ca_folder=tmp_path / "folder")) == 1
    everything = trusted_by(HostEndpoint(place, ca_file()))
    assert everything > 100
    for missing in (tmp_path / "none", tmp_path / "empty", CA_FOLDER):
        assert trusted_by(HostEndpoint(place, ca_folder=missing)) == everything
