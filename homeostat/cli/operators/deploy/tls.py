"""The certificate of admission webhooks, read from a directory. It is checked before it is printed, because an API
server silently skips a webhook whose certificate it does not trust.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from homeostat.cli.console.failure import Failure


class TlsFiles(msgspec.Struct, frozen=True):
    """In PEM. The authority is empty if clients have it already."""

    authority: bytes
    certificate: bytes
    key: bytes
    authority_key: bytes = b""
    """With it, a webhook can renew its certificate."""

    def files(self) -> dict[str, bytes]:
        authority = {"ca.crt": self.authority} if self.authority else {}
        signing = {"ca.key": self.authority_key} if self.authority_key else {}
        return {**authority, **signing, "tls.crt": self.certificate, "tls.key": self.key}


def service_name(service: str, namespace: str) -> str:
    """The DNS name by which an API server connects to the service."""
    return f"{service}.{namespace}.svc"


def read_tls(directory: Path, names: Sequence[str]) -> TlsFiles:
    """`Failure` if a file is missing or the certificate does not cover all names."""
    files = TlsFiles(*(_read(directory / name) for name in ("ca.crt", "tls.crt", "tls.key")))
    covered = _names(directory / "tls.crt", files.certificate)
    if missing := [each for each in names if each not in covered]:
        raise Failure(
            f"{directory / 'tls.crt'} is for {', '.join(covered) or 'no name'}, and the API server asks for "
            f"{', '.join(missing)}; make one for that service and namespace"
        )
    signing = directory / "ca.key"
    return msgspec.structs.replace(files, authority_key=_read(signing)) if signing.exists() else files


def read_faces_tls(directory: Path, service: str) -> TlsFiles:
    """With the authority if an API server can call the service with it: `ca.crt` is there, and the certificate is for
    the service; then also with the key of the authority, if it is there. Other clients choose the names by which they
    connect.
    """
    files = TlsFiles(b"", *(_read(directory / name, option="--faces-tls") for name in ("tls.crt", "tls.key")))
    authority, covered = directory / "ca.crt", _names(directory / "tls.crt", files.certificate)
    if service not in covered or not authority.exists():
        return files
    signing = directory / "ca.key"
    key = _read(signing, option="--faces-tls") if signing.exists() else b""
    return msgspec.structs.replace(files, authority=_read(authority, option="--faces-tls"), authority_key=key)


def _read(path: Path, *, option: str = "--tls") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        needed = "ca.crt, tls.crt and tls.key" if option == "--tls" else "tls.crt and tls.key"
        raise Failure(f"{path}: {error.strerror}; {option} names a directory with {needed}") from error


def _names(path: Path, certificate: bytes) -> list[str]:
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(certificate).extensions
        return found.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    except ValueError as error:
        raise Failure(f"{path}: not a certificate in PEM") from error
    except x509.ExtensionNotFound:
        return []
