"""Observes the world of a Pacto: its contract, what runs, and its revisions. It waits for nothing but caches.

Registries and endpoints are asked in the background (`loading/`, `probes/`); a reconciliation uses what they last
answered, and the Pacto is enqueued when that changes. After a start, the stored status has the last answers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from homeostat.objects.conditions import Condition
from homeostat.objects.decision import Wait
from homeostat.operators.contracts.api import REQUESTED, Pacto, PactoRevision
from homeostat.operators.contracts.engine.checks.endpoint import Outcome, plan_probes
from homeostat.operators.contracts.engine.checks.evaluate import Failure, Observed, Prepared
from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.snapshot import Snapshot
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.engine.reference import parse_parts, registry_reference
from homeostat.operators.contracts.live.drifts import Drifts
from homeostat.operators.contracts.live.options import options_of
from homeostat.operators.contracts.live.pull_secrets import Credential, PullSecrets
from homeostat.operators.contracts.live.targets import Targets
from homeostat.operators.contracts.live.trust import Trust, TrustedKeys
from homeostat.operators.contracts.loading.content import Content, Version
from homeostat.operators.contracts.loading.loader import Load, Loader
from homeostat.operators.contracts.loading.preparation import Preparations, overrides_of
from homeostat.operators.contracts.probes.prober import Prober
from homeostat.operators.contracts.revisions.plan import is_recorded
from homeostat.operators.contracts.settings import Settings
from homeostat.operators.contracts.signature import judge_signature
from homeostat.operators.contracts.sources.errors import UntrustedError
from homeostat.operators.contracts.stored import is_loaded, outcomes_of
from homeostat.operators.contracts.world import World
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.control.writes import may_write

BY_PACTO: Final = "contracts-by-pacto"
_RETRY: Final = timedelta(seconds=10)
_SOONEST_S: Final = 0.5
_UNSEEN_RETRY_S: Final = 5.0


def _retry(load: Load) -> timedelta:
    return _RETRY if load.due_in_s is None else min(_RETRY, timedelta(seconds=max(load.due_in_s, _SOONEST_S)))


class _Source(msgspec.Struct, frozen=True):
    prepared: Prepared
    version: Version | None = None
    versions: tuple[Version, ...] = ()
    due_in_s: float | None = None
    fault: str = ""
    has_secret: bool = True
    signature: Condition | None = None
    files: Files | None = None
    """Of the bundle."""


class Observer:
    def __init__(
        self,
        targets: Targets,
        loader: Loader,
        prober: Prober,
        *,
        secrets: PullSecrets,
        keys: TrustedKeys,
        drifts: Drifts,
        pactos: Cache[Pacto],
        revisions: Cache[PactoRevision],
        settings: Settings,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._targets, self._loader, self._prober = targets, loader, prober
        self._secrets, self._keys, self._pactos, self._revisions = secrets, keys, pactos, revisions
        self._drifts, self._settings, self._now = drifts, settings, now
        self._preparations = Preparations()
        self._requests: dict[tuple[str, str], str] = {}
        self._recording: dict[tuple[str, str], Version] = {}
        """Versions whose revision is being created."""

    async def observe(self, pacto: Pacto) -> World:
        source = await self._source(pacto)
        held = self._held(pacto)
        is_new = self._is_new(pacto, source, held)
        observed, due_in_s = (None, None) if is_new else await self._observed(pacto, source)
        dues = [each for each in (source.due_in_s, due_in_s) if each is not None]
        return World(
            now=self._now(),
            prepared=source.prepared,
            version=source.version,
            fault=source.fault,
            versions=source.versions,
            observed=observed,
            revisions=held,
            is_new=is_new,
            signature=source.signature,
            has_secret=source.has_secret,
            due_in_s=min(dues, default=None),
            settings=self._settings,
        )

    def forget(self, namespace: str, name: str) -> None:
        self._requests.pop((namespace, name), None)
        self._recording.pop((namespace, name), None)
        self._prober.forget((namespace, name))
        self._drifts.forget(namespace, name)

    def _is_new(self, pacto: Pacto, source: _Source, held: tuple[PactoRevision, ...]) -> bool:
        """True once for a version: if its revision cannot be created, the contract is evaluated all the same.

        Never in a dry run, which has to show the status.
        """
        key, version = (pacto.metadata.namespace, pacto.metadata.name), source.version
        if version is None or not source.prepared.findings.is_valid or is_recorded(key[1], version, held):
            self._recording.pop(key, None)
            return False
        if not may_write():
            return False
        is_new = self._recording.get(key) != version
        self._recording[key] = version
        return is_new

    async def _source(self, pacto: Pacto) -> _Source:
        ref, overridden = pacto.spec.contract_ref, overrides_of(pacto.spec)
        credential = await self._credential(pacto)
        if isinstance(credential, Failure):
            found = await self._preparations.bundle(Content(credential), overridden)
            return _Source(found.prepared, has_secret=False)
        if ref.inline:
            found = await self._preparations.inline(ref.inline, overridden)
            return _Source(found.prepared, found.version)
        trust = await self._trust(pacto)
        if isinstance(trust, Failure):
            found = await self._preparations.bundle(Content(trust), overridden)
            return _Source(found.prepared, signature=judge_signature(trust))
        load = await self._load(pacto, credential, trust)
        found = await self._preparations.bundle(load.content, overridden)
        signature = None if trust is None else judge_signature(load.content.loaded)
        files = None if isinstance(load.content.loaded, Failure) else load.content.loaded.files
        return _Source(
            found.prepared, found.version, load.versions, load.due_in_s, load.fault, signature=signature, files=files
        )

    async def _trust(self, pacto: Pacto) -> Trust | Failure | None:
        ref = pacto.spec.contract_ref.verify_key_ref
        return None if ref is None or not pacto.oci else await self._keys.read(pacto.metadata.namespace, ref)

    async def _credential(self, pacto: Pacto) -> Credential | Failure | None:
        """A Secret that is named has to be usable, whether its credential is needed or not."""
        name = pacto.spec.contract_ref.pull_secret_ref
        if not name:
            return None
        found = await self._secrets.read(pacto.metadata.namespace, name)
        if isinstance(found, Failure) or not pacto.oci:
            return found
        return found.failure_for(registry_reference(pacto.oci)) or found

    async def _load(self, pacto: Pacto, credential: Credential | None, trust: Trust | None) -> Load:
        if not pacto.oci:
            return Load(Content(Failure("the contract has no source; set spec.contractRef.oci or inline")))
        self._refresh_if_requested(pacto)
        load = await self._loader.load(pacto.oci, credential, pacto.spec.check_interval_seconds, trust)
        if load is None:
            raise Wait("LoadingContract", _RETRY, message=f"Loading the contract from {pacto.oci}")
        failure = load.content.loaded
        if isinstance(failure, Failure) and failure.is_transient and failure.reason == UntrustedError.reason:
            raise Wait("SignaturePending", _retry(load), message=f"Waiting for a signature: {failure.message}")
        if isinstance(failure, Failure) and failure.is_transient and is_loaded(pacto):
            # An unreachable registry says nothing about a contract: the verdict stays, and a condition says why.
            raise Wait("RegistryUnreachable", _RETRY, message=f"The status is out of date: {failure.message}")
        return load

    def _refresh_if_requested(self, pacto: Pacto) -> None:
        """A new value of the annotation asks the registry at once. The first that is seen may be an old one."""
        key, value = (pacto.metadata.namespace, pacto.metadata.name), pacto.metadata.annotations.get(REQUESTED, "")
        before = self._requests.get(key)
        self._requests[key] = value
        if before is not None and before != value:
            self._loader.refresh(parse_parts(registry_reference(pacto.oci)).name)

    async def _observed(self, pacto: Pacto, source: _Source) -> tuple[Observed | None, float | None]:
        """What runs, and when to observe it again although nothing changes; None for an invalid contract."""
        prepared, contract = source.prepared, source.prepared.contract
        target, namespace = pacto.target, pacto.metadata.namespace
        owner = (namespace, pacto.metadata.name)
        if target is None or contract is None or not prepared.findings.is_valid:
            self._prober.forget(owner)
            self._drifts.forget(*owner)
            return None, None
        snapshot = await self._targets.snapshot(target, namespace)
        if isinstance(snapshot, Failure):
            return Observed(target=target, namespace=namespace, snapshot=snapshot), _UNSEEN_RETRY_S
        outcomes = self._outcomes(pacto, prepared, target, snapshot)
        options, changes_in_s = options_of(pacto, self._pactos, self._now())
        service = target.service if snapshot.has_service else ""
        if drifts := await self._drifts.read(pacto, contract, source.files, service):
            options = msgspec.structs.replace(options, drifts=drifts)
        observed = Observed(target=target, namespace=namespace, snapshot=snapshot, outcomes=outcomes, options=options)
        interval_s = pacto.spec.check_interval_seconds
        dues = (self._prober.due_in_s(owner, interval_s), self._drifts.due_in_s(pacto), changes_in_s)
        return observed, min((each for each in dues if each is not None), default=None)

    def _outcomes(self, pacto: Pacto, prepared: Prepared, target: Target, snapshot: Snapshot) -> dict[str, Outcome]:
        namespace = pacto.metadata.namespace
        urls: tuple[str, ...] = ()
        if prepared.contract is not None and target.service and snapshot.has_service:
            probes = plan_probes(prepared.contract, target.service, namespace).probes
            urls = tuple(dict.fromkeys(each.url for each in probes))
        owner = (namespace, pacto.metadata.name)
        generation, interval_s = pacto.metadata.generation, pacto.spec.check_interval_seconds
        before = {} if self._prober.knows(owner) else outcomes_of(pacto)
        return self._prober.outcomes(owner, generation, urls, max_age_s=interval_s, before=before)

    def _held(self, pacto: Pacto) -> tuple[PactoRevision, ...]:
        """The revisions of this Pacto, and not those of a former one of the same name, which are being deleted."""
        found = self._revisions.indexed(BY_PACTO, (pacto.metadata.namespace, pacto.metadata.name))
        uid = pacto.metadata.uid
        owned = [
            each
            for each in found
            if not each.metadata.owner_references or any(o.uid == uid for o in each.metadata.owner_references)
        ]
        return tuple(sorted(owned, key=lambda each: each.metadata.name))
