"""Which objects the Pods of a Node refer to, kept up to date with every change of a Pod or a volume.

Nothing is indexed before the first user that is a Node asks (`prepare`). From then on a change costs what it changes: a
Pod whose spec stayed the same, as in every write of a status, is skipped after a comparison of bytes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

import msgspec

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.server.kinds.builtins.mirror import is_mirror
from homeostat.server.kinds.builtins.references import REFERRING, config_maps_of, secrets_of
from homeostat.store.base import Event, Key, Record, Scope, Store, Subscription

log = logging.getLogger(__name__)

PODS: Final = "pods"
SECRETS: Final = "secrets"
CLAIMS: Final = "persistentvolumeclaims"
VOLUMES: Final = "persistentvolumes"
_Item = TypeVar("_Item")
_SLICE = 200
"""Records that are read in one turn of the event loop: some 10 ms."""
_CSI_SECRETS = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")
"""What kubelets use of the Secrets of a CSI driver; the others are for its controller."""


class _Status(msgspec.Struct, gc=False):
    resourceClaimStatuses: msgspec.Raw = msgspec.Raw()  # noqa: N815


class _Pod(msgspec.Struct, gc=False):
    spec: msgspec.Raw = msgspec.Raw()
    status: _Status | None = None


_pods = msgspec.json.Decoder(_Pod)


class _Bound(NamedTuple):
    """A Pod that has a Node."""

    node: str
    refers: frozenset[Key]
    seen: int
    """A hash of what the references are taken from."""


class Graph:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._preparing: asyncio.Task[None] | None = None
        self._subscriptions: list[Subscription] = []
        self._bound: dict[Key, _Bound] = {}
        self._nodes: dict[Key, Counter[str]] = {}
        """How many Pods of each Node refer to an object."""
        self._volumes: dict[str, tuple[Key, frozenset[Key]]] = {}
        """The claim and the Secrets of each bound volume."""
        self._claims: dict[Key, Counter[Key]] = {}
        """The claims whose volumes use a Secret."""

    async def prepare(self) -> None:
        """Index what is stored, once; later calls wait for the first, and cost nothing after it."""
        if self._preparing is None:
            self._preparing = asyncio.ensure_future(self._follow())
        if not self._preparing.done():
            await asyncio.shield(self._preparing)
        elif self._preparing.exception() is not None:
            self._preparing = None
            await self.prepare()

    def close(self) -> None:
        """Stop following, and forget what was indexed."""
        if self._preparing is not None and not self._preparing.done():
            self._preparing.cancel()  # It forgets by itself.
        else:
            self._forget()

    def _forget(self) -> None:
        for subscription in self._subscriptions:
            subscription.close()
        for kept in (self._subscriptions, self._bound, self._nodes, self._volumes, self._claims):
            kept.clear()

    async def _follow(self) -> None:
        try:
            await self._follow_one(PODS, self._put_pod, self._drop_pod)
            await self._follow_one(VOLUMES, self._put_volume, self._drop_volume)
        except BaseException:
            self._forget()
            raise

    async def _follow_one(self, resource: str, put: Callable[[Record], None], drop: Callable[[Record], None]) -> None:
        def index(record: Record) -> None:
            # Whoever gets a change may not raise: nobody after it would get the change.
            try:
                put(record)
            except msgspec.DecodeError as error:
                drop(record)
                name = f"{record.key.namespace}/{record.key.name}"
                extra = {"resource": resource, "object": name, "error": str(error)}
                log.warning("cannot index for the Node authorizer: unreadable object", extra=extra)

        def deliver(event: Event) -> None:
            (drop if event.type == "DELETED" else index)(event.record)

        scope, revision = Scope(resource), self._store.revision
        for at, record in enumerate(self._store.select(scope), 1):
            index(record)
            if at % _SLICE == 0:
                await asyncio.sleep(0)
        self._subscriptions.append(await self._store.subscribe(scope, since=revision, deliver=deliver))

    def is_related(self, node: str, key: Key) -> bool:
        """Whether a Pod of the Node refers to the object, itself or by a volume."""
        if node in self._nodes.get(key, ()):
            return True
        if key.resource == VOLUMES:
            found = self._volumes.get(key.name)
            return found is not None and node in self._nodes.get(found[0], ())
        return any(node in self._nodes.get(claim, ()) for claim in self._claims.get(key, ()))

    def _put_pod(self, record: Record) -> None:
        raw = _pods.decode(record.value)
        claims = raw.status.resourceClaimStatuses if raw.status is not None else b""
        seen = hash((bytes(raw.spec), bytes(claims)))
        former = self._bound.get(record.key)
        if former is not None and former.seen == seen:
            return
        pod = decode_stored(record.value)
        self._drop_pod(record)
        if node := text(struct(pod, "spec"), "nodeName"):
            bound = _Bound(node, frozenset(_references(record.key, pod)), seen)
            self._bound[record.key] = bound
            for key in bound.refers:
                self._nodes.setdefault(key, Counter())[node] += 1

    def _drop_pod(self, record: Record) -> None:
        bound = self._bound.pop(record.key, None)
        if bound is not None:
            for key in bound.refers:
                _subtract(self._nodes, key, bound.node)

    def _put_volume(self, record: Record) -> None:
        self._drop_volume(record)
        spec = struct(decode_stored(record.value), "spec")
        if reference := struct(spec, "claimRef"):
            claim = Key(CLAIMS, text(reference, "namespace"), text(reference, "name"))
            secrets = frozenset(_volume_secrets(spec, claim.namespace))
            self._volumes[record.key.name] = claim, secrets
            for key in secrets:
                self._claims.setdefault(key, Counter())[claim] += 1

    def _drop_volume(self, record: Record) -> None:
        claim, secrets = self._volumes.pop(record.key.name, (record.key, frozenset[Key]()))
        for key in secrets:
            _subtract(self._claims, key, claim)


def _subtract(counts: dict[Key, Counter[_Item]], key: Key, item: _Item) -> None:
    found = counts[key]
    found[item] -= 1
    if not found[item]:
        del found[item]
    if not found:
        del counts[key]


def _references(own: Key, pod: JsonObject) -> Iterator[Key]:
    """A mirror Pod, which a Node creates itself, refers to nothing but itself."""
    yield own
    if is_mirror(pod):
        return
    spec, namespace = struct(pod, "spec"), own.namespace
    for resource, names in (
        ("serviceaccounts", (text(spec, "serviceAccountName"),)),
        (SECRETS, secrets_of(spec)),
        ("configmaps", config_maps_of(spec)),
        (CLAIMS, _claims_of(own.name, spec)),
        ("resourceclaims.resource.k8s.io", _devices_of(pod, spec)),
    ):
        for name in names:
            if name:
                yield Key(resource, namespace, name)


def _claims_of(pod: str, spec: JsonObject) -> Iterator[str]:
    for volume in structs(spec, "volumes"):
        yield text(struct(volume, "persistentVolumeClaim"), "claimName")
        if isinstance(volume.get("ephemeral"), dict):
            yield f"{pod}-{text(volume, 'name')}"


def _devices_of(pod: JsonObject, spec: JsonObject) -> Iterator[str]:
    for claim in structs(spec, "resourceClaims"):
        yield text(claim, "resourceClaimName")
    for status in structs(struct(pod, "status"), "resourceClaimStatuses"):
        yield text(status, "resourceClaimName")


def _volume_secrets(spec: JsonObject, namespace: str) -> Iterator[Key]:
    """The Secrets of a volume that kubelets read; without a namespace, they are in that of the claim."""
    references = [struct(spec, kind, "secretRef") for kind in REFERRING]
    references += [struct(spec, "csi", name) for name in _CSI_SECRETS]
    for each in references:
        if name := text(each, "name"):
            yield Key(SECRETS, text(each, "namespace") or namespace, name)
    azure = struct(spec, "azureFile")
    if name := text(azure, "secretName"):
        yield Key(SECRETS, text(azure, "secretNamespace") or namespace, name)
