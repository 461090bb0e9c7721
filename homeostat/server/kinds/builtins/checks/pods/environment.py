"""What the environment of a container may look like."""

from __future__ import annotations

from homeostat.objects.errors import Cause, invalid, required
from homeostat.objects.identifiers import config_key, dns1123_subdomain, env_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.reference import ENV_FIELDS, check_field, check_resource_field
from homeostat.server.kinds.builtins.members import numbered, text
from homeostat.server.kinds.builtins.value import check_required, check_text

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_environment(container: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, env in numbered(container, "env", path):
        causes += check_required(env, "name", at, env_name)
        if isinstance(source := env.get("valueFrom"), dict):
            causes += _check_source(source, f"{at}.valueFrom", has_value=bool(env.get("value")))
    for at, env in numbered(container, "envFrom", path):
        sources = [name for name in ("configMapRef", "secretRef") if isinstance(env.get(name), dict)]
        if prefix := text(env, "prefix"):
            causes += check_text(prefix, f"{at}.prefix", env_name)
        for name in sources:
            causes += _check_name(env[name], f"{at}.{name}")
        if not sources:
            causes.append(invalid(f"{path}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(sources) > 1:
            causes.append(invalid(f"{path}.envFrom", "", "may not have more than one field specified at a time"))
    return causes


def _check_name(reference: JsonObject, path: str) -> list[Cause]:
    """The name of an object, which may be the start of one and so may end with a hyphen."""
    name = text(reference, "name")
    if not name:
        return [required(f"{path}.name")]
    whole = f"{name[:-1]}a" if name.endswith("-") else name
    return check_text(whole, f"{path}.name", dns1123_subdomain)


def _check_source(source: JsonObject, path: str, *, has_value: bool) -> list[Cause]:
    given = [name for name in _SOURCES if isinstance(source.get(name), dict)]
    causes: list[Cause] = []
    if "fieldRef" in given:
        causes += check_field(source["fieldRef"], f"{path}.fieldRef", ENV_FIELDS)
    if "resourceFieldRef" in given:
        causes += check_resource_field(source["resourceFieldRef"], f"{path}.resourceFieldRef")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in given:
            causes += check_text(text(source[name], "name"), f"{path}.{name}.name", dns1123_subdomain)
            causes += check_required(source[name], "key", f"{path}.{name}", config_key)
    if not given:
        known = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        causes.append(invalid(path, "", f"must specify one of: {known}"))
    elif has_value:
        causes.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        causes.append(invalid(path, "", "may not have more than one field specified at a time"))
    return causes
