"""Prints the bill of materials: the distribution and its locked dependencies, as CycloneDX 1.6 in JSON.

    python -m tools.write_sbom > dist/sbom.json

It comes from `requirements/all.txt`, by which the image is installed: names, versions, and the accepted hashes.
What is not in `requirements/core.txt` belongs to an extra and has the scope `optional`. The same files give the same
bytes: there is no time in it, and its serial number is made from the content.
"""

from __future__ import annotations

import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Final

import msgspec

from homeostat import __version__
from homeostat.objects.json import JsonObject
from tools.provision import ROOT

_NAME: Final = "homeostat-plane"
_SPACE: Final = uuid.UUID("6f1b8d5e-6a0f-5f0f-9d0c-0b7f6b6b2f6e")
_pinned = re.compile(r"^([A-Za-z0-9._-]+)==(\S+?)(?: ; ([^\\]+?))?(?: \\)?$", re.MULTILINE)
_hash = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill_of_materials() -> JsonObject:
    required = {name for name, _, _, _ in _locked(ROOT / "requirements/core.txt")}
    components = [
        _component(name, version, marker, hashes, is_required=name in required)
        for name, version, marker, hashes in _locked(ROOT / "requirements/all.txt")
    ]
    content = msgspec.json.encode([__version__, components])
    license_id = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    own = {
        "type": "application",
        "bom-ref": _reference(_NAME, __version__),
        "name": _NAME,
        "version": __version__,
        "purl": _reference(_NAME, __version__),
        "licenses": [{"license": {"id": license_id}}],
    }
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_SPACE, content.decode())}",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
    }


def _locked(path: Path) -> list[tuple[str, str, str, list[str]]]:
    """Name, version, marker and hashes of each requirement."""
    text = path.read_text()
    found = list(_pinned.finditer(text))
    ends = [*(each.start() for each in found[1:]), len(text)]
    return [
        (each[1], each[2], each[3] or "", _hash.findall(text, each.end(), end))
        for each, end in zip(found, ends, strict=True)
    ]


def _component(name: str, version: str, marker: str, hashes: list[str], *, is_required: bool) -> JsonObject:
    # One hash for each file of the version: which of them is installed depends on the platform.
    properties = [{"name": "homeostat:sha256", "value": each} for each in hashes]
    if marker:
        properties.append({"name": "homeostat:marker", "value": marker})
    return {
        "type": "library",
        "bom-ref": _reference(name, version),
        "name": name,
        "version": version,
        "purl": _reference(name, version),
        "scope": "required" if is_required else "optional",
        "properties": properties,
    }


def _reference(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def main() -> None:
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(bill_of_materials()), indent=2) + b"\n")


if __name__ == "__main__":
    main()
