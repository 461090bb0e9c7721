"""Reads certificate signing requests, and signs them with the plane's authority. Input and output are PEM.

Importing the module loads the X.509 part of the cryptography package, so it is imported only for a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from homeostat.server.pki.authority import LEAF_LIFE, Authority
from homeostat.server.pki.keys import load_key

MAX_REQUEST_BYTES = 64 * 1024
_MIN_LIFE = timedelta(minutes=10)
_BACKDATE = timedelta(minutes=5)
_SHORT = timedelta(hours=8)
"""The backdating is taken off the life of certificates that last at least this long."""
_BEGIN = b"-----BEGIN CERTIFICATE REQUEST-----"
_KEY_USAGES = {"digital signature": "digital_signature", "key encipherment": "key_encipherment"}
"""What the key of a certificate of a standard signer may be for."""
_NO_USAGES = ("content_commitment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only")
_UNREADABLE = (ValueError, TypeError, KeyError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
_PURPOSES = {"server auth": ExtendedKeyUsageOID.SERVER_AUTH, "client auth": ExtendedKeyUsageOID.CLIENT_AUTH}


class SigningRequest(NamedTuple):
    """What a request asks for. Its signature has been checked."""

    common_name: str
    organizations: tuple[str, ...]
    hosts: int
    """How many DNS names and addresses it lists."""
    others: frozenset[str]
    """The other kinds of alternative names in it: `Email`, `URI`."""


def read_request(pem: bytes) -> SigningRequest:
    """`ValueError` with the reason if it is no request, or is not signed by its own key."""
    request = _load(pem)
    try:
        return _read(request)
    except _UNREADABLE as error:
        raise ValueError(f"unreadable subject or extensions: {error}") from error


def _read(request: x509.CertificateSigningRequest) -> SigningRequest:
    names = _alternative_names(request)
    hosts = [each for each in names if isinstance(each, x509.DNSName | x509.IPAddress)]
    others = {"Email" for each in names if isinstance(each, x509.RFC822Name)}
    others |= {"URI" for each in names if isinstance(each, x509.UniformResourceIdentifier)}
    common_names = _subject(request, NameOID.COMMON_NAME)
    organizations = tuple(_subject(request, NameOID.ORGANIZATION_NAME))
    return SigningRequest(common_names[-1] if common_names else "", organizations, len(hosts), frozenset(others))


def sign_request(
    authority: Authority, pem: bytes, usages: Sequence[str], *, seconds: int | None, now: datetime
) -> bytes:
    """A certificate for the request's key, subject and alternative names, and for nothing else that it asks for.

    It is valid for `seconds`, or a year, and not beyond the authority.
    """
    request, signer = _load(pem), x509.load_pem_x509_certificate(authority.certificate)
    life = LEAF_LIFE if seconds is None else max(_MIN_LIFE, min(LEAF_LIFE, timedelta(seconds=seconds)))
    end = now + life - (timedelta() if life < _SHORT else _BACKDATE)
    key = load_key(authority.key)
    builder = (
        x509.CertificateBuilder()
        .subject_name(request.subject)
        .issuer_name(signer.subject)
        .public_key(request.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(min(end, signer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    # An extension without any usage would forbid all.
    if (key_usage := _key_usage(usages)) is not None:
        builder = builder.add_extension(key_usage, critical=True)
    if purposes := [oid for usage, oid in _PURPOSES.items() if usage in usages]:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    if names := _alternative_names(request):
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def check_certificates(pem: bytes) -> None:
    """`ValueError` unless it is PEM of certificates and nothing else."""
    kinds = [line.removeprefix(b"-----BEGIN ") for line in pem.splitlines() if line.startswith(b"-----BEGIN ")]
    for kind in kinds:
        if kind != b"CERTIFICATE-----":
            found = kind.removesuffix(b"-----").decode(errors="replace")
            raise ValueError(f'only CERTIFICATE PEM blocks are allowed, found "{found}"')
    if not kinds:
        raise ValueError("must contain at least one CERTIFICATE PEM block")
    x509.load_pem_x509_certificates(pem)


def _load(pem: bytes) -> x509.CertificateSigningRequest:
    if len(pem) > MAX_REQUEST_BYTES:
        raise ValueError(f"may not be more than {MAX_REQUEST_BYTES} bytes")
    if not pem[pem.find(b"-----BEGIN ") :].startswith(_BEGIN):
        raise ValueError("PEM block type must be CERTIFICATE REQUEST")
    try:
        request = x509.load_pem_x509_csr(pem)
        is_signed = request.is_signature_valid
    except (ValueError, TypeError, UnsupportedAlgorithm, InvalidSignature) as error:
        raise ValueError(f"not a certificate request: {error}") from error
    if not is_signed:
        raise ValueError("the signature does not match the key of the request")
    return request


def _subject(request: x509.CertificateSigningRequest, name: x509.ObjectIdentifier) -> list[str]:
    return [str(each.value) for each in request.subject.get_attributes_for_oid(name)]


def _alternative_names(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _key_usage(usages: Sequence[str]) -> x509.KeyUsage | None:
    wanted = {name for usage, name in _KEY_USAGES.items() if usage in usages}
    if not wanted:
        return None
    flags = {name: name in wanted for name in _KEY_USAGES.values()}
    return x509.KeyUsage(**flags, **dict.fromkeys(_NO_USAGES, False), key_cert_sign=False, crl_sign=False)
