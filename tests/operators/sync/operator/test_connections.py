"""Connections of the operator, on a plane: a server behind TLS, logins, a proxy and limits; repositories over ssh."""

from __future__ import annotations

import asyncio
import io
import json
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from homeostat.external.oci.bundle import pack_bundle
from homeostat.objects.json import JsonObject
from homeostat.plane import Settings, open_plane
from tests.cluster.fixtures import Api, create_namespace
from tests.edge.tls.authority import issue
from tests.external.git_servers import running_sshd
from tests.external.servers import serving, tunnelling
from tests.operators.sync.cases import Rest
from tests.operators.sync.operator.stage import PASSWORD, Stage, operating, ready_of, staged

CLIENT_SECRET, PROXY_PASSWORD = "secret-of-the-client", "password-of-the-proxy"
BUNDLE = {
    "bundle.yaml": b"apiVersion: declarest.io/v1alpha1\nkind: MetadataBundle\nname: demo\nversion: 1.0.0\n",
    "metadata/sites/_/metadata.yaml": b"resource: {id: /code}\n",
}
OPENAPI = {
    "openapi": "3.0.0",
    "paths": {
        "/sites": {"get": {}, "post": {}},
        "/sites/{code}": {
            "get": {},
            "patch": {"requestBody": {"content": {"application/merge-patch+json": {}}}},
            "delete": {},
        },
    },
}


def key(name: str, key: str) -> JsonObject:
    return {"name": name, "key": key}


@pytest.fixture
async def stage(data: Path, rest: Rest, tmp_path: Path) -> AsyncIterator[Stage]:
    async with open_plane(Settings(data=data, port=0, operators=frozenset())) as plane:
        api = Api(plane.client, plane.kubeconfig_path, await create_namespace(plane.client))
        async with staged(api, rest, tmp_path / "stage") as stage:
            yield stage


@dataclass
class Sites:
    """A REST server whose tokens expire after a few requests, and which counts how many requests it has at once."""

    objects: dict[str, Any] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    tokens: dict[str, int] = field(default_factory=dict)
    running: int = 0
    most: int = 0

    async def token(self, request: web.Request) -> web.StreamResponse:
        given = await request.post()
        if (given["client_id"], given["client_secret"]) != ("client", CLIENT_SECRET):
            text = f"no {given['client_secret']!s}"
            return web.json_response({"error": "invalid_client", "error_description": text}, status=401)
        token = f"token-number-{len(self.tokens)}"
        self.tokens[token] = 5
        return web.json_response({"access_token": token, "token_type": "Bearer", "expires_in": 3600})

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(0.002)
            return await self._answer(request)
        finally:
            self.running -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.tokens.get(token, 0) < 1:
            return web.json_response({"error": f"expired: {token}"}, status=401)
        self.tokens[token] -= 1
        self.asked[request.method] += 1
        if request.path == "/openapi.json":
            return web.json_response(OPENAPI)
        name = request.path.removeprefix("/sites").strip("/")
        if request.method == "POST":
            body = await request.json()
            self.objects[body["code"]] = body
            return web.json_response(body, status=201)
        if name and name not in self.objects:
            return web.json_response({}, status=404)
        if request.method == "PATCH":
            if request.content_type != "application/merge-patch+json":
                return web.json_response({}, status=415)
            self.objects[name] |= json.loads(await request.read())
        if name:
            return web.json_response(self.objects[name])
        return web.json_response(list(self.objects.values()))


async def test_a_server_behind_mutual_tls_a_proxy_expiring_tokens_and_limits_is_synced(
    stage: Stage, tmp_path: Path
) -> None:
    sites, authority = Sites(), issue(tmp_path, "authority")
    own, client = issue(tmp_path, "server", authority, host="sites.example"), issue(tmp_path, "client", authority)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(own.certificate_file, own.key_file)
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(authority.certificate_file)

    async def bundle(_: web.Request) -> web.StreamResponse:
        return web.Response(body=io.BytesIO(pack_bundle(BUNDLE)))

    names = [f"s{number}" for number in range(12)]
    revision = stage.origin.commit(
        {f"sites/{each}/resource.json": json.dumps({"code": each, "size": 1}) for each in names}
    )
    async with (
        operating(stage),
        serving(sites.answer, tls) as address,
        serving(sites.token) as tokens,
        serving(bundle) as bundles,
        tunnelling("user", PROXY_PASSWORD) as proxy,
    ):
        url = address.replace("127.0.0.1", "sites.example")
        proxy.names["sites.example"] = "127.0.0.1"
        await stage.secret("login", id="client", secret="wrong-secret-of-the-client")
        await stage.secret("proxy", username="user", password=PROXY_PASSWORD)
        files = {"ca": authority.certificate_file, "cert": client.certificate_file, "key": client.key_file}
        await stage.secret("tls", **{name: file.read_text() for name, file in files.items()})
        oauth2 = {
            "tokenURL": f"{tokens}/token",
            "clientIDRef": key("login", "id"),
            "clientSecretRef": key("login", "secret"),
        }
        auth = {"usernameRef": key("proxy", "username"), "passwordRef": key("proxy", "password")}
        spec: JsonObject = {
            "http": {
                "baseURL": url,
                "auth": {"oauth2": oauth2},
                "tls": {
                    "caCertRef": key("tls", "ca"),
                    "clientCertRef": key("tls", "cert"),
                    "clientKeyRef": key("tls", "key"),
                },
                "proxy": {"httpsURL": f"http://127.0.0.1:{proxy.port}", "noProxy": "127.0.0.1", "auth": auth},
                "requestThrottling": {"maxConcurrentRequests": 2},
            },
            "openapi": {"url": f"{url}/openapi.json"},
            "metadata": {"url": f"{bundles}/demo.tar.gz"},
        }
        await stage.declare(source={"path": "/sites"})
        await stage.apply("ManagedServer", "api", spec)
        status = await stage.until(lambda s: "no token" in ready_of(s)[2], "ManagedServer", "api")
        assert ready_of(status)[:2] == ("False", "DependencyInvalid")
        assert "wrong-secret" not in str(status)
        await stage.secret("login", id="client", secret=CLIENT_SECRET)
        await stage.until(lambda s: ready_of(s)[0] == "True", "ManagedServer", "api")
        status = await stage.synced(revision)
        assert set(sites.objects) == set(names), status
        assert (sites.most, sites.asked["POST"]) == (2, 12)
        assert len(sites.tokens) > 2
        assert set(proxy.targets) == {url.removeprefix("https://")}

        await stage.synced(await stage.push({"sites/s3/resource.json": '{"code": "s3", "size": 2}'}))
        assert sites.objects["s3"]["size"] == 2
        assert (sites.asked["PATCH"], sites.asked["PUT"]) == (1, 0)

        text = str(await stage.events()) + str([(await stage.get(*each)) for each in (("ManagedServer", "api"),)])
        for secret in (CLIENT_SECRET, PROXY_PASSWORD, "token-number", "PRIVATE KEY"):
            assert secret not in text + str(status) + stage.metrics()


async def test_a_repository_over_ssh_requires_the_key_of_the_host(stage: Stage, tmp_path: Path) -> None:
    revision = stage.origin.commit({"customers/acme/resource.json": '{"id": "acme"}'})
    with running_sshd(tmp_path) as sshd:
        async with operating(stage):
            await stage.declare()
            await stage.synced(revision)
            other = sshd.known_hosts.replace(f":{sshd.port} ", ":1 ")
            await stage.secret("ssh", key=sshd.private_key, hosts=other)
            ssh: JsonObject = {
                "user": sshd.user,
                "privateKeyRef": key("ssh", "key"),
                "knownHostsRef": key("ssh", "hosts"),
            }
            git = {"url": f"ssh://127.0.0.1:{sshd.port}{stage.origin.path}", "auth": {"sshSecretRef": ssh}}
            await stage.apply("ResourceRepository", "declared", stage.repository(git=git))
            status = await stage.until(lambda s: ready_of(s)[0] == "False", "ResourceRepository", "declared")
            assert "Host key verification failed; check the known hosts: they must have" in ready_of(status)[2]
            held = await stage.until(lambda s: ready_of(s)[0] == "False")
            assert ready_of(held)[1] == "DependencyNotReady"

            await stage.secret("ssh", key=sshd.private_key, hosts=sshd.known_hosts)
            await stage.until(lambda s: ready_of(s)[0] == "True", "ResourceRepository", "declared")
            changed = await stage.push({"customers/acme/resource.json": '{"id": "acme", "tier": "gold"}'})
            await stage.synced(changed)

            await stage.secret("git", token="wrong-password-of-git")
            await stage.apply("ResourceRepository", "declared", stage.repository())
            status = await stage.until(lambda s: ready_of(s)[0] == "False", "ResourceRepository", "declared")
            assert "wrong-password" not in str(status)
            assert (
                "git ls-remote: the server refused the credentials, or requires some; check the token"
                in ready_of(status)[2]
            )
            await stage.secret("git", token=PASSWORD)
            await stage.until(lambda s: ready_of(s)[0] == "True", "ResourceRepository", "declared")
    assert "PRIVATE KEY" not in str(await stage.events())
