"""Debian's docker-registry with and without authentication, and the token server that it may point to."""

from __future__ import annotations

import base64
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import jwt
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.external.secrets.credentials import BasicAuth
from tests.external.servers import serving
from tests.ports import free_port
from tools.fetch_servers import find_program, library_path

USER, PASSWORD = "ann", "s3cret"
_HASH = "$2b$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK"
_CONFIG = """
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}, delete: {{enabled: true}}}}
http: {{addr: "127.0.0.1:{port}"}}
{more}
"""


@contextmanager
def running_registry(folder: Path, more: str = "") -> Iterator[str]:
    """Its host and port. `more` is added to its configuration: see `with_passwords`, `notifying`."""
    program = find_program("docker-registry")
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    (folder / "config.yml").write_text(_CONFIG.format(folder=folder, port=port, more=more))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(program), "serve", str(folder / "config.yml")], env=library_path(), stdout=log, stderr=log
        )
    try:
        _await_port(port, process, folder / "log")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(400):
        with socket.socket() as probe:
            if process.poll() is None and probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"docker-registry does not start: {log.read_text()[-1000:]}")


def with_passwords(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "htpasswd").write_text(f"{USER}:{_HASH}\n")
    return f"auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}"


def notifying(url: str, **headers: str) -> str:
    """It sends an event of each push, soon and again until it is accepted."""
    sent = ", ".join(f"{name}: ['{value}']" for name, value in headers.items())
    return (
        f"notifications: {{endpoints: [{{name: test, url: '{url}', headers: {{{sent}}}, "
        "timeout: 5s, threshold: 1, backoff: 200ms}]}"
    )


@dataclass
class TokenServer:
    """Gives anybody tokens to pull, and those who know the password tokens to push. `scopes` are what was asked for."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    scopes: list[str]
    url: str = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        form = await request.post() if request.method == "POST" else {}
        given = request.headers.get("Authorization")
        is_known = form.get("refresh_token") == PASSWORD
        if given:
            if given != BasicAuth(USER, PASSWORD).header:
                return web.Response(status=401)
            is_known = True
        scopes = str(form.get("scope", "")).split() or request.query.getall("scope", [])
        self.scopes += scopes
        access = [self._granted(each, is_known=is_known) for each in scopes]
        now = datetime.now(UTC)
        claims = {"iss": "us", "aud": request.query.get("service", "them"), "sub": "x", "nbf": now, "iat": now}
        chain = base64.b64encode(self.certificate.public_bytes(serialization.Encoding.DER)).decode()
        token = jwt.encode(
            {**claims, "exp": now + timedelta(hours=1), "jti": "1", "access": access},
            self.key,
            algorithm="ES256",
            headers={"x5c": [chain]},
        )
        return web.json_response({"access_token": token, "expires_in": 300})

    def _granted(self, scope: str, *, is_known: bool) -> dict[str, object]:
        kind, name, actions = scope.split(":")
        allowed = [each for each in actions.split(",") if each == "pull" or is_known]
        return {"type": kind, "name": name, "actions": allowed}

    def auth(self, folder: Path) -> str:
        """What the registry has to know of it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "authority").write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        settings = f"realm: '{self.url}/token', service: them, issuer: us, rootcertbundle: {folder}/authority"
        return f"auth: {{token: {{{settings}}}}}"


@asynccontextmanager
async def issuing_tokens() -> AsyncIterator[TokenServer]:
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "us")]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    server = TokenServer(key, certificate, [])
    async with serving(server.answer) as url:
        server.url = url
        yield server
