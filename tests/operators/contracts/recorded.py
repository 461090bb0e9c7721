"""Recorded cases, and a registry of bundles in memory that their references are resolved from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeostat.objects.versions.constraint import best_tag
from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.reference import InvalidReferenceError, is_oci, location, parse_oci
from homeostat.operators.contracts.engine.validate import load

_GOLDEN = Path(__file__).parent / "golden"
REGISTRY = "registry.test"


def recorded(name: str) -> Any:
    """The cases of a file, with addresses that a reference can hold."""
    return json.loads((_GOLDEN / f"{name}.json").read_text().replace("@REGISTRY@", REGISTRY))


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
