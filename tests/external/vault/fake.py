"""A server that behaves as Vault's documented API does, with its faults: sealed, revoked, expired, odd answers."""

from __future__ import annotations

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

    async def answer(self, request: web.Request) -> web.Response:
        token = request.headers.get("X-Vault-Token", "")
        self.requests.append((request.method, request.path, token))
        if self.fault is not None:
            return web.Response(status=self.fault.status, body=self.fault.body)
        if request.headers.get("X-Vault-Namespace", "") != self.namespace:
            return _refusal(404, "no handler for route")
        if request.path in ("/v1/auth/approle/login", "/v1/auth/kubernetes/login"):
            return self._login(await request.json())
        if token not in self.tokens:
            return _refusal(403, "permission denied")
        if request.path == "/v1/auth/token/lookup-self":
            facts = {"ttl": self.tokens[token], "renewable": self.renewable, "id": token}
            return web.json_response({"data": facts})
        if request.path == "/v1/auth/token/renew-self" and request.method == "POST":
            return self._renew(token)
        return self._read(request.path)

    def _login(self, body: dict[str, str]) -> web.Response:
        if body not in ({"role_id": "role", "secret_id": "its-secret"}, {"role": "app", "jwt": "account-token"}):
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

    def _read(self, path: str) -> web.Response:
        prefix = "/v1/secret/data/" if self.version == 2 else "/v1/secret/"
        name = path.removeprefix(prefix)
        if not path.startswith(prefix) or name not in self.secrets:
            return web.json_response({"errors": []}, status=404)
        fields = self.secrets[name]
        if self.version == 1:
            return web.json_response({"data": fields})
        metadata = {"version": 1, "destroyed": False, "deletion_time": "" if fields is not None else "2026-01-01"}
        status = 200 if fields is not None else 404
        return web.json_response({"data": {"data": fields, "metadata": metadata}}, status=status)


def _refusal(status: int, told: str) -> web.Response:
    return web.json_response({"errors": [told]}, status=status)
