"""The parts that several kinds have in common: references to Secrets, TLS, proxies and storage. Pure data.

Each one-of is a rule of the definition too, so an API server refuses an object that breaks it even where no admission
webhook runs.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from homeostat.objects.json import Json
from homeostat.objects.kind import Kind
from homeostat.objects.schema.schema import Rule

GROUP: Final = "declarest.io"
VERSION: Final = "v1alpha1"
FINALIZER: Final = f"{GROUP}/cleanup"
CATEGORY: Final = "declarest"
COMPONENT: Final = "declarest-operator"
"""The source of Events."""

LONGEST_TEXT: Final = 4096
Text = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
Url = Annotated[str, Meta(max_length=4096)]
Name = Annotated[str, Meta(min_length=1, max_length=253)]
Duration = Annotated[str, Meta(max_length=64)]


def doc(text: str) -> Meta:
    """The description that `kubectl explain` shows."""
    return Meta(description=text)


def one_of(message: str, *fields: str) -> Rule:
    """Exactly one of these fields is set."""
    return Rule(" + ".join(f"(has(self.{each}) ? 1 : 0)" for each in fields) + " == 1", message)


def at_most_one_of(message: str, *fields: str) -> Rule:
    return Rule(" + ".join(f"(has(self.{each}) ? 1 : 0)" for each in fields) + " <= 1", message)


def kind(plural: str, name: str, short_name: str) -> Kind:
    """A namespaced kind of the group."""
    return Kind(GROUP, VERSION, plural, name, is_namespaced=True, short_names=(short_name,), categories=(CATEGORY,))


class Part(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A part of a spec or of a status: absent fields are not written."""


class ObjectRef(Part, frozen=True, kw_only=True):
    """An object of the same namespace."""

    name: Annotated[Name, doc("The name of the object.")]


class SecretKey(Part, frozen=True, kw_only=True):
    """A key of a Secret of the same namespace."""

    name: Annotated[Name, doc("The name of the Secret.")]
    key: Annotated[Name, doc("The key in the Secret.")]
    optional: Annotated[bool | None, doc("Accepted as in a SecretKeySelector; it has no effect.")] = None


class Tls(Part, frozen=True, kw_only=True):
    """How to trust a server, and how to authenticate to it by a certificate."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.clientCertRef) == has(self.clientKeyRef)",
            "clientCertRef and clientKeyRef must be set together",
        ),
    )

    ca_cert_ref: Annotated[SecretKey | None, doc("Certificates to trust, in PEM.")] = None
    client_cert_ref: Annotated[SecretKey | None, doc("The client certificate, in PEM.")] = None
    client_key_ref: Annotated[SecretKey | None, doc("The key of the client certificate, in PEM.")] = None
    insecure_skip_verify: Annotated[bool | None, doc("Accept any certificate of the server.")] = None


class ProxyAuth(Part, frozen=True, kw_only=True):
    """The credentials of a proxy."""

    username_ref: SecretKey
    password_ref: SecretKey


class Proxy(Part, frozen=True, kw_only=True):
    """Proxies of requests. An empty block switches off those of the operator's environment."""

    http_url: Annotated[Url | None, doc("The proxy of http URLs.")] = msgspec.field(default=None, name="httpURL")
    https_url: Annotated[Url | None, doc("The proxy of https URLs.")] = msgspec.field(default=None, name="httpsURL")
    no_proxy: Annotated[Url | None, doc("Hosts without a proxy, separated by commas.")] = None
    auth: Annotated[ProxyAuth | None, doc("Credentials of the proxy.")] = None


class ExistingClaim(Part, frozen=True, kw_only=True):
    """A PersistentVolumeClaim that exists."""

    name: Name


class ClaimTemplate(Part, frozen=True, kw_only=True):
    """A PersistentVolumeClaim, as the original creates it."""

    storage_class_name: Name | None = None
    access_modes: Annotated[tuple[Text, ...], Meta(min_length=1, max_length=8)]
    requests: Annotated[dict[str, Json], Meta(min_length=1, max_length=16)]


class Storage(Part, frozen=True, kw_only=True):
    """Accepted and validated; the operator keeps its cache in its own directory and creates no claim."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        one_of("exactly one of existingPVC and pvc must be set", "existingPVC", "pvc"),
    )

    existing_pvc: ExistingClaim | None = msgspec.field(default=None, name="existingPVC")
    pvc: ClaimTemplate | None = None
