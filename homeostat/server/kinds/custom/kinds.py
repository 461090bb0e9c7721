"""The kinds that a CustomResourceDefinition declares: one for each served version, once its names were accepted."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.custom.behaviour import CustomBehaviour
from homeostat.server.kinds.registry import CUSTOM_VERBS, Kind, ScalePaths

_ANYTHING: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def kinds_of(definition: JsonObject) -> list[Kind]:
    """The kinds of a definition; none until all its names were accepted once.

    The stored version of a terminating definition is served if no other is, so that its objects can be deleted.
    """
    if not _is_established(definition):
        return []
    versions = definition["spec"]["versions"]
    names = definition["status"]["acceptedNames"]
    stored = next(version for version in versions if version.get("storage"))
    served = [version for version in versions if version.get("served")]
    if not served and "deletionTimestamp" in definition["metadata"]:
        served = [stored]
    return [_kind(definition, version, names, stored["name"]) for version in served]


def _is_established(definition: JsonObject) -> bool:
    return establishment(definition.get("status") or {}) is not None


def establishment(status: JsonObject) -> JsonObject | None:
    """The condition Established, if it is True."""
    conditions = status.get("conditions") or ()
    wanted = ("Established", "True")
    return next((each for each in conditions if (each.get("type"), each.get("status")) == wanted), None)


def _kind(definition: JsonObject, version: JsonObject, names: JsonObject, storage: str) -> Kind:
    spec = definition["spec"]
    raw = raw_schema(version)
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    return Kind(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        list_kind=names.get("listKind", ""),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        has_status="status" in subresources,
        verbs=CUSTOM_VERBS,
        has_generation=True,
        scale=scale
        and ScalePaths(scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", "")),
        custom=True,
        unconditional_update=False,
        storage_version=storage,
        behaviour=CustomBehaviour(raw, tuple(each["jsonPath"] for each in version.get("selectableFields") or ())),
        raw_schema=raw,
        printer_columns=tuple(version.get("additionalPrinterColumns") or ()),
        deprecation=_deprecation(spec["group"], version, names["kind"]),
        is_terminating="deletionTimestamp" in definition["metadata"],
    )


def raw_schema(version: JsonObject) -> JsonObject:
    raw: JsonObject = (version.get("schema") or {}).get("openAPIV3Schema") or _ANYTHING
    return raw


def _deprecation(group: str, version: JsonObject, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    return str(version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated")
