"""The operator under measure on kopf's side: it stamps the status of every widget.

    python -m kopf run --standalone --quiet -n bench benchmarks/runtime/kopf_operator.py

Configured for many objects: no peering, no Events, lists in chunks, no scan for new kinds, coroutines for handlers, and
uvloop, which kopf takes where it is installed. Workers are without a limit, as by default: a worker stays with its
object until that was idle for seconds, so a limit makes it slower by far. Progress and the last handled state are
stored as they are by default. Nothing of ours is imported, so that its memory is kopf's own.
"""

# mypy: disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any

import kopf

_WIDGETS = ("bench.example.com", "v1", "widgets")


@kopf.on.startup()
async def prepare(settings: Any, **_: Any) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.watching.chunk_size = 500


@kopf.on.create(*_WIDGETS)
@kopf.on.update(*_WIDGETS, field="spec")
async def stamp(spec: Any, meta: Any, patch: Any, **_: Any) -> None:
    patch.status["phase"] = spec.get("benchSeq") or "Ready"
    patch.status["observedGeneration"] = meta["generation"]
