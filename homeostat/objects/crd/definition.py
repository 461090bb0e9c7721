"""Validation and defaults of CustomResourceDefinitions, in the words of Kubernetes.

`default_crd` sets defaults, `validate_crd` checks a new definition and `validate_crd_update` a change. Any JSON may be
passed; values of the wrong type are reported before anything else is checked.
A part that is the same in all versions is reported once, without the version, as Kubernetes does:
`spec.validation.openAPIV3Schema...` for a definition with one version.
"""

from __future__ import annotations

from homeostat.objects.crd.conversion import WEBHOOK, check_conversion, default_conversion
from homeostat.objects.crd.version import check_columns, check_deprecation, check_selectable, check_subresources
from homeostat.objects.errors import Cause, are_enough, invalid, required, unsupported
from homeostat.objects.identifiers import dns1035_label, dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.objects.json import types as form
from homeostat.objects.schema.openapi import schema_of

_APPROVAL = "api-approved.kubernetes.io"
_NAMES = form.object_of(
    {
        **dict.fromkeys(("plural", "singular", "kind", "listKind"), form.text),
        **dict.fromkeys(("shortNames", "categories"), form.list_of(form.text)),
    }
)
_VERSION = form.object_of(
    {
        "name": form.text,
        **dict.fromkeys(("served", "storage", "deprecated"), form.flag),
        "deprecationWarning": form.text,
        "schema": form.object_of({"openAPIV3Schema": form.any_object}),
        "subresources": form.object_of(
            {
                "status": form.any_object,
                "scale": form.object_of(
                    dict.fromkeys(("specReplicasPath", "statusReplicasPath", "labelSelectorPath"), form.text)
                ),
            }
        ),
        "additionalPrinterColumns": form.list_of(
            form.object_of(
                {
                    **dict.fromkeys(("name", "type", "format", "description", "jsonPath"), form.text),
                    "priority": form.whole,
                }
            )
        ),
        "selectableFields": form.list_of(form.object_of({"jsonPath": form.text})),
    }
)
_CRD = form.object_of(
    {
        "metadata": form.object_of({"name": form.text, "annotations": form.map_of(form.text)}),
        "spec": form.object_of(
            {
                "group": form.text,
                "scope": form.text,
                "names": _NAMES,
                "versions": form.list_of(_VERSION),
                "conversion": form.object_of(
                    {
                        "strategy": form.text,
                        "webhook": WEBHOOK,
                    }
                ),
                "preserveUnknownFields": form.flag,
            }
        ),
        "status": form.object_of(
            {"storedVersions": form.list_of(form.text), "conditions": form.list_of(form.any_object)}
        ),
    }
)


def default_crd(crd: JsonObject) -> None:
    """Sets the defaults of names and conversion in place; `validate_crd` reports values of the wrong type."""
    spec = crd.get("spec")
    if not isinstance(spec, dict):
        return
    names = spec.get("names")
    if isinstance(names, dict) and isinstance(names.get("kind"), str) and names["kind"]:
        if not names.get("singular"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind"):
            names["listKind"] = f"{names['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    default_conversion(spec["conversion"])


def validate_crd(crd: JsonObject, valid: JsonObject | None = None) -> list[Cause]:
    """`valid` is a definition that was validated before: a version with the same schema is not validated again."""
    return _CRD(crd, "") or _check(crd, unchanged=_unchanged(crd, valid) if valid is not None else ())


def validate_crd_update(new: JsonObject, old: JsonObject) -> list[Cause]:
    """`old` is a definition as stored. A version whose schema did not change is not validated against newer rules."""
    causes = _CRD(new, "")
    if causes:
        return causes
    spec, before = _part(new, "spec"), _part(old, "spec")
    causes = _check(new, unchanged=_unchanged(new, old))
    names, names_before = _part(spec, "names"), _part(before, "names")
    fixed = [("spec.group", spec, before, "group"), ("spec.names.plural", names, names_before, "plural")]
    if _is_established(old):
        fixed += [("spec.scope", spec, before, "scope"), ("spec.names.kind", names, names_before, "kind")]
    for path, now, then, key in fixed:
        if now.get(key) != then.get(key):
            causes.append(invalid(path, now.get(key), "field is immutable"))
    return causes + _check_stored_versions(_part(old, "status").get("storedVersions") or [], spec)


def _unchanged(new: JsonObject, old: JsonObject) -> tuple[str, ...]:
    """The versions whose schema is the same in both definitions."""
    versions = _part(old, "spec").get("versions") or []
    schemas = {version.get("name"): version.get("schema") for version in versions}
    return tuple(
        version["name"]
        for version in _part(new, "spec").get("versions") or []
        if version.get("schema") is not None and schemas.get(version.get("name")) == version["schema"]
    )


def _is_established(crd: JsonObject) -> bool:
    conditions = _part(crd, "status").get("conditions") or []
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)


def _check_stored_versions(stored: list[str], spec: JsonObject) -> list[Cause]:
    known = {version.get("name") for version in spec.get("versions") or []}
    return [
        invalid(
            f"status.storedVersions[{at}]",
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} "
            f"and removes {name} from status.storedVersions",
        )
        for at, name in enumerate(stored)
        if name not in known
    ]


def _part(of: JsonObject, key: str) -> JsonObject:
    return of.get(key) or {}


def _check(crd: JsonObject, *, unchanged: tuple[str, ...]) -> list[Cause]:
    meta, spec = _part(crd, "metadata"), _part(crd, "spec")
    names = _part(spec, "names")
    causes: list[Cause] = []
    if meta.get("name") != f"{names.get('plural') or ''}.{spec.get('group') or ''}":
        causes.append(invalid("metadata.name", meta.get("name"), 'must be spec.names.plural+"."+spec.group'))
    causes += _check_group(spec.get("group") or "", meta)
    if not spec.get("scope"):
        causes.append(required("spec.scope"))
    elif spec["scope"] not in ("Cluster", "Namespaced"):
        causes.append(unsupported("spec.scope", spec["scope"], ("Cluster", "Namespaced")))
    causes += _check_versions(spec.get("versions") or [], unchanged)
    causes += _check_names(names)
    causes += check_conversion(_part(spec, "conversion"))
    if spec.get("preserveUnknownFields"):
        message = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        causes.append(invalid("spec.preserveUnknownFields", True, message))
    return causes


def _check_group(group: str, meta: JsonObject) -> list[Cause]:
    if not group:
        return [required("spec.group")]
    if messages := dns1123_subdomain(group):
        return [invalid("spec.group", group, ",".join(messages))]
    if "." not in group:
        return [invalid("spec.group", group, "should be a domain with at least one dot")]
    approval = _part(meta, "annotations").get(_APPROVAL, "")
    if (
        not f".{group}".endswith((".k8s.io", ".kubernetes.io"))
        or approval.startswith("unapproved")
        or "://" in approval
    ):
        return []
    where = f"metadata.annotations[{_APPROVAL}]"
    message = f'protected groups must have approval annotation "{_APPROVAL}": a URL, or a text starting with unapproved'
    return [invalid(where, approval, message) if approval else required(where, message)]


def _check_names(names: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    for key in ("plural", "singular", "kind", "listKind"):
        where, given = f"spec.names.{key}", names.get(key)
        if not given:
            causes.append(required(where))
        elif key in ("plural", "singular"):
            causes += _check_label(given, where)
        elif messages := dns1035_label(given.lower()):
            message = f"may have mixed case, but should otherwise match: {','.join(messages)}"
            causes.append(invalid(where, given, message))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        causes.append(invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same"))
    for key in ("shortNames", "categories"):
        for at, each in enumerate(names.get(key) or []):
            causes += _check_label(each, f"spec.names.{key}[{at}]")
            if are_enough(causes):
                return causes
    return causes


def _check_label(given: str, path: str) -> list[Cause]:
    messages = dns1035_label(given)
    return [invalid(path, given, ",".join(messages))] if messages else []


def _check_versions(versions: list[JsonObject], unchanged: tuple[str, ...]) -> list[Cause]:
    causes: list[Cause] = []
    names = [version.get("name") or "" for version in versions]
    for at, version in enumerate(versions):
        path = f"spec.versions[{at}]"
        if _part(version, "schema").get("openAPIV3Schema") is None:
            causes.append(required(f"{path}.schema.openAPIV3Schema", "schemas are required"))
        causes += _check_label(names[at], f"{path}.name") + check_deprecation(version, path)
    if len(set(names)) != len(names):
        causes.append(invalid("spec.versions", names, "must contain unique version names"))
    if [version.get("storage") for version in versions].count(True) != 1:
        message = "must have exactly one version marked as storage version"
        causes.append(invalid("spec.versions", names, message))
    return causes + _check_parts(versions, unchanged)


def _check_parts(versions: list[JsonObject], unchanged: tuple[str, ...]) -> list[Cause]:
    """Schemas, subresources, columns and selectable fields: once if all versions agree on them."""
    causes: list[Cause] = []
    for path, version in _by_version(versions, "schema", "validation"):
        raw = _part(version, "schema").get("openAPIV3Schema")
        if raw is not None and version.get("name") not in unchanged:
            # The schemas that come with the program are not checked, so a start needs no engine of schemas.
            from homeostat.objects.crd.schema import check_schema

            has_status = any(map(_has_status, versions if path == "spec.validation" else [version]))
            causes += check_schema(raw, f"{path}.openAPIV3Schema", has_status=has_status)
    for path, version in _by_version(versions, "subresources", "subresources"):
        causes += check_subresources(_part(version, "subresources"), path)
    for path, version in _by_version(versions, "additionalPrinterColumns", "additionalPrinterColumns"):
        causes += check_columns(version.get("additionalPrinterColumns") or [], path)
    for path, version in _by_version(versions, "selectableFields", "selectableFields"):
        raw = _part(version, "schema").get("openAPIV3Schema")
        if not causes and version.get("selectableFields") and raw is not None:
            causes += check_selectable(version["selectableFields"], schema_of(raw), path)
    return causes


def _by_version(versions: list[JsonObject], key: str, alike: str) -> list[tuple[str, JsonObject]]:
    if all(version.get(key) == versions[0].get(key) for version in versions):
        return [(f"spec.{alike}", version) for version in versions[:1]]
    return [(f"spec.versions[{at}].{key}", version) for at, version in enumerate(versions)]


def _has_status(version: JsonObject) -> bool:
    return _part(version, "subresources").get("status") is not None
