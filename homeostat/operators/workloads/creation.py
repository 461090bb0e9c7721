"""Creates Pods of a controller: named and placed on Nodes before they are sent, which saves a write each.

A Pod that fits on no Node is created without one; the scheduler reports why and tries again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import POD, Kind
from homeostat.operators.workloads.api import Meta, Pod, PodSpec
from homeostat.operators.workloads.events import Events
from homeostat.operators.workloads.naming import ALPHABET, suffix_of, suffixed
from homeostat.operators.workloads.scheduling.scheduler import Scheduler
from homeostat.runtime.cache.cache import Cache

_AT_ONCE: Final = 64
"""Requests at the same time: the store commits them together."""
_TERMINATING: Final = "NamespaceTerminating"
_NAMES: Final = len(ALPHABET) ** 5


def random_suffix() -> str:
    return suffix_of(random.randrange(_NAMES))  # noqa: S311


def is_namespace_terminating(error: ApiError) -> bool:
    return any(each.kind == _TERMINATING for each in error.causes)


def check_readable(owner: Meta, pods: Cache[Pod]) -> None:
    """`UnreadableError` for a Pod that may be one of the owner's: it would be created again and again."""
    stem = suffixed(owner.name, "")
    for each in pods.unreadable:
        if each.namespace == owner.namespace and each.name.startswith(stem):
            pods.get(each.namespace, each.name)


class Words(NamedTuple):
    """The messages of Events, with the names of the Pod and its owner."""

    created: str
    deleted: str
    failed: str


USUAL: Final = Words("Created pod: {pod}", "Deleted pod: {pod}", "Error creating: {error}")
OF_STATEFUL_SETS: Final = Words(
    "create Pod {pod} in StatefulSet {owner} successful",
    "delete Pod {pod} in StatefulSet {owner} successful",
    "create Pod {pod} in StatefulSet {owner} failed error: {error}",
)


class Creation:
    """Creates and deletes the Pods of one kind of controller, and records the Events of that."""

    def __init__(
        self,
        client: Client,
        scheduler: Scheduler,
        events: Events,
        pods: Cache[Pod],
        kind: Kind,
        *,
        component: str,
        words: Words = USUAL,
    ) -> None:
        self._client, self._scheduler, self._events, self._pods = client, scheduler, events, pods
        self._kind, self._component, self._words = kind, component, words

    async def create(self, owner: Meta, pods: Sequence[JsonObject]) -> str:
        """All of them, one at first and then twice as many at once each time, so that a quota refuses few; the first
        refusal in words, empty if there is none.
        """
        check_readable(owner, self._pods)
        start, size = 0, 1
        while start < len(pods):
            found = await asyncio.gather(*(self._create(owner, each) for each in pods[start : start + size]))
            if failures := [each for each in found if each]:
                return failures[0]
            start, size = start + size, min(2 * size, _AT_ONCE)
        return ""

    async def _create(self, owner: Meta, pod: JsonObject) -> str:
        key = owner.namespace, pod["metadata"]["name"]
        spec = msgspec.convert(pod["spec"], PodSpec)
        is_placed = False
        is_free = not spec.node_name and not spec.scheduling_gates and not spec.claims
        if is_free and spec.scheduler_name == "default-scheduler":
            node = self._scheduler.place(key, spec, pod["metadata"].get("labels") or {})
            if node:
                is_placed = True
                pod = {**pod, "spec": {**pod["spec"], "nodeName": node}}
        try:
            await self._client.fetch("POST", POD.path(owner.namespace), body=pod)
        except (ApiError, UnreachableError) as error:
            if is_placed:
                self._scheduler.release(key)
            if isinstance(error, ApiError) and is_namespace_terminating(error):
                return ""  # The namespace is being deleted, and the owner with it.
            message = self._words.failed.format(pod=key[1], owner=owner.name, error=error)
            self._record(owner, "FailedCreate", message, is_warning=True)
            return str(error)
        self._record(owner, "SuccessfulCreate", self._words.created.format(pod=key[1], owner=owner.name))
        return ""

    async def delete(self, owner: Meta, pods: Sequence[Pod]) -> None:
        for start in range(0, len(pods), _AT_ONCE):
            await asyncio.gather(*(self._delete(owner, each) for each in pods[start : start + _AT_ONCE]))

    async def _delete(self, owner: Meta, pod: Pod) -> None:
        try:
            await self._client.delete(POD.path(*pod.key), {"preconditions": {"uid": pod.metadata.uid}})
        except NotFoundError:
            return
        message = self._words.deleted.format(pod=pod.metadata.name, owner=owner.name)
        self._record(owner, "SuccessfulDelete", message)

    def _record(self, owner: Meta, reason: str, message: str, *, is_warning: bool = False) -> None:
        self._events.record(
            self._kind, owner, reason, message, by=self._component, type_="Warning" if is_warning else "Normal"
        )
