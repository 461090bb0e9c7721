"""Serves the kinds that operators compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homeostat.server.kinds.custom.behaviour import CustomBehaviour
from homeostat.server.kinds.registry import Kind, Registry

if TYPE_CHECKING:
    from homeostat.runtime.setup import Setup


def serve_computed(registry: Registry, setup: Setup) -> None:
    """Those of an operator that was set up again replace the former ones."""
    kinds = [
        Kind(
            group=kind.group,
            version=kind.version,
            kind=kind.kind,
            plural=kind.plural,
            namespaced=kind.is_namespaced,
            verbs=("get", "list"),
            custom=True,
            behaviour=CustomBehaviour(computed.schema, ()),
            raw_schema=computed.schema,
            compute=computed.read,
        )
        for kind, computed in setup.computed.items()
    ]
    if kinds:
        registry.add(kinds)
