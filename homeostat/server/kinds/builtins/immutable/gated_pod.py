"""What may change of a Pod that waits at its scheduling gates: it may get more selective, and gates may go."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.immutable.equality import is_same
from homeostat.server.kinds.builtins.members import items, numbered, struct, text

_SELECTOR = "spec.nodeSelector"
_TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


def check_gates(after: JsonObject, before: JsonObject) -> list[Cause]:
    known = {text(gate, "name") for _, gate in numbered(before, "schedulingGates", "spec")}
    return [
        forbidden(f"{at}.name", f"only deletion is allowed, but found new scheduling gate '{text(gate, 'name')}'")
        for at, gate in numbered(after, "schedulingGates", "spec")
        if text(gate, "name") not in known
    ]


def check_selective(after: JsonObject, before: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    selector, former = struct(after, "nodeSelector"), struct(before, "nodeSelector")
    if any(selector.get(name) != value for name, value in former.items()):
        message = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        causes.append(invalid(_SELECTOR, selector, message))
    terms, had = _terms(after), _terms(before)
    if had and len(terms) != len(had):
        message = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [*causes, invalid(_TERMS, terms, message)]
    for index, (term, one) in enumerate(zip(terms, had, strict=False)):
        if not _has_only_additions(struct(term), struct(one)):
            message = "only additions are allowed (no mutations or deletions)"
            causes.append(invalid(f"{_TERMS}[{index}]", term, message))
    return causes


def fixed_affinity(spec: JsonObject) -> JsonObject:
    """The affinity without that to nodes."""
    return {name: value for name, value in struct(spec, "affinity").items() if name != "nodeAffinity"}


def _terms(spec: JsonObject) -> list[Json]:
    affinity = struct(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    return items(affinity, "nodeSelectorTerms")


def _has_only_additions(term: JsonObject, former: JsonObject) -> bool:
    names = ("matchExpressions", "matchFields")
    if not any(items(former, name) for name in names):
        # Nothing matches an empty term, so anything more would select more.
        return not any(items(term, name) for name in names)
    return all(is_same(items(term, name)[: len(items(former, name))], items(former, name)) for name in names)
