"""Makes the object that a declaration asks for, and compares it with an existing one. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.declared import NOTHING
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.objects.kind import Kind
from homeostat.operators.actions.digest import digest_of
from homeostat.operators.actions.inputs.api import DIGEST, INPUT, SOURCE
from homeostat.operators.actions.inputs.plugins.reading import Declaration
from homeostat.operators.actions.plugins.difference import differences

_LONGEST_SOURCE = 1024


class FoundMetadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Found(msgspec.Struct, frozen=True):
    """The fields of an existing resource that inputs set. Spec and action stay encoded, because most are unchanged."""

    metadata: FoundMetadata
    spec: msgspec.Raw = NOTHING
    action: msgspec.Raw = NOTHING


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """An existing resource. `owner` is the input that created it; empty if no input did."""

    uid: str
    owner: str = ""
    is_terminating: bool = False
    is_same: bool = False
    """It matches its declaration, after the changes that the server makes."""


def wanted_object(declaration: Declaration, kind: Kind, namespace: str, owner: str) -> JsonObject:
    """Returns all fields that the input sets, for server-side apply."""
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


def live_of(
    found: Found, declaration: Declaration | None = None, *, digest: str = "", is_settled: bool = False
) -> Live:
    """`digest` is the digest of the declaration. `is_settled`: the generation has not changed since the declaration was
    applied, so applying it again would change neither spec nor action.
    """
    metadata = found.metadata
    is_same = declaration is not None and metadata.annotations.get(DIGEST) == digest
    if is_same and declaration is not None:
        is_same = _is_as_declared(declaration.body, found, is_settled=is_settled)
    return Live(
        uid=metadata.uid,
        owner=metadata.labels.get(INPUT, ""),
        is_terminating=metadata.deletion_timestamp is not None,
        is_same=is_same,
    )


def _is_as_declared(body: JsonObject, found: Found, *, is_settled: bool) -> bool:
    for word, existing in (("labels", found.metadata.labels), ("annotations", found.metadata.annotations)):
        if word in body and any(differences(body[word], existing)):
            return False
    if is_settled:
        return True
    parts = (("spec", found.spec), ("action", found.action))
    return not any(
        any(differences(body[word], decode_stored(bytes(existing) or b"{}")))
        for word, existing in parts
        if word in body
    )
