"""Hides the values that the schema of a kind marks with `format: password`, before an object is printed.

The OpenAPI documents of the server have the schemas; everybody who may use the server may read them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.passwords import NO_PASSWORDS, PasswordFields, marked_fields
from homeostat.objects.schema.passwords import without_passwords as hidden

_BUILT_IN = ("apps", "batch", "autoscaling", "policy")


async def without_passwords(client: Client, objects: Sequence[JsonObject]) -> list[JsonObject]:
    """As the server sends them if it has no schemas. Other errors are raised: what cannot be checked is not shown."""
    known = await passwords_of(client, objects)
    return [hidden(each, known.get(kind_of(each), NO_PASSWORDS)) for each in objects]


async def passwords_of(client: Client, objects: Iterable[JsonObject]) -> dict[tuple[str, str], PasswordFields]:
    """The fields that the schemas of these objects mark, by version and kind."""
    known: dict[tuple[str, str], PasswordFields] = {}
    for api_version in dict.fromkeys(each.get("apiVersion") or "" for each in objects):
        if _is_custom(api_version.partition("/")[0] if "/" in api_version else ""):
            known |= await _marked(client, api_version)
    return known


def kind_of(obj: JsonObject) -> tuple[str, str]:
    return obj.get("apiVersion", ""), obj.get("kind", "")


def _is_custom(group: str) -> bool:
    return bool(group) and group not in _BUILT_IN and not group.endswith(".k8s.io")


async def _marked(client: Client, api_version: str) -> dict[tuple[str, str], PasswordFields]:
    """By version and kind."""
    try:
        document = await client.get(f"/openapi/v3/apis/{api_version}")
    except NotFoundError:
        return {}
    schemas: Iterable[JsonObject] = ((document.get("components") or {}).get("schemas") or {}).values()
    return {
        (api_version, named["kind"]): fields
        for each in schemas
        if (fields := marked_fields(each))
        for named in each.get("x-kubernetes-group-version-kind") or ()
        if f"{named['group']}/{named['version']}" == api_version
    }
