"""A server that behaves as Vault's documented API does, with its faults: sealed, revoked, expired, odd answers."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web


class FakeVault:
    """`secrets` are fields by path, without the mount. Tokens end `ttl` seconds after they were made or renewed."""

    def __init__(self) -> None:
        self.secrets: dict[str, dict[str, Any] | None] = {}
        self.tokens: dict[str, int] = {"root-token": 0}
        self.renewable = True
        self.ttl = 3600
        self.fault: web.Response | None = None
        self.requests: list[tuple[str, str, str]] = []
        self.namespace = ""
        self.version = 2
        self.logins = 0
        self.knows_list = True
        self.checks = False
        """Whether the engine has `cas_required`."""
        self.single_use = False
        """Whether the secret ID of the role is valid for one login."""
        self.may_log_in = asyncio.Event()
        """Logins wait for it."""
        self.may_log_in.set()
        self.logging_in = 0
        self.denied: set[str] = set()
        """Paths that no policy allows."""

    async def answer(self, request: web.Request) -> web.Response:
        token = request.headers.get("X-Vault-Token", "")
        self.requests.append((request.method, request.path, token))
        if self.fault is not None:
            return web.Response(status=self.fault.status, body=self.fault.body)
        if request.headers.get("X-Vault-Namespace", "") != self.namespace:
            return _refusal(404, "no handler for route")
        if request.method == "POST" and "/login" in request.path:
            self.logging_in += 1
            await self.may_log_in.wait()
            return self._login(request.path, await request.json())
        if token not in self.tokens:
            return _refusal(403, "permission denied")
        if request.path == "/v1/auth/token/lookup-self":
            facts = {"ttl": self.tokens[token], "renewable": self.renewable, "id": token}
            return web.json_response({"data": facts})
        if request.path in self.denied:
            return _refusal(403, "permission denied")
        if request.path == "/v1/auth/token/renew-self" and request.method == "POST":
            return self._renew(token)
        if request.method == "LIST" or request.query.get("list") == "true":
            is_known = request.method != "LIST" or self.knows_list
            return self._list(request.path) if is_known else _refusal(405, "unsupported operation")
        if request.method == "POST":
            return self._write(request.path, await request.json())
        if request.method == "DELETE":
            return self._delete(request.path)
        return self._read(request.path)

    def _login(self, path: str, body: dict[str, str]) -> web.Response:
        known = {
            "/v1/auth/approle/login": {"role_id": "role", "secret_id": "its-secret"},
            "/v1/auth/kubernetes/login": {"role": "app", "jwt": "account-token"},
            "/v1/auth/userpass/login/jo": {"password": "its-password"},
            "/v1/auth/people/login/jo": {"password": "its-password"},
        }
        if known.get(path) != body or (self.single_use and self.logins):
            return _refusal(400, "invalid role or secret ID")
        self.logins += 1
        token = f"token-{self.logins}"
        self.tokens[token] = self.ttl
        return self._auth(token)

    def _renew(self, token: str) -> web.Response:
        return self._auth(token) if self.renewable else _refusal(400, "lease is not renewable")

    def _auth(self, token: str) -> web.Response:
        auth = {"client_token": token, "lease_duration": self.ttl, "renewable": self.renewable}
        return web.json_response({"auth": auth})

    def _name(self, path: str, area: str = "data") -> str:
        return path.removeprefix(f"/v1/secret/{area}/" if self.version == 2 else "/v1/secret/")

    def _write(self, path: str, body: dict[str, Any]) -> web.Response:
        name = self._name(path)
        if self.checks and "cas" not in body.get("options", {}):
            return _refusal(400, "check-and-set parameter required for this call")
        if self.checks and body["options"]["cas"] != int(name in self.secrets):
            return _refusal(400, "check-and-set parameter did not match the current version")
        self.secrets[name] = body["data"] if self.version == 2 else body
        return web.json_response({"data": {"version": 1}}) if self.version == 2 else web.Response(status=204)

    def _delete(self, path: str) -> web.Response:
        name = self._name(path)
        if self.version == 2 and name in self.secrets:
            self.secrets[name] = None
        elif self.version == 1:
            self.secrets.pop(name, None)
        return web.Response(status=204)

    def _list(self, path: str) -> web.Response:
        folder = self._name(f"{path.rstrip('/')}/", "metadata")
        inner = [name.removeprefix(folder) for name in self.secrets if name.startswith(folder)]
        keys = sorted({f"{name.split('/')[0]}/" if "/" in name else name for name in inner})
        return web.json_response({"data": {"keys": keys}} if keys else {"errors": []}, status=200 if keys else 404)

    def _read(self, path: str) -> web.Response:
        name = self._name(path)
        if self.version == 2 and path.startswith("/v1/secret/") and name == path:
            told = "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate endpoints."
            return web.json_response({"data": None, "warnings": [told]}, status=404)
        if not path.startswith("/v1/secret/"):
            return _refusal(404, f'no handler for route "{path.removeprefix("/v1/")}". route entry not found.')
        if name not in self.secrets:
            return web.json_response({"errors": []}, status=404)
        fields = self.secrets[name]
        if self.version == 1:
            return web.json_response({"data": fields})
        metadata = {"version": 1, "destroyed": False, "deletion_time": "" if fields is not None else "2026-01-01"}
        status = 200 if fields is not None else 404
        return web.json_response({"data": {"data": fields, "metadata": metadata}}, status=status)


def _refusal(status: int, told: str) -> web.Response:
    return web.json_response({"errors": [told]}, status=status)
