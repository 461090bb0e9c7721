"""A change between two contracts, and the table that classifies it. Pure.

Changes that the table does not list are POTENTIAL_BREAKING. JSON Schemas and values of configurations have no rows in
it: `json_diff.py` classifies their changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from homeostat.objects.json import Json

Kind = Literal["added", "removed", "modified"]
Classification = Literal["NON_BREAKING", "POTENTIAL_BREAKING", "BREAKING"]

NON_BREAKING: Final = "NON_BREAKING"
POTENTIAL_BREAKING: Final = "POTENTIAL_BREAKING"
BREAKING: Final = "BREAKING"
_ORDER: Final[tuple[Classification, ...]] = (NON_BREAKING, POTENTIAL_BREAKING, BREAKING)


class Change(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    type: Kind
    old_value: Json = None
    new_value: Json = None
    classification: Classification
    reason: str


def worst(classifications: Iterable[Classification]) -> Classification:
    return max(classifications, key=_ORDER.index, default=NON_BREAKING)


def make_change(
    path: str, kind: Kind, old: Json = None, new: Json = None, *, rule: str = "", subject: str = ""
) -> Change:
    """Make a change, classified by the row `rule` of the table. Rule and subject are the path of a contract field."""
    return Change(
        path=path,
        type=kind,
        old_value=old,
        new_value=new,
        classification=classify(rule or path, kind),
        reason=f"{subject or path} {kind}",
    )


def classify(path: str, kind: Kind) -> Classification:
    """Look a change up in the table; keys in brackets are ignored (`readiness.checks[a]` is `readiness.checks`)."""
    letters = _TABLE.get(path) or _TABLE.get(_without_keys("", path), "PPP")
    letter = letters[("added", "modified", "removed").index(kind)]
    return {"N": NON_BREAKING, "P": POTENTIAL_BREAKING, "B": BREAKING}[letter]  # type: ignore[return-value]


def text_kind(old: str, new: str) -> Kind:
    return "added" if not old else "removed" if not new else "modified"


_without_keys = re.compile(r"\[[^\]]*\]").sub

_TABLE: Final[dict[str, str]] = {
    # Added, modified, removed.
    "pactoVersion": "NNN",
    "service.name": "PBP",
    "service.version": "PNP",
    "service.owner.team": "NNN",
    "service.owner.dri": "NNN",
    "service.owner.contacts": "NNN",
    "service.image": "NNN",
    "service.chart": "NNN",
    "interfaces": "NPB",
    "interfaces.type": "PBP",
    "interfaces.port": "PBB",
    "interfaces.visibility": "PPP",
    "interfaces.contract": "PPP",
    "configurations": "NPB",
    "configurations.schema": "PPP",
    "configurations.ref": "NPB",
    "policies": "NPP",
    "policies.schema": "PPP",
    "policies.ref": "NPP",
    "runtime.workload": "PBP",
    "runtime.state.type": "PBP",
    "runtime.state.persistence.scope": "PBP",
    "runtime.state.persistence.durability": "PBP",
    "runtime.state.dataCriticality": "PPP",
    "runtime.lifecycle.upgradeStrategy": "NPP",
    "runtime.lifecycle.gracefulShutdownSeconds": "NNN",
    "runtime.health.interface": "NPP",
    "runtime.health.path": "NPP",
    "runtime.health.initialDelaySeconds": "NNN",
    "runtime.metrics.interface": "NPP",
    "runtime.metrics.path": "NPP",
    "scaling": "NPP",
    "scaling.replicas": "PPP",
    "scaling.min": "PPP",
    "scaling.max": "PNP",
    "dependencies": "NPB",
    "dependencies.ref": "PPP",
    "dependencies.compatibility": "PPP",
    "dependencies.required": "PPP",
    "readiness": "NNN",
    "readiness.minScore": "NNN",
    "readiness.expires": "NNN",
    "readiness.partialCredit": "NNN",
    "readiness.checks": "NNN",
    "openapi.paths": "NPB",
    "openapi.methods": "NPB",
    "openapi.parameters": "PPB",
    "openapi.request-body": "PPP",
    "openapi.responses": "NPB",
}
