"""Who may approve and sign a CertificateSigningRequest, and what the standard signers sign.

A request for a standard signer is signed when it is approved, in the same write. Any other signer needs a controller of
its own, with the permission `sign` on the signer.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from homeostat.objects.errors import ForbiddenError, quoted
from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authz import Authorizer, forbidden
from homeostat.server.access.user import MASTERS, User, user_info

if TYPE_CHECKING:
    from homeostat.server.pki.signing_request import SigningRequest

GROUP = "certificates.k8s.io"
REQUESTS = f"certificatesigningrequests.{GROUP}"
APPROVAL = "approval"
_CLIENT = "kubernetes.io/kube-apiserver-client"
_KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
_KUBELET_SERVING = "kubernetes.io/kubelet-serving"
_NODES, _NODE_PREFIX = ("system:nodes",), "system:node:"
_OPTIONAL = frozenset({"digital signature", "key encipherment"})

Sign = Callable[[bytes, Sequence[str], int | None], bytes]
"""`sign(request, usages, seconds)` returns a certificate as PEM."""


def record_requester(obj: JsonObject, user: User) -> None:
    """Set who makes the request, whatever it says itself. In place."""
    sent = obj.get("spec") or {}
    spec = {name: value for name, value in sent.items() if name not in {"username", "uid", "groups", "extra"}}
    obj["spec"] = spec | user_info(user)


def check_signing(
    authorizer: Authorizer, user: User, *, subresource: str, obj: JsonObject, old: JsonObject | None
) -> None:
    """Raise `ForbiddenError` if the user may not create, approve or sign the request."""
    signer = (obj if old is None else old)["spec"].get("signerName", "")
    name = obj["metadata"]["name"]
    if old is None:
        _check_masters(obj, signer, name)
    elif subresource == APPROVAL and not _may(authorizer, user, "approve", signer):
        raise _refusal(f"user not permitted to approve requests with signerName {quoted(signer)}", name)
    elif subresource == "status" and _is_signed(obj, old) and not _may(authorizer, user, "sign", signer):
        raise _refusal(f"user not permitted to sign requests with signerName {quoted(signer)}", name)


def _check_masters(obj: JsonObject, signer: str, name: str) -> None:
    """Nobody gets a certificate of the group that may do everything."""
    if signer == _CLIENT and MASTERS in _read(obj).organizations:
        raise _refusal(f"use of {_CLIENT} signer with {MASTERS} group is not allowed", name)


def _is_signed(obj: JsonObject, old: JsonObject) -> bool:
    new, former = obj.get("status") or {}, old.get("status") or {}
    return any(new.get(each) != former.get(each) for each in ("certificate", "conditions"))


def _may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """Allowed for the signer, or for all signers of its domain."""
    names = (signer, f"{signer.partition('/')[0]}/*")
    asked = (Attributes(user, verb, group=GROUP, resource="signers", name=each) for each in names)
    return any(authorizer.authorize(each).is_allowed for each in asked)


def _refusal(why: str, name: str) -> ForbiddenError:
    return forbidden(why, resource="certificatesigningrequests", group=GROUP, name=name)


def certified(obj: JsonObject, sign: Sign, now: str) -> JsonObject:
    """An approved request of a standard signer with its certificate, or with the condition Failed and the reason."""
    spec, status = obj["spec"], obj.get("status") or {}
    conditions = status.get("conditions") or []
    types = {each.get("type") for each in conditions}
    rule = _RULES.get(spec["signerName"])
    if rule is None or "Approved" not in types or types & {"Denied", "Failed"} or status.get("certificate"):
        return obj
    usages = spec["usages"]
    if fault := rule(_read(obj), frozenset(usages)):
        failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": fault}
        failed |= {"lastUpdateTime": now, "lastTransitionTime": now}
        return {**obj, "status": {**status, "conditions": [*conditions, failed]}}
    certificate = sign(b64decode(spec["request"]), usages, spec.get("expirationSeconds"))
    return {**obj, "status": {**status, "certificate": b64encode(certificate).decode()}}


def _read(obj: JsonObject) -> SigningRequest:
    from homeostat.server.pki.signing_request import read_request

    return read_request(b64decode(obj["spec"]["request"]))


def _client_fault(_: SigningRequest, usages: frozenset[str]) -> str:
    for usage in sorted(usages - _OPTIONAL - {"client auth"}):
        return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


def _kubelet_client_fault(request: SigningRequest, usages: frozenset[str]) -> str:
    if request.organizations != _NODES:
        return "subject organization is not system:nodes"
    if request.hosts or request.others:
        return "subjectAltNames are not allowed"
    return _name_fault(request) or _usage_fault(usages, "client auth")


def _kubelet_serving_fault(request: SigningRequest, usages: frozenset[str]) -> str:
    if request.organizations != _NODES:
        return "subject organization is not system:nodes"
    if not request.hosts:
        return "DNS or IP subjectAltName is required"
    for other in sorted(request.others):
        return f"{other} subjectAltNames are not allowed"
    return _usage_fault(usages, "server auth") or _name_fault(request)


def _name_fault(request: SigningRequest) -> str:
    is_node = request.common_name.startswith(_NODE_PREFIX)
    return "" if is_node else f"subject common name does not begin with {_NODE_PREFIX}"


def _usage_fault(usages: frozenset[str], purpose: str) -> str:
    """Keys other than RSA cannot encipher keys, so that usage may be absent."""
    needed = {"digital signature", purpose}
    if usages in (needed, needed | {"key encipherment"}):
        return ""
    return f"usages did not match [{purpose} digital signature key encipherment]"


_RULES: dict[str, Callable[[SigningRequest, frozenset[str]], str]] = {
    _CLIENT: _client_fault,
    _KUBELET_CLIENT: _kubelet_client_fault,
    _KUBELET_SERVING: _kubelet_serving_fault,
}
