"""TLS of a server: 1.2 or newer, HTTP/1.1 by ALPN, and the client's certificate if it has one.

With a client CA a certificate is asked for but not demanded, since a client may come with a token instead; one that
the CA did not sign ends the handshake, so whatever `Peer.certificate` shows has been verified.
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
