"""A metadata bundle: documents for the API of one product, with a manifest and perhaps an OpenAPI document. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.engine.tree.directory import Directory

MANIFEST: Final = "bundle.yaml"
_OPENAPI: Final = ("openapi.yaml", "openapi.yml", "openapi.json")
SCHEMA: Final[dict[str, Any]] = {
    "apiVersion": str,
    "kind": str,
    "name": str,
    "version": str,
    "description": str,
    "deprecated": bool,
    "declarest": {
        "metadataRoot": str,
        "openapi": str,
        "compatibleDeclarest": str,
        "compatibleManagedService": {"product": str, "versions": str},
    },
    "distribution": {"artifactTemplate": str},
}


@dataclass(frozen=True, slots=True)
class Bundle:
    name: str
    version: str
    metadata: Directory
    openapi: bytes | None = None
    manifest: JsonObject = field(default_factory=dict)


def read_bundle(root: Directory) -> Bundle:
    """From the directory that holds the manifest, or from one that holds only that directory."""
    if MANIFEST not in root.files and len(root.directories) == 1 and not root.files:
        root = next(iter(root.directories.values()))
    if MANIFEST not in root.files:
        raise ValidationError(f"the metadata bundle has no {MANIFEST}")
    found = yaml.load(root.read(MANIFEST))
    _check(found, SCHEMA, MANIFEST)
    if found.get("apiVersion") != "declarest.io/v1alpha1" or found.get("kind") != "MetadataBundle":
        raise ValidationError(f"{MANIFEST} is not a MetadataBundle of declarest.io/v1alpha1")
    if not found.get("name") or not found.get("version"):
        raise ValidationError(f"{MANIFEST} needs name and version")
    block = found.get("declarest", {})
    metadata = root.at(_inner(block.get("metadataRoot", "metadata")))
    if metadata is None:
        raise ValidationError(f"the metadata bundle {found['name']} has no directory {block.get('metadataRoot')}")
    openapi = _openapi(root, metadata, block.get("openapi", ""))
    return Bundle(found["name"], found["version"], metadata, openapi, found)


def _openapi(root: Directory, metadata: Directory, declared: str) -> bytes | None:
    """The declared one, else one at the root, in the metadata, or anywhere."""
    if declared and "://" not in declared:
        *folders, file = _inner(declared)
        directory = root.at(folders)
        if directory is None or file not in directory.files:
            raise ValidationError(f"the metadata bundle has no OpenAPI document {declared}")
        return directory.read(file)
    for directory in (root, metadata, *(each for _, each in root.walk())):
        for name in _OPENAPI:
            if name in directory.files:
                return directory.read(name)
    return None


def _inner(path: str) -> list[str]:
    parts = [each for each in path.split("/") if each not in ("", ".")]
    if ".." in parts or path.startswith("/"):
        raise ValidationError(f'path "{path}" of the metadata bundle leads out of it')
    return parts


def _check(value: Json, schema: Any, where: str) -> None:
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            raise ValidationError(f"{where} is not an object")
        for key, item in value.items():
            if key not in schema:
                raise ValidationError(f'{where} has an unknown key "{key}"')
            _check(item, schema[key], f"{where}: {key}")
    elif not isinstance(value, schema):
        raise ValidationError(f"{where} is not a {'string' if schema is str else 'boolean'}")
