"""The contents of a bundle that details show: interface files with their operations, documents, packages. Pure.

Texts and lists have limits: a bundle may hold tens of megabytes, and a page of details shows it all.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.diff.sbom import read_sbom
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.readiness import assess
from homeostat.operators.contracts.engine.views.doc import endpoints
from homeostat.operators.contracts.engine.views.readiness import readiness_fields
from homeostat.operators.contracts.engine.views.status import contract_fields

MAX_DOCS: Final = 50
MAX_TEXT_BYTES: Final = 256 * 1024
"""Of one file that is shown; more of a document is cut off, and any other file is not shown."""
MAX_PACKAGES: Final = 1000


def bundle_fields(bundle: Bundle, today: date) -> JsonObject:
    """What the contract declares, as the status of a Pacto has it."""
    fields = contract_fields(bundle.contract, bundle.files, overridden={})
    assessment = assess(bundle.contract, today)
    if assessment is not None:
        fields["readiness"] = readiness_fields(assessment)
    return {key: value for key, value in fields.items() if key not in ("contract", "contractVersion")}


def add_contents(fields: JsonObject, bundle: Bundle) -> JsonObject:
    """The fields with the contents of files; a new value."""
    by_name = {each.name: each for each in bundle.contract.interfaces}
    shown = dict(fields)
    shown["interfaces"] = [
        each | _interface(bundle, by_name[each["name"]].name) if each.get("name") in by_name else each
        for each in fields.get("interfaces") or []
    ]
    shown["policies"] = [each | _policy(bundle, each.get("schema", "")) for each in fields.get("policies") or []]
    chart = bundle.contract.service.chart
    extra: JsonObject = {
        "chartRef": chart.ref if chart is not None else "",
        "docs": list(_documents(bundle.files)),
        "sbom": _packages(bundle.files),
    }
    return shown | {key: value for key, value in extra.items() if value}


def _interface(bundle: Bundle, name: str) -> JsonObject:
    interface = bundle.contract.interface(name)
    if interface is None or not interface.contract:
        return {}
    found: JsonObject = {"contractFile": interface.contract}
    text = _text(bundle.files, interface.contract)
    if text:
        found["contractContent"] = text
    operations = endpoints(bundle, interface)
    return found | ({"endpoints": [msgspec.to_builtins(each) for each in operations]} if operations else {})


def _policy(bundle: Bundle, path: str) -> JsonObject:
    text = _text(bundle.files, path)
    return {"content": text} if text else {}


def _documents(files: Files) -> Iterator[JsonObject]:
    paths = sorted(each for each in files if each.startswith("docs/") and each.lower().endswith(".md"))
    for path in paths[:MAX_DOCS]:
        data = files[path]
        text = data[:MAX_TEXT_BYTES].decode(errors="replace")
        cut = {"truncated": True} if len(data) > MAX_TEXT_BYTES else {}
        yield {"path": path, "title": _title(text, path), "content": text, **cut}


def _title(text: str, path: str) -> str:
    heading = next((each[2:].strip() for each in text.splitlines() if each.startswith("# ")), "")
    return heading or path.rpartition("/")[2][: -len(".md")].replace("-", " ").replace("_", " ")


def _packages(files: Files) -> JsonObject | None:
    sbom = read_sbom(files)
    if sbom is None or not sbom.is_readable:
        return None
    packages = [msgspec.to_builtins(each) for each in sbom.packages]
    return {"format": sbom.format, "count": len(packages), "packages": packages[:MAX_PACKAGES]}


def _text(files: Files, path: str) -> str:
    data = files.get(path, b"") if path else b""
    if len(data) > MAX_TEXT_BYTES:
        return ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""
