"""The plane's keys and certificates on disk: created at the first start, renewed at later ones.

    ca.crt ca.key           the authority, ten years
    server.crt server.key   the server's certificate
    admin.crt admin.key     a client of the group system:masters
    sa.key                  signs service-account tokens

Promises: every file is 0600 in a directory 0700; a certificate is renewed for the same key when it has less than a
quarter of its year left, when it lacks one of the server's hosts, or when another authority signed it; a key is created
only if there is none, so an unreadable or unusable key stops the start and is never replaced. A start that creates
nothing reads a few small files and does not import the cryptography package. The functions block: call them before the
event loop runs, or in a thread.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from homeostat.edge.tls import context as tls
from homeostat.server.pki.certificate import Certificate, read_pem
from homeostat.server.pki.private_file import make_private_directory, read_private, write_private

_RENEW_BEFORE = timedelta(days=90)
_SERVICE_NAMES = (
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


class PkiError(Exception):
    """A file exists and cannot be used; the message says which, and what to do."""


class Pki(NamedTuple):
    """`server_name` names the file of the server's certificate: replicas that share a directory have one each."""

    directory: Path
    server_name: str = "server"

    @property
    def authority(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def server(self) -> Path:
        return self.directory / f"{self.server_name}.crt"

    @property
    def admin(self) -> Path:
        return self.directory / "admin.crt"

    @property
    def account_key(self) -> Path:
        return self.directory / "sa.key"


def prepare_pki(pki: Pki, *, hosts: Iterable[str], now: datetime) -> Pki:
    """Create and renew files as the module's docstring says."""
    make_private_directory(pki.directory)
    authority = _prepare_authority(pki.authority, now)
    _prepare_leaf(pki.server, authority, now, hosts=frozenset(hosts))
    _prepare_leaf(pki.admin, authority, now, hosts=frozenset())
    _key(pki.account_key)
    return pki


def keep_issued(pki: Pki, issued: Mapping[str, bytes]) -> None:
    """Write the credentials of a first start, which another process has issued, unless there are any already."""
    make_private_directory(pki.directory)
    if not any(pki.directory.iterdir()):
        for name, pem in issued.items():
            write_private(pki.directory / name, pem)


def sign_certificate(pki: Pki, request: bytes, usages: Sequence[str], *, seconds: int | None, now: datetime) -> bytes:
    """A certificate for a signing request, as PEM; `PkiError` if the authority's key is missing."""
    from homeostat.server.pki.authority import Authority
    from homeostat.server.pki.signing_request import sign_request

    key = _read(pki.authority.with_suffix(".key"))
    if key is None:
        raise PkiError(f"{pki.authority.with_suffix('.key')} is missing and nothing can be signed; restore it")
    authority = Authority(pki.authority.read_bytes(), key)
    return sign_request(authority, request, usages, seconds=seconds, now=now)


def server_context(pki: Pki) -> ssl.SSLContext:
    """A TLS context with the server's certificate that requests, but does not require, a client certificate."""
    try:
        return tls.server_context(pki.server, pki.server.with_suffix(".key"), pki.authority)
    except ssl.SSLError as error:
        raise _unusable(pki.server, error.reason or "the certificate does not match its key") from error


def renew(pki: Pki, context: ssl.SSLContext, *, hosts: Iterable[str], now: datetime) -> bool:
    """Renew certificates while the server runs; new connections use them. Returns whether any was renewed."""
    before = pki.server.read_bytes(), pki.admin.read_bytes()
    prepare_pki(pki, hosts=hosts, now=now)
    if (pki.server.read_bytes(), pki.admin.read_bytes()) == before:
        return False
    context.load_cert_chain(pki.server, pki.server.with_suffix(".key"))
    return True


def hosts_of(bind: str, address: str) -> frozenset[str]:
    """The host names for the certificate of a server that listens on `bind`; `address` is the URL for its clients."""
    hosts = server_hosts(bind, socket.gethostname())
    called = urlsplit(address).hostname
    return hosts | server_hosts(called, "") if called else hosts


def server_hosts(bind: str, host_name: str) -> frozenset[str]:
    """The host names for the server's certificate. A wildcard address adds none."""
    hosts = {"localhost", "127.0.0.1", "::1", *_SERVICE_NAMES}
    for host in (bind, host_name):
        try:
            address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
        except ValueError:
            if host and host.isascii():
                hosts.add(host.lower())
        else:
            hosts |= set() if address.is_unspecified else {str(address)}
    return frozenset(hosts)


def _prepare_authority(path: Path, now: datetime) -> Certificate:
    pem = _read(path)
    if pem is None:
        from homeostat.server.pki.authority import make_authority

        key = path.with_suffix(".key")
        try:
            pem = make_authority(_key(key), now=now)
        except ValueError as error:
            raise _unusable(key, error) from error
        write_private(path, pem)
    authority = _certificate(path, pem)
    if authority.not_after <= now:
        raise PkiError(f"{path}: the authority expired on {authority.not_after:%Y-%m-%d}; move {path.parent} away")
    return authority


def _prepare_leaf(path: Path, authority: Certificate, now: datetime, *, hosts: frozenset[str]) -> None:
    pem, key = _read(path), path.with_suffix(".key")
    if pem is not None and key.exists() and _is_good(_certificate(path, pem), authority, now, hosts):
        return
    from homeostat.server.pki.authority import ADMIN, Authority, issue, server

    authority_path = path.with_name("ca.crt")
    authority_key = _read(authority_path.with_suffix(".key"))
    if authority_key is None:
        raise PkiError(f"{authority_path.with_suffix('.key')} is missing and {path.name} must be renewed; restore it")
    signer = Authority(authority_path.read_bytes(), authority_key)
    subject = server(hosts) if hosts else ADMIN
    try:
        write_private(path, issue(signer, subject, key=_key(key), now=now))
    except ValueError as error:
        raise PkiError(f"cannot issue {path}: {error}; restore ca.key and {key.name}") from error


def _is_good(certificate: Certificate, authority: Certificate, now: datetime, hosts: frozenset[str]) -> bool:
    """Whether a certificate needs no renewal. One that expires with its authority cannot get a later expiry."""
    lasts = certificate.not_after - now > _RENEW_BEFORE or certificate.not_after == authority.not_after
    return lasts and certificate.issuer == authority.subject and hosts <= certificate.hosts


def _key(path: Path) -> bytes:
    """The key in a file; creates the file if it does not exist."""
    pem = _read(path)
    if pem is None:
        from homeostat.server.pki.keys import new_key

        pem = new_key()
        write_private(path, pem)
    elif b"PRIVATE KEY-----" not in pem:
        raise _unusable(path, "the file contains no private key")
    return pem


def _read(path: Path) -> bytes | None:
    try:
        return read_private(path)
    except OSError as error:
        raise _unusable(path, error.strerror) from error


def _certificate(path: Path, pem: bytes) -> Certificate:
    try:
        return read_pem(pem)
    except ValueError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, why: object) -> PkiError:
    return PkiError(f"{path} is invalid: {why}; restore the file, or move it away to create a new one")
