"""`SyncRecord`: a part of what the operator remembers of a SyncPolicy, which owns it. Pure data.

It has a kind of its own, and is no ConfigMap, so that the operator needs no permission to write ConfigMaps, and whoever
may write ConfigMaps cannot make the operator delete objects of a server.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from homeostat.objects.crd.custom_kind import AGE_COLUMN, Column, CustomKind
from homeostat.objects.declared import Declared
from homeostat.objects.kind import Kind
from homeostat.operators.sync.api.parts import Name, Part, doc

GROUP: Final = "sync.homeostat.dev"
POLICY_UID: Final = f"{GROUP}/policy-uid"
"""A label: the uid of the SyncPolicy."""
LARGEST_PART: Final = 512 << 10
"""Bytes of one part, before base64."""
MOST_PARTS: Final = 128


class RecordSpec(Part, frozen=True, kw_only=True):
    policy: Annotated[Name, doc("The SyncPolicy.")]
    sequence: Annotated[int, Meta(ge=0), doc("Which generation of the record this is; the highest counts.")]
    part: Annotated[int, Meta(ge=0, lt=MOST_PARTS), doc("Which part this is, from 0.")]
    parts: Annotated[int, Meta(ge=1, le=MOST_PARTS), doc("How many parts there are.")]
    digest: Annotated[str, Meta(max_length=64), doc("The SHA-256 of all parts together.")]
    data: Annotated[str, Meta(max_length=LARGEST_PART * 4 // 3 + 8), doc("The part: compressed JSON in base64.")]


class SyncRecord(Declared, frozen=True, kw_only=True):
    spec: RecordSpec


SYNC_RECORD: Final = CustomKind(
    Kind(GROUP, "v1", "syncrecords", "SyncRecord", is_namespaced=True),
    spec=RecordSpec,
    status=None,
    columns=(Column("Policy", ".spec.policy"), Column("Part", ".spec.part", "integer"), AGE_COLUMN),
    description="What the operator remembers of a SyncPolicy: which objects of the server it created.",
    written_by="nobody",
)
