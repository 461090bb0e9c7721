"""TLS contexts of servers and clients.

A server speaks TLS 1.2 or newer and offers HTTP/1.1 by ALPN. With a client CA it requests a certificate but does not
require one, because a client may use a token instead. A certificate that the CA did not sign ends the handshake, so
`Peer.certificate` is always verified.
"""

from __future__ import annotations

import ssl
from pathlib import Path


def server_context(
    certificate_file: str | Path, key_file: str | Path, client_ca_file: str | Path | None = None
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate_file, key_file)
    if client_ca_file is not None:
        context.load_verify_locations(client_ca_file)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def client_context(
    *,
    authority: str = "",
    certificate: bytes | None = None,
    key: bytes | None = None,
    is_verified: bool = True,
) -> ssl.SSLContext:
    """Trusts the system's authorities unless one is given. Blocking; `ssl.SSLError` or `ValueError` for invalid PEM."""
    context = ssl.create_default_context(cadata=authority or None)
    if certificate is not None and key is not None:
        _present(context, certificate, key)
    if not is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _present(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    from tempfile import TemporaryDirectory

    # Python's ssl module loads a client certificate only from files.
    with TemporaryDirectory(prefix="homeostat-") as directory:
        chain = Path(directory) / "client.pem"
        chain.touch(mode=0o600)
        chain.write_bytes(certificate.rstrip() + b"\n" + key)
        context.load_cert_chain(chain)
