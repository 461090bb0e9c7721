"""What the files of a volume may look like: keys of Secrets and ConfigMaps, facts of the pod, tokens."""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.errors import Cause, forbidden, invalid, required
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.reference import FILE_FIELDS, check_field, check_resource_field
from homeostat.server.kinds.builtins.checks.pods.source import check_descending
from homeostat.server.kinds.builtins.members import numbered, structs, text
from homeostat.server.kinds.builtins.value import check_required, is_integer

_MAX_MODE = 0o777
_MODE_RANGE = "must be a number between 0 and 0777 (octal), both inclusive"
_SHORTEST_TOKEN_S, _LONGEST_TOKEN_S = 600, 2**32


def check_files(*names: str) -> Callable[[JsonObject, str], list[Cause]]:
    """A source of files that are named by keys; `names` must be set."""

    def check(source: JsonObject, path: str) -> list[Cause]:
        causes = [required(f"{path}.{each}") for each in names if not source.get(each)]
        causes += _check_mode(source, "defaultMode", path)
        for at, item in numbered(source, "items", path):
            causes += check_required(item, "key", at) + _check_file(item, at)
        return causes

    return check


def check_downward(source: JsonObject, path: str) -> list[Cause]:
    causes = _check_mode(source, "defaultMode", path)
    for file in structs(source, "items"):
        # Kubernetes leaves out which one it is.
        causes += _check_fact(file, path)
    return causes


def _check_fact(file: JsonObject, path: str) -> list[Cause]:
    causes = _check_file(file, path)
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if isinstance(field, dict):
        causes += check_field(field, f"{path}.fieldRef", FILE_FIELDS)
        if isinstance(resource, dict):
            message = "fieldRef and resourceFieldRef can not be specified simultaneously"
            causes.append(invalid(path, "resource", message))
    elif isinstance(resource, dict):
        causes += check_resource_field(resource, f"{path}.resourceFieldRef", names_container=True)
    else:
        causes.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return causes


def _check_file(file: JsonObject, path: str) -> list[Cause]:
    causes = check_required(file, "path", path)
    causes += _check_local(text(file, "path"), f"{path}.path")
    return causes + _check_mode(file, "mode", path)


def _check_local(value: str, path: str) -> list[Cause]:
    causes = check_descending(value, path)
    if value.startswith("..") and value != ".." and not value.startswith("../"):
        causes.append(invalid(path, value, "must not start with '..'"))
    return causes


def _check_mode(source: JsonObject, name: str, path: str) -> list[Cause]:
    mode = source.get(name)
    if is_integer(mode) and not 0 <= source[name] <= _MAX_MODE:
        return [invalid(f"{path}.{name}", mode, _MODE_RANGE)]
    return []


def check_projected(source: JsonObject, path: str) -> list[Cause]:
    causes = _check_mode(source, "defaultMode", path)
    taken: set[str] = set()
    for at, projection in numbered(source, "sources", path):
        given = [name for name in _PROJECTIONS if isinstance(projection.get(name), dict)]
        for name in given:
            causes += _PROJECTIONS[name](projection[name], f"{at}.{name}", path)
            causes += _check_taken(name, projection[name], taken, path)
        if len(given) > 1:
            causes.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return causes


def _check_taken(name: str, projection: JsonObject, taken: set[str], path: str) -> list[Cause]:
    """No two sources write one file; tokens are not compared."""
    if name == "serviceAccountToken":
        return []
    causes: list[Cause] = []
    for file in structs(projection, "items"):
        target = text(file, "path")
        if target and target in taken:
            causes.append(invalid(path, target, "conflicting duplicate paths"))
        taken.add(target)
    return causes


_check_keys = check_files("name")


def _check_token(token: JsonObject, path: str, volume: str) -> list[Cause]:
    causes: list[Cause] = []
    seconds, here = token.get("expirationSeconds"), f"{path}.expirationSeconds"
    if is_integer(seconds) and token["expirationSeconds"] < _SHORTEST_TOKEN_S:
        causes.append(invalid(here, seconds, "may not specify a duration less than 10 minutes"))
    if is_integer(seconds) and token["expirationSeconds"] > _LONGEST_TOKEN_S:
        causes.append(invalid(here, seconds, "may not specify a duration larger than 2^32 seconds"))
    if not text(token, "path"):
        return [*causes, required(f"{volume}.path")]
    return causes + _check_local(text(token, "path"), f"{volume}.path")


_PROJECTIONS: dict[str, Callable[[JsonObject, str, str], list[Cause]]] = {
    "secret": lambda source, path, _: _check_keys(source, path),
    "configMap": lambda source, path, _: _check_keys(source, path),
    "downwardAPI": lambda source, path, _: check_downward(source, path),
    "serviceAccountToken": _check_token,
}
