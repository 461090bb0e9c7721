"""Which Pactos a change concerns: those that name the object, or follow the repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.engine.reference import parse_parts, registry_reference
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.cache.index import KeysOf

_TARGET: Final = "contracts-target"
_SECRET: Final = "contracts-secret"  # noqa: S105 - the name of an index
_REPOSITORY: Final = "contracts-repository"


class Enqueues(Protocol):
    """A controller of Pactos."""

    def enqueue(self, namespace: str, name: str, *, after_s: float = 0.0) -> None: ...


class PactoRoutes:
    def __init__(self, pactos: Cache[Pacto]) -> None:
        self._pactos = pactos
        self._controller: Enqueues | None = None

    def start(self, controller: Enqueues) -> None:
        self._controller = controller

    def enqueue(self, owner: tuple[str, str]) -> None:
        if self._controller is not None:
            self._controller.enqueue(*owner)

    def target_changed(self, namespace: str, name: str) -> None:
        self._enqueue_all(_TARGET, (namespace, name))

    def secret_changed(self, namespace: str, name: str) -> None:
        self._enqueue_all(_SECRET, (namespace, name))

    def repository_changed(self, name: str) -> None:
        self._enqueue_all(_REPOSITORY, name)

    def _enqueue_all(self, index: str, key: Any) -> None:
        for owner in self._pactos.indexed_names(index, key):
            self.enqueue(owner)


def _targets(pacto: Pacto) -> tuple[tuple[str, str], ...]:
    target, namespace = pacto.target, pacto.metadata.namespace
    if target is None:
        return ()
    return tuple(dict.fromkeys((namespace, name) for name in (target.service, target.workload) if name))


def _secrets(pacto: Pacto) -> tuple[tuple[str, str], ...]:
    name = pacto.spec.contract_ref.pull_secret_ref
    return ((pacto.metadata.namespace, name),) if name else ()


def _repositories(pacto: Pacto) -> tuple[str, ...]:
    return (parse_parts(registry_reference(pacto.oci)).name,) if pacto.oci else ()


INDEXES: Final[Mapping[str, KeysOf[Pacto]]] = {_TARGET: _targets, _SECRET: _secrets, _REPOSITORY: _repositories}
"""Indexes of Pactos: by what they name."""
