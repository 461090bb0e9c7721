"""TokenRequest: the subresource `serviceaccounts/<name>/token`, which `kubectl create token` uses."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from homeostat.objects.errors import BadRequestError, ConflictError, NotFoundError, invalid, invalid_object, quoted
from homeostat.objects.json import JsonObject
from homeostat.server.access.tokens.service_account import BOUND_RESOURCES, AccountTokens, Bound
from homeostat.server.kinds.builtins.members import struct, text
from homeostat.server.request.spec import read_spec

_GROUP = "authentication.k8s.io"
_DEFAULT_LIFE_S = 3600
_MIN_LIFE_S, _MAX_LIFE_S = 600, 1 << 32


class _BoundObjectRef(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    kind: str = ""
    api_version: str = ""
    name: str = ""
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    audiences: list[str] = []
    expiration_seconds: int = _DEFAULT_LIFE_S
    bound_object_ref: _BoundObjectRef | None = None


def complete_token_spec(obj: JsonObject) -> JsonObject:
    """What is asked for, with its defaults; `BadRequestError` if it cannot be read."""
    return _object(read_spec(obj, _Spec))


def _object(spec: _Spec) -> JsonObject:
    return {**msgspec.to_builtins(spec), "expirationSeconds": spec.expiration_seconds}


def answer_token_request(
    tokens: AccountTokens, obj: JsonObject, *, namespace: str, name: str, now: float
) -> JsonObject:
    """The request with the token in `status`; `NotFoundError` if the service account does not exist."""
    uid = _uid(tokens, "serviceaccounts", namespace, name)
    spec = read_spec(obj, _Spec)
    _check_life(spec.expiration_seconds)
    spec = msgspec.structs.replace(spec, audiences=spec.audiences or list(tokens.audiences))
    bound = _bound(tokens, namespace, name, spec.bound_object_ref) if spec.bound_object_ref else None
    token = tokens.mint(
        namespace, name, uid=uid, now=now, life_s=spec.expiration_seconds, audiences=spec.audiences, bound=bound
    )
    return {
        "kind": "TokenRequest",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": _timestamp(now)},
        "spec": _object(spec),
        "status": {"token": token, "expirationTimestamp": _timestamp(int(now) + spec.expiration_seconds)},
    }


def _check_life(life_s: int) -> None:
    if _MIN_LIFE_S <= life_s <= _MAX_LIFE_S:
        return
    limit = "less than 10 minutes" if life_s < _MIN_LIFE_S else "larger than 2^32 seconds"
    cause = invalid("spec.expirationSeconds", life_s, f"may not specify a duration {limit}")
    raise invalid_object("TokenRequest", _GROUP, "", [cause])


def _bound(tokens: AccountTokens, namespace: str, account: str, ref: _BoundObjectRef) -> Bound:
    resource = BOUND_RESOURCES.get(ref.kind)
    if resource is None or ref.api_version not in {"", "v1"}:
        raise BadRequestError(f"cannot bind token to object of type {ref.api_version}, Kind={ref.kind}")
    uid = _uid(tokens, resource, "" if resource == "nodes" else namespace, ref.name)
    if resource == "pods":
        pod = tokens.read(resource, namespace, ref.name)
        if text(struct(pod, "spec"), "serviceAccountName") != account:
            raise BadRequestError(
                f"cannot bind token for serviceaccount {quoted(account)} to pod running with different serviceaccount "
                "name."
            )
    if ref.uid and ref.uid != uid:
        raise ConflictError(
            f"Operation cannot be fulfilled on {ref.kind} {quoted(ref.name)}: "
            f"the UID in the bound object reference ({ref.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated",
            kind=ref.kind,
            name=ref.name,
        )
    return Bound(ref.kind, ref.name, uid)


def _uid(tokens: AccountTokens, resource: str, namespace: str, name: str) -> str:
    uid = tokens.uid_of(resource, namespace, name)
    if uid is None:
        raise NotFoundError(f"{resource} {quoted(name)} not found", kind=resource, name=name)
    return uid


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
