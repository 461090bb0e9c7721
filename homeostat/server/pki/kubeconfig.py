"""A kubeconfig for this plane: one cluster, one user, one context, everything embedded."""

from __future__ import annotations

from base64 import b64encode
from typing import NamedTuple

from homeostat.objects.json import JsonObject

_NAME = "homeostat"


class ClientCertificate(NamedTuple):
    """PEM."""

    certificate: bytes
    key: bytes


def kubeconfig(server: str, *, authority: bytes | None = None, credential: ClientCertificate | str = "") -> JsonObject:
    """`server` is a URL, `authority` PEM for https. A string as `credential` is a bearer token; empty means none."""
    cluster: JsonObject = {"server": server}
    if authority is not None:
        cluster["certificate-authority-data"] = _embedded(authority)
    user: JsonObject = {}
    if isinstance(credential, ClientCertificate):
        user["client-certificate-data"] = _embedded(credential.certificate)
        user["client-key-data"] = _embedded(credential.key)
    elif credential:
        user["token"] = credential
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME}}],
        "current-context": _NAME,
        "preferences": {},
    }


def _embedded(pem: bytes) -> str:
    return b64encode(pem).decode()
