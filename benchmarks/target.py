"""The server under load: where it is, how to speak to it, and the bytes of a request to it. Loopback only."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

import msgspec

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
JSON = "application/json"


class Target(msgspec.Struct, frozen=True):
    host: str
    port: int
    token: str = ""
    is_tls: bool = True

    @classmethod
    def of(cls, url: str, token: str) -> Target:
        """The server at a URL; ValueError for one on another machine, which nobody asked to be loaded."""
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or parts.hostname not in LOOPBACK:
            raise ValueError(f"{url} is not http(s) on the loopback interface; only this machine is put under load")
        is_tls = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if is_tls else 80), token, is_tls)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_tls else 'http'}://{host}:{self.port}"

    def context(self) -> ssl.SSLContext | None:
        """TLS without a check of the certificate: the peer is on loopback, and whoever runs this named it."""
        if not self.is_tls:
            return None
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["http/1.1"])
        return context

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        type: str = JSON,  # noqa: A002
        accept: str = JSON,
        gzip: bool = False,
    ) -> bytes:
        lines = [
            f"{method} {path} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            "User-Agent: bench",
            f"Accept: {accept}",
        ]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        if gzip:
            lines.append("Accept-Encoding: gzip")
        if body:
            lines += [f"Content-Type: {type}", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body
