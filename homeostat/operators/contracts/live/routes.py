"""Which Pactos a change concerns: those that name the object, or follow the repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.engine.reference import parse_parts, registry_reference
from homeostat.operators.contracts.live.options import RunningStatus, running_status
from homeostat.runtime.cache.cache import Cache, Change
from homeostat.runtime.cache.index import KeysOf

_TARGET: Final = "contracts-target"
_SECRET: Final = "contracts-secret"  # noqa: S105 - the name of an index
_CONFIG_MAP: Final = "contracts-config-map"
_REPOSITORY: Final = "contracts-repository"
_CAN_DEPLOY: Final = "contracts-can-deploy"


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

    def config_map_changed(self, namespace: str, name: str) -> None:
        self._enqueue_all(_CONFIG_MAP, (namespace, name))

    def repository_changed(self, name: str) -> None:
        self._enqueue_all(_REPOSITORY, name)

    def pacto_changed(self, change: Change[Pacto]) -> None:
        """Another version runs: those that check whether they can be deployed beside it are reconciled."""
        followers = self._pactos.indexed_names(_CAN_DEPLOY, change.namespace)
        if not followers or _running(change.old) == _running(change.new):
            return
        for owner in followers:
            if owner[1] != change.name:
                self.enqueue(owner)

    def _enqueue_all(self, index: str, key: Any) -> None:
        for owner in self._pactos.indexed_names(index, key):
            self.enqueue(owner)


def _targets(pacto: Pacto) -> tuple[tuple[str, str], ...]:
    target, namespace = pacto.target, pacto.metadata.namespace
    if target is None:
        return ()
    return tuple(dict.fromkeys((namespace, name) for name in (target.service, target.workload) if name))


def _secrets(pacto: Pacto) -> tuple[tuple[str, str], ...]:
    names = {pacto.spec.contract_ref.pull_secret_ref, _key_of(pacto, "Secret")} - {""}
    return tuple((pacto.metadata.namespace, name) for name in names)


def _config_maps(pacto: Pacto) -> tuple[tuple[str, str], ...]:
    name = _key_of(pacto, "ConfigMap")
    return ((pacto.metadata.namespace, name),) if name else ()


def _key_of(pacto: Pacto, kind: str) -> str:
    ref = pacto.spec.contract_ref.verify_key_ref
    return ref.name if ref is not None and ref.kind == kind else ""


def _repositories(pacto: Pacto) -> tuple[str, ...]:
    return (parse_parts(registry_reference(pacto.oci)).name,) if pacto.oci else ()


def _namespaces(pacto: Pacto) -> tuple[str, ...]:
    checks = pacto.spec.checks
    return (pacto.metadata.namespace,) if checks is not None and checks.can_deploy else ()


def _running(pacto: Pacto | None) -> RunningStatus | None:
    return None if pacto is None or pacto.target is None else running_status(pacto)


INDEXES: Final[Mapping[str, KeysOf[Pacto]]] = {
    _TARGET: _targets,
    _SECRET: _secrets,
    _CONFIG_MAP: _config_maps,
    _REPOSITORY: _repositories,
    _CAN_DEPLOY: _namespaces,
}
"""Indexes of Pactos: by what they name."""
