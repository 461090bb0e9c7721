"""Hides the values that the schema of a kind marks with `format: password`, before an object is printed.

The OpenAPI documents of the server have the schemas; everybody who may use the server may read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from homeostat.client.base import Client
from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.passwords import HIDDEN, NO_PASSWORDS, PasswordFields, marked_fields

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_BUILT_IN = ("apps", "batch", "autoscaling", "policy")


async def without_passwords(client: Client, objects: Sequence[JsonObject]) -> list[JsonObject]:
    """As the server sends them if it has no schemas."""
    known: dict[tuple[str, str], PasswordFields] = {}
    for api_version in dict.fromkeys(each.get("apiVersion") or "" for each in objects):
        if _is_custom(api_version.partition("/")[0] if "/" in api_version else ""):
            known |= await _marked(client, api_version)
    return [
        _hidden(each, known.get((each.get("apiVersion", ""), each.get("kind", "")), NO_PASSWORDS)) for each in objects
    ]


def _is_custom(group: str) -> bool:
    return bool(group) and group not in _BUILT_IN and not group.endswith(".k8s.io")


async def _marked(client: Client, api_version: str) -> dict[tuple[str, str], PasswordFields]:
    """By version and kind."""
    try:
        document = await client.get(f"/openapi/v3/apis/{api_version}")
    except ApiError:
        return {}
    schemas: Iterable[JsonObject] = ((document.get("components") or {}).get("schemas") or {}).values()
    return {
        (api_version, named["kind"]): fields
        for each in schemas
        if (fields := marked_fields(each))
        for named in each.get("x-kubernetes-group-version-kind") or ()
        if f"{named['group']}/{named['version']}" == api_version
    }


def _hidden(obj: JsonObject, passwords: PasswordFields) -> JsonObject:
    if not passwords:
        return obj
    shown: JsonObject = passwords.hidden(obj)
    annotations = shown["metadata"].get("annotations") or {}
    if _LAST_APPLIED in annotations:
        # It repeats the object.
        shown["metadata"] = {**shown["metadata"], "annotations": {**annotations, _LAST_APPLIED: HIDDEN}}
    run = (shown.get("status") or {}).get("run") or {}
    if "declaration" in run:
        # The run of another system keeps the whole spec, as JSON.
        shown["status"] = {**shown["status"], "run": {**run, "declaration": HIDDEN}}
    return shown
