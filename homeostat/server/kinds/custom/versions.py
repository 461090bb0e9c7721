"""How objects stored at one version of a definition are read at another: conversion, and defaults added later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from homeostat.objects.json import JsonObject, encode
from homeostat.server.kinds.custom.behaviour import CustomBehaviour
from homeostat.server.kinds.custom.kinds import raw_schema
from homeostat.server.kinds.registry import Kind

if TYPE_CHECKING:
    from homeostat.server.conversion.conversion import Conversion


def stored_behaviour(definition: JsonObject, kinds: Iterable[Kind]) -> CustomBehaviour | None:
    """The behaviour of the stored version, if it has defaults."""
    version = next(each for each in definition["spec"]["versions"] if each.get("storage"))
    raw = raw_schema(version)
    if b'"default":' not in encode(raw):
        return None
    served = next((each.behaviour for each in kinds if each.version == version["name"]), None)
    return served if isinstance(served, CustomBehaviour) else CustomBehaviour(raw, ())


def conversion_of(spec: JsonObject, kinds: Sequence[Kind], defaults_before: int) -> Conversion:
    """The conversion that a definition asks for."""
    from homeostat.server.admission.webhooks.client import endpoint_of
    from homeostat.server.conversion.conversion import Conversion
    from homeostat.server.conversion.review import review_version

    webhook = spec["conversion"]["webhook"] if is_by_webhook(spec) else None
    served = {each.version: each.behaviour for each in kinds}
    behaviours: dict[str, CustomBehaviour] = {}
    for version in spec["versions"]:
        behaviour = served.get(version["name"])
        known = behaviour if isinstance(behaviour, CustomBehaviour) else CustomBehaviour(raw_schema(version), ())
        behaviours[f"{spec['group']}/{version['name']}"] = known
    return Conversion(
        endpoint=None if webhook is None else endpoint_of(webhook["clientConfig"]),
        review_version="" if webhook is None else review_version(webhook["conversionReviewVersions"]),
        kind=kinds[0].kind,
        stored=kinds[0].stored_api_version,
        behaviours=behaviours,
        defaults_before=defaults_before,
    )


def is_by_webhook(spec: JsonObject) -> bool:
    return (spec.get("conversion") or {}).get("strategy") == "Webhook"


def do_schemas_differ(spec: JsonObject) -> bool:
    schemas = [raw_schema(version) for version in spec["versions"]]
    return any(each != schemas[0] for each in schemas)
