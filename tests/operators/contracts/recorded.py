"""Recorded cases, and a registry of bundles in memory that their references are resolved from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeostat.objects.versions.constraint import best_tag
from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.document.reader import read_value
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.reference import InvalidReferenceError, is_oci, location, parse_oci
from homeostat.operators.contracts.engine.validate import load

_GOLDEN = Path(__file__).parent / "golden"
REGISTRY = "registry.test"


def recorded(name: str, registry: str = REGISTRY) -> Any:
    """The cases of a file, with addresses that a reference can hold."""
    return json.loads((_GOLDEN / f"{name}.json").read_text().replace("@REGISTRY@", registry))


def recorded_as_is(name: str) -> Any:
    return json.loads((_GOLDEN / f"{name}.json").read_text())


def files_of(texts: Mapping[str, str] | None) -> dict[str, bytes]:
    return {path: text.encode() for path, text in (texts or {}).items()}


class Bundles:
    """Bundles of a registry, by repository and tag, as a case pushes them."""

    def __init__(self, pushed: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self._tags: dict[str, dict[str, Files]] = {}
        for name, texts in (pushed or {}).items():
            self.push(name, texts)

    def push(self, name: str, texts: Mapping[str, str]) -> None:
        repository, _, tag = name.rpartition(":")
        self._tags.setdefault(repository, {})[tag] = files_of(texts)

    def fetch(self, ref: str) -> Bundle | Unresolved:
        if not is_oci(ref):
            return Unresolved("a local directory")
        try:
            found = parse_oci(location(ref))
        except InvalidReferenceError as error:
            return Unresolved(str(error))
        tags = self._tags.get(found.repository, {})
        tag = found.tag or best_tag(tags)
        if tag is None or tag not in tags:
            return Unresolved("not found")
        try:
            return Bundle(load(tags[tag]).contract, tags[tag])
        except ParseError as error:
            return Unresolved(str(error))


def comparable_lines(text: str) -> list[str]:
    """The days that remain depend on the day."""
    return [line for line in text.strip().splitlines() if "days remaining" not in line]


def lock_data(lock: bytes) -> Any:
    """A lock as data; the version of the tool is its own."""
    return {**read_value(lock), "pacto": None}


def comparable(value: Any) -> Any:
    """Without order, messages and days that remain."""
    if isinstance(value, dict):
        free = ("Message", "message", "error", "daysRemaining")
        return {key: bool(item) if key in free else comparable(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((comparable(item) for item in value), key=lambda each: json.dumps(each, sort_keys=True))
    return value


def finding_pairs(findings: list[dict[str, str]]) -> set[tuple[str, str]]:
    return {(each["code"], each["path"]) for each in findings}


def comparable_difference(result: dict[str, Any]) -> dict[str, Any]:
    return {
        "classification": result["classification"],
        "changes": _changes(result),
        "dependencyDiffs": {
            each["name"]: (each["classification"], _changes(each)) for each in result.get("dependencyDiffs", [])
        },
        "graphDiff": _ordered(result["graphDiff"]),
        "sbomDiff": _ordered(result.get("sbomDiff")),
    }


def _changes(result: dict[str, Any]) -> list[str]:
    return sorted(map(_change, result["changes"] or []))


def _change(change: dict[str, Any]) -> str:
    """Absent, null, empty and zero are one; summaries of modified API nodes are free text."""
    is_free = change["path"].startswith("openapi.") and change["type"] == "modified"
    values = [] if is_free else [change.get(key) or None for key in ("oldValue", "newValue")]
    return json.dumps([change["path"], change["type"], change["classification"], *values], sort_keys=True)


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return sorted(map(_ordered, value), key=lambda each: json.dumps(each, sort_keys=True))
    if isinstance(value, dict):
        return {key: _ordered(item) for key, item in value.items()}
    return value
