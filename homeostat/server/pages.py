"""Serves the paths that are not objects: discovery, OpenAPI, version, health, metrics."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import partial

from homeostat.edge.metrics.page import MetricsPage
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.threads import in_thread
from homeostat.objects.errors import NotAcceptableError
from homeostat.objects.json import JsonObject, encode
from homeostat.server import metrics as metrics_module
from homeostat.server.access.user import UNAUTHENTICATED, User
from homeostat.server.app import SystemPage
from homeostat.server.discovery.catalog import Catalog
from homeostat.server.discovery.document import Document
from homeostat.server.health import Health
from homeostat.server.metrics import Metrics
from homeostat.server.request.negotiate import JSON, PROTOBUF, YAML, negotiate

KUBERNETES_VERSION = ("1", "34")
"""The Kubernetes version whose API this server follows; clients read it from `/version`."""
_OWN = "homeostat"
_V2_ACCEPTED = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
_V2_MEDIA_TYPE = _V2_ACCEPTED[1]
"""Go clients request it with an `@`, which they cannot parse in a Content-Type."""
_KEYS = "application/jwk-set+json"
_V3_PROTOBUF = "application/com.github.proto-openapi.spec.v3"
"""Clients that prefer it read JSON, too."""
_JSON_ACCEPTED = ("application/json", "application/*", "*/*")


def version_info(homeostat_version: str) -> JsonObject:
    major, minor = KUBERNETES_VERSION
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{major}.{minor}.0+homeostat-{homeostat_version}",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }


def hosted_info(
    operators: Sequence[str], awake: Sequence[str], *, leases: str, are_effects_paused: bool = False
) -> JsonObject:
    """The operators that the server hosts, which of them are awake, and the namespace of their Leases. `homeostat run`
    reads it, so that the same operator does not run twice.
    """
    paused = {"effects": "paused"} if are_effects_paused else {}
    return {"operators": list(operators), "awake": list(awake), "leases": leases, **paused}


class Pages:
    def __init__(
        self,
        catalog: Catalog,
        metrics: Metrics,
        *,
        version: JsonObject,
        hosted: Callable[[], JsonObject],
        health: Health,
        jwks: Callable[[], JsonObject],
        issuer: str,
    ) -> None:
        """Authenticated callers see `hosted` in `/version`; Kubernetes clients ignore fields that they do not know."""
        self._catalog = catalog
        self._metrics = MetricsPage(metrics)
        self._version, self._hosted = version, hosted
        self._health = health
        self._exact: dict[str, SystemPage] = {
            "/": self._root,
            "/version": self._show_version,
            "/version/": self._show_version,
            "/metrics": self._show_metrics,
            "/metrics/slis": health.show_slis,
            "/livez": health.show,
            "/healthz": health.show,
            "/readyz": health.show,
            "/openid/v1/jwks": partial(self._show, lambda: encode(jwks()), _KEYS),
            "/.well-known/openid-configuration": partial(self._show, lambda: encode(_openid(issuer)), JSON),
        }

    def find(self, path: str) -> SystemPage | None:
        page = self._exact.get(path)
        if page is not None:
            return page
        if path.startswith(("/api/", "/apis/")) or path in {"/api", "/apis"}:
            return self._discovery
        if path == "/openapi/v2":
            return self._openapi_v2
        if path == "/openapi/v3" or path.startswith("/openapi/v3/"):
            return self._openapi
        if path.startswith(("/livez/", "/readyz/", "/healthz/")):
            return self._health.show
        return None

    async def _root(self, request: Request, user: User) -> Reply:
        return Reply(200, encode({"paths": sorted([*self._exact, *self._catalog.paths()])}), JSON)

    async def _show(self, body: Callable[[], bytes], content_type: str, request: Request, user: User) -> Reply:
        _require_json(request, content_type)
        return Reply(200, body(), content_type)

    async def _show_version(self, request: Request, user: User) -> Reply:
        _require_json(request, JSON)
        shown = {} if UNAUTHENTICATED in user.groups else {_OWN: self._hosted()}
        return Reply(200, encode({**self._version, **shown}), JSON)

    async def _show_metrics(self, request: Request, user: User) -> Reply:
        return Reply(200, await self._metrics.text(), metrics_module.CONTENT_TYPE)

    async def _discovery(self, request: Request, user: User) -> Reply:
        path = request.path.rstrip("/")
        representation = negotiate(request.headers.get("accept", ""), discovery=True)
        is_aggregated = representation.form == "aggregated" and path in {"/api", "/apis"}
        document = self._catalog.discovery(path, is_aggregated=is_aggregated)
        if representation.encoding == "protobuf":
            document = await in_thread(document.in_protobuf, user="discovery")
            return _sent(request, document, representation.content_type if is_aggregated else PROTOBUF)
        if representation.encoding == "yaml":
            return _sent(request, await in_thread(document.in_yaml, user="discovery"), YAML)
        return _sent(request, document, representation.content_type if is_aggregated else JSON)

    async def _openapi(self, request: Request, user: User) -> Reply:
        accepted = request.headers.get("accept", "")
        if accepted and not any(each in accepted for each in (*_JSON_ACCEPTED, _V3_PROTOBUF)):
            return Reply(406, b"", "", ())
        document = await self._catalog.openapi(request.path.removeprefix("/openapi/v3").strip("/"))
        return await _sent_from_thread(request, document, JSON)

    async def _openapi_v2(self, request: Request, user: User) -> Reply:
        """Protobuf for Go clients, which request it by its name; JSON for everybody else."""
        accepted = request.headers.get("accept", "")
        if any(each in accepted for each in _V2_ACCEPTED):
            return await _sent_from_thread(request, await self._catalog.openapi_v2("protobuf"), _V2_MEDIA_TYPE)
        if accepted and not any(each in accepted for each in _JSON_ACCEPTED):
            raise NotAcceptableError(f"OpenAPI v2 is served as application/json and {_V2_ACCEPTED[0]}")
        return await _sent_from_thread(request, await self._catalog.openapi_v2("json"), JSON)


def _require_json(request: Request, content_type: str) -> None:
    """Refuse a client that accepts neither JSON nor the page's own type."""
    accepted = request.headers.get("accept", "")
    if accepted and not any(each in accepted for each in (content_type, *_JSON_ACCEPTED)):
        raise NotAcceptableError(f"406: Not Acceptable\n\nAvailable representations: {content_type}")


async def _sent_from_thread(request: Request, document: Document, content_type: str) -> Reply:
    """As `_sent`. A large document is unpacked in a thread."""
    make = partial(_sent, request, document, content_type)
    if document.is_quick or _accepts_gzip(request):
        return make()
    return await in_thread(make, user="openapi")


def _sent(request: Request, document: Document, content_type: str) -> Reply:
    headers = (("ETag", document.etag), ("Vary", "Accept, Accept-Encoding"), ("Cache-Control", "public"))
    if document.is_known(request.headers.get("if-none-match", "")):
        return Reply(304, b"", "", headers)
    if _accepts_gzip(request):
        return Reply(200, document.gzip, content_type, (*headers, ("Content-Encoding", "gzip")))
    return Reply(200, document.body, content_type, headers)


def _accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def _openid(issuer: str) -> JsonObject:
    return {
        "issuer": issuer,
        "jwks_uri": f"{issuer}/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
