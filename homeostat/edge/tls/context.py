"""TLS contexts of servers and clients.

A server speaks TLS 1.2 or newer and offers HTTP/1.1 by ALPN. With a client CA it requests a certificate but does not
require one, because a client may use a token instead. A certificate that the CA did not sign ends the handshake, so
`Peer.certificate` is always verified. A client that speaks plain HTTP gets a 400 that says so.
"""

from __future__ import annotations

import ssl
from pathlib import Path

# OpenSSL's words for what is not TLS: GET and POST, CONNECT, and any other text.
_NOT_TLS = frozenset({"HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER"})
_EXPLANATION = b"Client sent an HTTP request to an HTTPS server.\n"
"""The words of every server written in Go, which people search for."""
_REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(_EXPLANATION), _EXPLANATION)
)


class ServerObject(ssl.SSLObject):
    """Answers a client that speaks plain HTTP instead of TLS with a 400. The handshake's timeout then closes it."""

    outgoing: ssl.MemoryBIO | None = None

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if self.outgoing is None or error.reason not in _NOT_TLS:
                raise
            self.outgoing.write(_REFUSAL)
            self.outgoing = None
            # The event loop sends what is in the buffer when the handshake wants to read on.
            raise ssl.SSLWantReadError from error


class ServerContext(ssl.SSLContext):
    sslobject_class = ServerObject

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        wrapped = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        if isinstance(wrapped, ServerObject):
            wrapped.outgoing = outgoing
        return wrapped


def server_context(
    certificate_file: str | Path, key_file: str | Path, client_ca_file: str | Path | None = None
) -> ssl.SSLContext:
    context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
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
