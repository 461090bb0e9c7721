"""A declaration as the object that it wants, and whether an object that is there is it. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.actions.digest import digest_of
from homeostat.operators.actions.inputs.api import DIGEST, INPUT, SOURCE
from homeostat.operators.actions.inputs.plugin import Declaration
from homeostat.operators.actions.plugins.declared import differences

_LONGEST_SOURCE = 1024


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a resource that is there. `owner` is the input that made it; empty for somebody else."""

    uid: str
    owner: str = ""
    is_going: bool = False
    is_same: bool = False
    """It is as declared, or as near to that as the server lets it be."""


def wanted_object(declaration: Declaration, kind: Kind, namespace: str, owner: str) -> JsonObject:
    """All that the input has a say in: for server-side apply."""
    body = declaration.body
    marks = {DIGEST: declared_digest(declaration), SOURCE: declaration.source[:_LONGEST_SOURCE]}
    return {
        "apiVersion": f"{kind.group}/{declaration.version}",
        "kind": kind.kind,
        "metadata": {
            "name": declaration.name,
            "namespace": namespace,
            "labels": {**body.get("labels", {}), INPUT: owner},
            "annotations": {**body.get("annotations", {}), **marks},
        },
        **{word: body[word] for word in ("spec", "action") if word in body},
    }


def declared_digest(declaration: Declaration) -> str:
    return digest_of([declaration.version, declaration.source, declaration.body])[:16]


def live_of(found: JsonObject, declaration: Declaration | None = None, *, is_settled: bool = False) -> Live:
    """`is_settled`: nothing has changed in it since the declaration was last applied, so that would change nothing."""
    metadata = found["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    is_same = False
    if declaration is not None and annotations.get(DIGEST) == declared_digest(declaration):
        is_same = is_settled or _is_as_declared(declaration, found)
    return Live(
        uid=metadata.get("uid", ""),
        owner=labels.get(INPUT, ""),
        is_going=bool(metadata.get("deletionTimestamp")),
        is_same=is_same,
    )


def _is_as_declared(declaration: Declaration, found: JsonObject) -> bool:
    body, metadata = declaration.body, found["metadata"]
    held = {word: metadata.get(word) or {} for word in ("labels", "annotations")}
    return not any(differences(body, {**held, "spec": found.get("spec"), "action": found.get("action")}))
