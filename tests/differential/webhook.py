"""A webhook over HTTPS for both servers, on a thread of its own."""

from __future__ import annotations

import base64
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from homeostat.server.pki.authority import Authority, Subject, issue, make_authority
from homeostat.server.pki.keys import new_key

Answer = Callable[[str, dict[str, Any]], Any]
"""What to answer to a path and the object that was sent; None is 503."""


class Webhook:
    def __init__(self, directory: Path, answer: Answer) -> None:
        now = datetime.now(UTC)
        authority_key, server_key = new_key(), new_key()
        authority = make_authority(authority_key, now=now)
        subject = Subject("webhook", hosts=frozenset({"localhost"}))
        certificate = issue(Authority(authority, authority_key), subject, key=server_key, now=now)
        (directory / "webhook.crt").write_bytes(certificate)
        (directory / "webhook.key").write_bytes(server_key)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(directory / "webhook.crt", directory / "webhook.key")
        self._bundle = base64.b64encode(authority).decode()
        self._answer = answer
        self._port = 0

    def client_config(self, path: str) -> dict[str, str]:
        return {"url": f"https://localhost:{self._port}{path}", "caBundle": self._bundle}

    @contextmanager
    def serving(self) -> Iterator[None]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                sent = msgspec.json.decode(self.rfile.read(int(self.headers["Content-Length"])))
                answered = answer(self.path, sent)
                body = b"busy" if answered is None else msgspec.json.encode(answered)
                self.send_response(503 if answered is None else 200)
                self.send_header("Content-Type", "text/plain" if answered is None else "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("localhost", 0), Handler)
        server.socket = self._context.wrap_socket(server.socket, server_side=True)
        self._port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, name="webhook", daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join(10)
