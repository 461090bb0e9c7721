"""Compares the software bills of materials of two bundles; changes are informational and not classified. Pure.

The SBOM is the first file of `sbom/` in SPDX 2.3 (`*.spdx.json`) or CycloneDX 1.5 (`*.cdx.json`).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from homeostat.objects.json import Json
from homeostat.operators.contracts.engine.files import Files, below
from homeostat.operators.contracts.engine.schema.json_file import InvalidJsonError, read_json

_DIRECTORY: Final = "sbom"
_FORMATS: Final = {".spdx.json": "spdx", ".cdx.json": "cyclonedx"}


class Package(msgspec.Struct, frozen=True):
    name: str
    version: str = ""
    license: str = ""
    supplier: str = ""


class Sbom(msgspec.Struct, frozen=True):
    format: str
    packages: tuple[Package, ...]
    is_readable: bool = True


class SbomChange(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    package: str
    type: Literal["added", "removed", "modified"]
    field: str = ""
    old_value: str = ""
    new_value: str = ""


class SbomDifference(msgspec.Struct, kw_only=True, omit_defaults=True, rename="camel"):
    old_format: str = ""
    new_format: str = ""
    changes: list[SbomChange] | None = None


def read_sbom(files: Files) -> Sbom | None:
    """Return the SBOM; None if there is none."""
    for path in sorted(below(files, _DIRECTORY)):
        name = path.removeprefix(f"{_DIRECTORY}/")
        found = next((each for ending, each in _FORMATS.items() if name.endswith(ending)), None)
        if found is None or "/" in name:
            continue
        try:
            value = read_json(files[path])
        except InvalidJsonError:
            return Sbom(found, (), is_readable=False)
        return Sbom(found, tuple(_spdx(value) if found == "spdx" else _cyclonedx(value)))
    return None


def compare_sboms(old: Sbom | None, new: Sbom | None) -> SbomDifference | None:
    """Return None if there is nothing to compare. A file that cannot be read says nothing about packages."""
    if (old is None and new is None) or not all(each.is_readable for each in (old, new) if each is not None):
        return None
    before = {each.name: each for each in old.packages} if old else {}
    after = {each.name: each for each in new.packages} if new else {}
    names = sorted(before.keys() | after.keys())
    changes = [change for name in names for change in _compare(before.get(name), after.get(name))]
    return SbomDifference(
        old_format=old.format if old else "", new_format=new.format if new else "", changes=changes or None
    )


def _compare(old: Package | None, new: Package | None) -> list[SbomChange]:
    if old is None:
        assert new is not None
        return [SbomChange(package=new.name, type="added", field="package", new_value=new.version)]
    if new is None:
        return [SbomChange(package=old.name, type="removed", field="package", old_value=old.version)]
    return [
        SbomChange(package=old.name, type="modified", field=field, old_value=before, new_value=after)
        for field, before, after in (
            ("license", old.license, new.license),
            ("supplier", old.supplier, new.supplier),
            ("version", old.version, new.version),
        )
        if before != after
    ]


def _spdx(value: Json) -> list[Package]:
    return [
        Package(
            _text(each, "name"),
            _text(each, "versionInfo"),
            _text(each, "licenseConcluded"),
            _supplier(_text(each, "supplier")),
        )
        for each in _items(value, "packages")
    ]


def _supplier(text: str) -> str:
    """Return the supplier without `Organization: ` or `Person: `."""
    kind, colon, name = text.partition(": ")
    return name if colon else kind


def _cyclonedx(value: Json) -> list[Package]:
    return [
        Package(_text(each, "name"), _text(each, "version"), _licenses(each), _text(each.get("supplier"), "name"))
        for each in _items(value, "components")
    ]


def _licenses(component: Json) -> str:
    names = []
    for each in _items(component, "licenses"):
        license_ = each.get("license")
        names.append(_text(each, "expression") or _text(license_, "id") or _text(license_, "name"))
    return " AND ".join(filter(None, names))


def _items(value: Json, key: str) -> list[Json]:
    found = value.get(key) if isinstance(value, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _text(value: Json, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
