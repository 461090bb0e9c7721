"""A plane in a process of its own, started as users start it: for clients that block and ends that come unasked."""

from __future__ import annotations

import http.client
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

_STOP_WITHIN_S = 10.0
_URL = re.compile(r"https://\S+")


class RefusedError(Exception):
    """The plane answered with another status than success."""


@dataclass
class ServedPlane:
    data: Path
    process: subprocess.Popen[str]
    url: str

    @property
    def kubeconfig(self) -> Path:
        return self.data / "kubeconfig"

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @cached_property
    def trust(self) -> ssl.SSLContext:
        """TLS with the administrator's certificate."""
        pki = self.data / "pki"
        context = ssl.create_default_context(cafile=pki / "ca.crt")
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        return context

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.trust, timeout=30)

    def ask(self, method: str, path: str, body: object = None, *, content_type: str = "application/json") -> Any:
        """One request on a connection of its own, as the administrator."""
        connection = self.connect()
        try:
            return ask(connection, method, path, body, content_type=content_type)
        finally:
            connection.close()

    def create_namespace(self, name: str) -> str:
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def kill(self) -> None:
        """Ends the process as a power cut would."""
        self.process.kill()
        self.process.wait()


def ask(
    connection: http.client.HTTPSConnection,
    method: str,
    path: str,
    body: object = None,
    *,
    content_type: str = "application/json",
) -> Any:
    payload = None if body is None else msgspec.json.encode(body)
    connection.request(method, path, payload, {"Content-Type": content_type})
    answer = connection.getresponse()
    read = answer.read()
    if answer.status >= 300:
        raise RefusedError(f"{method} {path}: {answer.status} {read[:500].decode(errors='replace')}")
    return msgspec.json.decode(read)


@contextmanager
def serve_plane(data: Path, port: int = 0, options: Sequence[str] = ()) -> Iterator[ServedPlane]:
    """A plane that is ready; ended when the block is left."""
    program = str(Path(sys.executable).with_name("homeostat"))
    command = [program, "up", "--data", str(data), "--port", str(port), "--faces-port", "0", *options]
    log = data.parent / f"{data.name}.log"
    with log.open("a") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        welcome = _URL.search(process.stdout.readline())
        assert welcome, f"the plane did not start: {log.read_text()[-2000:]}"
        yield ServedPlane(data, process, welcome[0])
    finally:
        _end(process)
        process.stdout.close()


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
