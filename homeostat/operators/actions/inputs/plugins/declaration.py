"""Reads declarations of resources from a file: objects or bodies of the REST API, one or many. Pure.

    apiVersion: resources.homeostat.dev/v1        {"name": "orders", "resource_type_name": "DatabaseCluster",
    kind: DatabaseCluster                          "resource_type_version": "v1", "spec": {"replicas": 3}}
    metadata: {name: orders}
    spec: {replicas: 3}

An input may declare resources of its own namespace only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from homeostat.objects import yaml
from homeostat.objects.errors import ApiError, quoted
from homeostat.objects.identifiers import dns1123_subdomain
from homeostat.objects.json import Json, JsonObject, type_name
from homeostat.operators.actions.api import METADATA, RESOURCES
from homeostat.operators.actions.inputs.api import DIGEST, INPUT, SOURCE
from homeostat.operators.actions.inputs.plugins.reading import Broken, Declaration, RefusedError
from homeostat.operators.actions.types.naming import kind_name, version_name

_OBJECT: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "action", "status"})
_META: Final = frozenset({"name", "namespace", "labels", "annotations"})
_BODY: Final = frozenset({"name", "spec", "action_plugin", "plugin_config", "metadata"}) | {
    "resource_type_name",
    "resource_type_version",
}
_OURS: Final = frozenset({INPUT, DIGEST, SOURCE})


class Declared(NamedTuple):
    declarations: list[Declaration]
    broken: list[Broken]


def read_declarations(data: bytes, source: str, *, namespace: str, limit: int = yaml.MAX_BYTES) -> Declared:
    """An invalid document does not affect the others in the file; a file that cannot be parsed declares nothing."""
    try:
        values = [each for document in yaml.load_all(data, limit=limit) for each in _unpacked(document)]
    except ApiError as error:
        return Declared([], [Broken(source, error.message)])
    found = Declared([], [])
    for value in values:
        try:
            found.declarations.append(declaration_of(value, source, namespace=namespace))
        except RefusedError as error:
            found.broken.append(Broken(source, str(error)))
    return found


def declaration_of(value: Json, source: str, *, namespace: str) -> Declaration:
    """Raises `RefusedError` if the value is not a declaration."""
    if not isinstance(value, dict):
        raise RefusedError(f"a resource must be an object, not {type_name(value)}")
    if "resource_type_name" in value:
        return _from_body(value, source)
    return _from_object(value, source, namespace)


def _unpacked(value: Json) -> Iterator[Json]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, dict) and isinstance(value.get("items"), list) and "spec" not in value:
        for each in value["items"]:
            yield from _unpacked(each)
    else:
        yield value


def _from_object(value: JsonObject, source: str, namespace: str) -> Declaration:
    kind, api_version, metadata = value.get("kind"), value.get("apiVersion"), value.get("metadata")
    if not isinstance(kind, str) or not isinstance(api_version, str) or not isinstance(metadata, dict):
        raise RefusedError("apiVersion, kind and metadata are required (or resource_type_name)")
    group, _, version = api_version.rpartition("/")
    if group != RESOURCES:
        raise RefusedError(f"{kind} of {api_version} is not a resource; an input may only declare kinds of {RESOURCES}")
    name = _name(metadata.get("name"))
    _check_known(value, _OBJECT, f"{kind} {name}")
    _check_known(metadata, _META, f"metadata of {kind} {name}")
    if metadata.get("namespace", namespace) != namespace:
        message = f'is declared for namespace {quoted(metadata["namespace"])}, but the input is in "{namespace}"'
        raise RefusedError(f"{kind} {name} {message}")
    body: JsonObject = {word: value[word] for word in ("spec", "action") if value.get(word) is not None}
    for word in ("labels", "annotations"):
        if texts := _texts(metadata.get(word), f"metadata.{word} of {kind} {name}"):
            body[word] = texts
    return Declaration(kind=kind, version=version, name=name, body=body, source=source)


def _from_body(value: JsonObject, source: str) -> Declaration:
    name, type_of = _name(value.get("name")), value["resource_type_name"]
    version = value.get("resource_type_version") or "v1"
    if not isinstance(type_of, str) or not isinstance(version, str) or not kind_name(type_of):
        raise RefusedError(f'resource_type_name or resource_type_version of "{name}" is not a valid name')
    _check_known(value, _BODY, name)
    body: JsonObject = {"spec": value.get("spec") or {}}
    action = {"plugin": value.get("action_plugin"), "config": value.get("plugin_config")}
    if given := {word: each for word, each in action.items() if each}:
        body["action"] = given
    if value.get("metadata"):
        body["annotations"] = {METADATA: quoted(value["metadata"])}
    return Declaration(kind=kind_name(type_of), version=version_name(version), name=name, body=body, source=source)


def _name(value: Json) -> str:
    if not isinstance(value, str) or not value:
        raise RefusedError("metadata.name is required")
    if messages := dns1123_subdomain(value):
        raise RefusedError(f"{quoted(value[:253])} is not a valid resource name: {messages[0]}")
    return value


def _texts(value: Json, what: str) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise RefusedError(f"{what} must be a map of strings")
    if taken := sorted(_OURS & value.keys()):
        raise RefusedError(f'{what}: "{taken[0]}" is reserved for the input')
    return value


def _check_known(value: JsonObject, known: frozenset[str], what: str) -> None:
    if unknown := sorted(value.keys() - known):
        raise RefusedError(f'{what}: unknown field "{unknown[0]}"; allowed: {", ".join(sorted(known))}')
