"""The service account of a new Pod: its name, the volume with its token, and its image pull secrets.

A Pod that names no account gets `default`. A controller creates that account in each namespace, and a plane without
controllers has none, so a missing `default` counts as one without settings. Any other missing account is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.server.kinds.builtins.mirror import is_mirror
from homeostat.server.kinds.builtins.references import CONTAINER_LISTS, ENFORCED, secrets_of
from homeostat.server.request.call import Call
from homeostat.store.base import Key

_DEFAULT = "default"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_VOLUME_PREFIX = "kube-api-access-"
_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_LIFETIME_S = 3607
"""An hour, and seven seconds by which Kubernetes recognizes tokens that were mounted without being asked for."""
_STARTED = CONTAINER_LISTS[:2]
_NOUNS = {"initContainers": "init container", "containers": "container", "ephemeralContainers": "ephemeral container"}


class _Reference(msgspec.Struct, gc=False):
    name: str = ""


class _Metadata(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None


class _Account(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    automountServiceAccountToken: bool | None = None  # noqa: N815
    imagePullSecrets: list[_Reference] | None = None  # noqa: N815
    secrets: list[_Reference] | None = None

    @property
    def limits_secrets(self) -> bool:
        return (self.metadata.annotations or {}).get(ENFORCED) in _TRUE


_accounts = msgspec.json.Decoder(_Account)
_BARE = _Account()


def complete_account(call: Call, pod: JsonObject) -> None:
    """Complete a new Pod, in place; 403 for an unknown account, and for Secrets that the account does not allow."""
    if is_mirror(pod):
        _check_mirror(call, pod)
        return
    spec = pod["spec"]
    name = text(spec, "serviceAccountName") or _DEFAULT
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = _account_of(call, pod, name)
    wanted = spec.get("automountServiceAccountToken")
    if wanted is None:
        wanted = account.automountServiceAccountToken
    if wanted is not False:
        _mount_token(call, spec)
    if not spec.get("imagePullSecrets") and account.imagePullSecrets:
        spec["imagePullSecrets"] = [{"name": each.name} for each in account.imagePullSecrets]
    if account.limits_secrets:
        _limit_secrets(call, pod, name, account)


def check_ephemeral(call: Call, pod: JsonObject) -> None:
    """403 if ephemeral containers refer to Secrets that the Pod's account does not allow."""
    name = text(struct(pod, "spec"), "serviceAccountName")
    if not name:
        return  # stored by a version that set none
    account = _account_of(call, pod, name)
    if account.limits_secrets:
        _limit_containers(call, pod, name, account, ("ephemeralContainers",))


def _account_of(call: Call, pod: JsonObject, name: str) -> _Account:
    record = call.store.get(Key("serviceaccounts", call.namespace, name))
    if record is not None:
        return _accounts.decode(record.value)
    if name == _DEFAULT:
        return _BARE
    why = f'error looking up service account {call.namespace}/{name}: serviceaccount "{name}" not found'
    raise _denial(call, pod, why)


def _denial(call: Call, pod: JsonObject, why: str) -> Exception:
    return call.forbidden(why, pod["metadata"].get("name", ""))


def _mount_token(call: Call, spec: JsonObject) -> None:
    volumes = structs(spec, "volumes")
    existing = next((found for each in volumes if (found := text(each, "name")).startswith(_VOLUME_PREFIX)), "")
    name = existing or _VOLUME_PREFIX + call.backend.random_suffix()
    is_needed = False
    for group in _STARTED:
        for container in structs(spec, group):
            mounts = structs(container, "volumeMounts")
            if not any(each.get("mountPath") == _MOUNT_PATH for each in mounts):
                container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}]
                is_needed = True
    if is_needed and not existing:
        spec["volumes"] = [*volumes, {"name": name, "projected": _token_source()}]


def _token_source() -> JsonObject:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_LIFETIME_S, "path": "token"}},
            {"configMap": authority},
            {"downwardAPI": {"items": [namespace]}},
        ],
        "defaultMode": 0o644,
    }


def _check_mirror(call: Call, pod: JsonObject) -> None:
    """A mirror Pod shows what a kubelet runs from a file. It stays as it is, and refers to nothing."""
    spec = struct(pod, "spec")
    if text(spec, "serviceAccountName"):
        raise _denial(call, pod, "a mirror pod may not reference service accounts")
    if any(secrets_of(spec)):
        raise _denial(call, pod, "a mirror pod may not reference secrets")
    for volume in structs(spec, "volumes"):
        if any("serviceAccountToken" in each for each in structs(struct(volume, "projected"), "sources")):
            raise _denial(call, pod, "a mirror pod may not use ServiceAccountToken volume projections")


def _limit_secrets(call: Call, pod: JsonObject, name: str, account: _Account) -> None:
    spec, allowed = pod["spec"], {each.name for each in account.secrets or ()}
    for volume in structs(spec, "volumes"):
        secret = struct(volume, "secret")
        if secret and text(secret, "secretName") not in allowed:
            said = f'volume with secret.secretName="{text(secret, "secretName")}"'
            raise _denial(call, pod, _unlisted(said, name))
    _limit_containers(call, pod, name, account, _STARTED)
    pulled = {each.name for each in account.imagePullSecrets or ()}
    for index, each in enumerate(structs(spec, "imagePullSecrets")):
        if text(each, "name") not in pulled:
            said = f'imagePullSecrets[{index}].name="{text(each, "name")}"'
            raise _denial(call, pod, _unlisted(said, name, "imagePullSecret"))


def _limit_containers(call: Call, pod: JsonObject, name: str, account: _Account, groups: tuple[str, ...]) -> None:
    allowed = {each.name for each in account.secrets or ()}
    for group in groups:
        for container in structs(pod["spec"], group):
            who = f"{_NOUNS[group]} {text(container, 'name')}"
            for what, secret in _environment(container):
                if secret not in allowed:
                    said = f'{who} with {what} referencing secret.secretName="{secret}"'
                    raise _denial(call, pod, _unlisted(said, name))


def _environment(container: JsonObject) -> Iterator[tuple[str, str]]:
    for each in structs(container, "env"):
        if reference := struct(each, "valueFrom", "secretKeyRef"):
            yield f"envVar {text(each, 'name')}", text(reference, "name")
    for each in structs(container, "envFrom"):
        if reference := struct(each, "secretRef"):
            yield "envFrom", text(reference, "name")


def _unlisted(said: str, account: str, noun: str = "secret") -> str:
    return f"{said} is not allowed because service account {account} does not reference that {noun}"
