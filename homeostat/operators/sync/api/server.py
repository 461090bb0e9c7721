"""`ManagedServer`: the REST API whose objects are kept as declared. Pure data."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, READY_COLUMN, Column, CustomKind, Status
from homeostat.objects.declared import Declared
from homeostat.objects.schema.schema import Rule
from homeostat.operators.sync.api.parts import (
    Duration,
    Name,
    Part,
    Proxy,
    SecretKey,
    Text,
    Tls,
    Url,
    at_most_one_of,
    doc,
    kind,
    one_of,
)

_Number = Annotated[int, Meta(ge=0, le=2**31 - 1)]


class OAuth2Auth(Part, frozen=True, kw_only=True):
    """Tokens of an OAuth 2 server."""

    token_url: Annotated[Annotated[Url, Meta(min_length=1)], doc("Where tokens are requested.")] = msgspec.field(
        name="tokenURL"
    )
    grant_type: Annotated[Text, doc("client_credentials, or password with usernameRef and passwordRef.")] = (
        "client_credentials"
    )
    client_id_ref: SecretKey = msgspec.field(name="clientIDRef")
    client_secret_ref: SecretKey
    username_ref: SecretKey | None = None
    password_ref: SecretKey | None = None
    scope: Text | None = None
    audience: Text | None = None


class BasicAuthRef(Part, frozen=True, kw_only=True):
    """Basic authentication."""

    username_ref: SecretKey
    password_ref: SecretKey


class CustomHeader(Part, frozen=True, kw_only=True):
    """A header that authenticates requests: `Authorization` with the prefix `Bearer`, for instance."""

    header: Name
    prefix: Annotated[Text | None, doc("Sent before the value, with a blank between them.")] = None
    value_ref: SecretKey


class ServerAuth(Part, frozen=True, kw_only=True):
    """How requests are authenticated."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        one_of(
            "exactly one of oauth2, basicAuth and customHeaders must be set", "oauth2", "basicAuth", "customHeaders"
        ),
    )

    oauth2: OAuth2Auth | None = None
    basic_auth: BasicAuthRef | None = None
    custom_headers: Annotated[tuple[CustomHeader, ...], Meta(min_length=1, max_length=32)] | None = None


class Throttling(Part, frozen=True, kw_only=True):
    """How fast the server may be asked."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(has(self.maxConcurrentRequests) && self.maxConcurrentRequests > 0) || "
            "(has(self.requestsPerSecond) && self.requestsPerSecond > 0)",
            "maxConcurrentRequests or requestsPerSecond must be set",
        ),
        Rule(
            "!has(self.queueSize) || self.queueSize == 0 || "
            "(has(self.maxConcurrentRequests) && self.maxConcurrentRequests > 0)",
            "queueSize requires maxConcurrentRequests",
        ),
        Rule(
            "!has(self.burst) || self.burst == 0 || (has(self.requestsPerSecond) && self.requestsPerSecond > 0)",
            "burst requires requestsPerSecond",
        ),
    )

    max_concurrent_requests: _Number | None = None
    queue_size: _Number | None = None
    requests_per_second: _Number | None = None
    burst: _Number | None = None


class Http(Part, frozen=True, kw_only=True):
    """The HTTP side of the server."""

    base_url: Annotated[Annotated[Url, Meta(min_length=1)], doc("The URL that paths are added to.")] = msgspec.field(
        name="baseURL"
    )
    health_check: Annotated[
        Url | None,
        doc("A path or URL whose GET shows that the server is healthy; the condition Healthy has the result."),
    ] = None
    default_headers: Annotated[
        Annotated[dict[str, str], Meta(max_length=64)] | None, doc("Headers of every request.")
    ] = None
    auth: Annotated[ServerAuth | None, doc("How requests are authenticated; absent for an open API.")] = None
    tls: Tls | None = None
    proxy: Proxy | None = None
    request_throttling: Throttling | None = None


class OpenApiSource(Part, frozen=True, kw_only=True):
    """The OpenAPI document of the server."""

    url: Annotated[Url, Meta(min_length=1)]


class BundleRef(Part, frozen=True, kw_only=True):
    """A MetadataBundle of later versions of the original, which this operator does not serve."""

    name: Name


class MetadataSource(Part, frozen=True, kw_only=True):
    """Metadata that all repositories of the server share."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        at_most_one_of("at most one of url, bundle and bundleRef may be set", "url", "bundle", "bundleRef"),
    )

    url: Annotated[Url | None, doc("A bundle (.tar.gz or .tgz) over http or https.")] = None
    bundle: Annotated[Text | None, doc("A bundle by name:version, or by its URL.")] = None
    bundle_ref: Annotated[BundleRef | None, doc("Not supported: there are no MetadataBundles here.")] = None


class ServerSpec(Part, frozen=True, kw_only=True):
    http: Http
    openapi: OpenApiSource | None = None
    metadata: MetadataSource | None = None
    poll_interval: Annotated[Duration, doc("How often the documents are downloaded again.")] = "10m"


class ServerStatus(Status, frozen=True, kw_only=True, omit_defaults=True):
    openapi_cache_path: Annotated[str | None, doc("The file of the OpenAPI document in the operator's cache.")] = None
    metadata_cache_path: Annotated[str | None, doc("The file of the metadata bundle in the operator's cache.")] = None


class ManagedServer(Declared, frozen=True, kw_only=True):
    spec: ServerSpec


MANAGED_SERVER: Final = CustomKind(
    kind("managedservers", "ManagedServer", "ms"),
    spec=ServerSpec,
    status=ServerStatus,
    columns=(Column("URL", ".spec.http.baseURL", priority=1), READY_COLUMN, AGE_COLUMN),
    description="A REST API whose objects are kept as a repository declares them.",
    is_guarded=True,
)
