"""The namespaces in which RoleBindings name a visitor: the Kubernetes API does not say where somebody may do something.

They are candidates: what the visitor may see there is asked of the server, in each. The RoleBindings are read with the
permissions of this server, from a watch that begins with the first visitor who does not see everything. If it may not
read them, visitors enter their namespace themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from homeostat.client.base import Client, UnreachableError
from homeostat.client.who_can import ROLE_BINDING
from homeostat.objects.errors import ApiError
from homeostat.web.kit.gate import Caller
from homeostat.web.kit.refusal import RefusalError
from homeostat.web.kit.watched import Derived, Watched

_AGAIN_AFTER_S: Final = 60.0
_KEPT_S: Final = 5.0
"""Of ten thousand RoleBindings, to look through all takes milliseconds."""
_ACCOUNT: Final = "ServiceAccount"


class _Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Subject(msgspec.Struct, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Kind and name, as in what is known of a caller."""
        is_account = self.kind == _ACCOUNT
        return ("User", f"system:serviceaccount:{self.namespace}:{self.name}") if is_account else (self.kind, self.name)


class _Binding(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata
    subjects: tuple[_Subject, ...] | None = None


class _Named(NamedTuple):
    namespace: str
    subjects: frozenset[tuple[str, str]]


class Bindings:
    """`run` of `watched` is a background task. `clock` counts seconds."""

    def __init__(self, client: Client, within: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.watched, self._clock = Watched(client, within), clock
        self._derived: Derived[_Binding, _Named] = Derived(_named)
        self._again_at = float("-inf")
        self._known: WeakKeyDictionary[Caller, tuple[float, list[str]]] = WeakKeyDictionary()

    async def namespaces_of(self, caller: Caller) -> list[str]:
        """Sorted; empty if this server may not read RoleBindings."""
        until, known = self._known.get(caller, (float("-inf"), []))
        if until <= self._clock():
            known = await self._read(caller)
            self._known[caller] = self._clock() + _KEPT_S, known
        return known

    async def _read(self, caller: Caller) -> list[str]:
        if self._clock() < self._again_at:
            return []
        try:
            cache = await self.watched.all(ROLE_BINDING, _Binding)
        except (ApiError, RefusalError, UnreachableError):
            # A request that is refused for each page would fill the audit log of the server.
            self._again_at = self._clock() + _AGAIN_AFTER_S
            return []
        own = {("User", caller.username), *(("Group", each) for each in caller.groups)}
        every = self._derived.of(cache or ())
        return sorted({each.namespace for each in every if not own.isdisjoint(each.subjects)})


def _named(binding: _Binding) -> _Named:
    return _Named(binding.metadata.namespace, frozenset(each.key for each in binding.subjects or ()))
