"""Gives each Service a cluster address and node ports of its own.

Promises, each with a test: no two Services have the same address or node port, also with several replicas on one
database; what a Service had is free once it is deleted or its type no longer needs it; a dry run takes nothing.

Which values are taken follows from the stored Services, and from the IPAddresses that others have created. They are
read at the first write that needs a new value, so that neither the start nor a write of another kind costs anything.
A value is held for a write from its choice to its commit. Other replicas see the commit alone, so `write/claims.py`
lets only one of two writes through that chose on the same state.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Final

import msgspec

from homeostat.objects.errors import Cause, InternalError, invalid, invalid_object
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import integer, strings, struct, structs, text
from homeostat.server.services.families import (
    HEADLESS,
    has_node_ports,
    is_addressed,
    join_addresses,
    keep_allocated,
    needs_health_port,
    settle_families,
)
from homeostat.server.services.ranges import FIRST_PORT, LAST_PORT, AddressRange, IsFree, Pick, Value, free_port
from homeostat.store.base import Key, Record, Scope, Store
from homeostat.store.follow import follow

SERVICES: Final = "services"
_FOLLOWED: Final = (Scope(SERVICES), Scope("ipaddresses.networking.k8s.io"))
_MANAGED_BY, _ALLOCATOR = "ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"
_UNCERTAIN_S: Final = 60.0
"""How long the values of a write stay taken that ended before its commit was known."""


class _Port(msgspec.Struct):
    node_port: int = msgspec.field(default=0, name="nodePort")


class _Spec(msgspec.Struct, rename="camel"):
    cluster_ip: str | None = msgspec.field(default=None, name="clusterIP")
    cluster_ips: list[str] | None = msgspec.field(default=None, name="clusterIPs")
    ports: list[_Port] | None = None
    health_check_node_port: int | None = None


class _Stored(msgspec.Struct):
    spec: _Spec


class _Metadata(msgspec.Struct):
    labels: dict[str, str] | None = None


class _StoredAddress(msgspec.Struct):
    metadata: _Metadata


class TakenError(Exception):
    """The value belongs to another Service."""

    def __init__(self, cause: Cause) -> None:
        super().__init__(cause.message)
        self.cause = cause


class Allocator:
    def __init__(
        self,
        store: Store,
        addresses: AddressRange,
        *,
        pick: Pick = random.randrange,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._store, self._addresses = store, addresses
        self._pick, self._clock = pick, clock
        self._held: dict[Key, tuple[Value, ...]] = {}
        self._used: Counter[Value] = Counter()
        self._claims: dict[int, set[Value]] = {}
        """The values of writes that are under way, by writer."""
        self._pending: dict[Value, float] = {}
        """Until when each of them is taken."""
        self._starting = asyncio.Lock()
        self._is_following = False

    async def allocate(self, writer: int, obj: JsonObject, old: JsonObject | None, *, is_trial: bool) -> bool:
        """Complete the spec of a Service, and hold what is new for the writer; whether anything is.

        The spec becomes another value. 422 if a given value is taken or not in its range.
        """
        given, former = struct(obj, "spec"), None if old is None else struct(old, "spec")
        spec = dict(given)
        if former is not None:
            keep_allocated(spec, former)
        name = text(struct(obj, "metadata"), "name")
        if is_addressed(spec):
            join_addresses(spec, former)
            if causes := settle_families(spec, former, self._addresses.family):
                raise invalid_object("Service", "", name, causes)
        if _needs_address(spec, former) or _needs_ports(spec, former):
            await self._follow()
            try:
                spec = self._completed(writer, spec, former, is_trial=is_trial)
            except TakenError as taken:
                if not self._store.is_shared:
                    raise invalid_object("Service", "", name, [taken.cause]) from taken
                # Another replica may have released it.
                await self._store.sync()
                try:
                    spec = self._completed(writer, spec, former, is_trial=is_trial)
                except TakenError as again:
                    raise invalid_object("Service", "", name, [again.cause]) from again
        if spec != given:
            obj["spec"] = spec
        return bool(self._claims.get(writer))

    def still_holds(self, writer: int) -> bool:
        """Whether no other replica has committed a Service with a value that this write chose."""
        return not any(self._used[each] for each in self._claims.get(writer, ()))

    def release(self, writer: int, *, is_certain: bool) -> None:
        """The write has ended: what it chose is stored, or free again. Called from any thread."""
        for each in self._claims.pop(writer, ()):
            if is_certain:
                self._pending.pop(each, None)
            else:
                self._pending[each] = self._clock() + _UNCERTAIN_S

    async def _follow(self) -> None:
        async with self._starting:
            if self._is_following:
                return
            for scope in _FOLLOWED:
                await follow(self._store, scope, put=self._put, drop=lambda record: self._forget(record.key))
            self._is_following = True

    def _put(self, record: Record) -> None:
        self._forget(record.key)
        values = _values(record.value) if record.key.resource == SERVICES else _reserved(record)
        if values:
            self._held[record.key] = values
            self._used.update(values)

    def _forget(self, key: Key) -> None:
        for each in self._held.pop(key, ()):
            self._used[each] -= 1
            if not self._used[each]:
                del self._used[each]

    def _is_free(self, value: Value) -> bool:
        return value not in self._used and self._pending.get(value, -math.inf) < self._clock()

    def _completed(self, writer: int, spec: JsonObject, former: JsonObject | None, *, is_trial: bool) -> JsonObject:
        """The spec with all values, which are held for the writer unless it is a trial."""
        chosen: set[Value] = set()

        def is_free(value: Value) -> bool:
            return value not in chosen and self._is_free(value)

        spec = dict(spec)
        if _needs_address(spec, former):
            chosen.add(self._set_address(spec, is_free))
        if _needs_ports(spec, former):
            self._set_ports(spec, former, chosen, is_free)
        if not is_trial:
            self._claims.setdefault(writer, set()).update(chosen)
            self._pending.update(dict.fromkeys(chosen, math.inf))
        return spec

    def _set_address(self, spec: JsonObject, is_free: IsFree) -> str:
        if address := text(spec, "clusterIP"):
            at, failed = strings(spec, "clusterIPs"), f"failed to allocate IP {address}"
            if not self._addresses.contains(address):
                message = f"{failed}: the provided network does not match the current range"
                raise TakenError(invalid("spec.clusterIPs", at, message))
            if not is_free(address):
                raise TakenError(invalid("spec.clusterIPs", at, f"{failed}: provided IP is already allocated"))
            return address
        found = self._addresses.free(is_free, self._pick)
        if found is None:
            raise InternalError("Internal error occurred: failed to allocate a serviceIP: range is full")
        spec["clusterIP"], spec["clusterIPs"] = found, [found]
        return found

    def _set_ports(self, spec: JsonObject, former: JsonObject | None, chosen: set[Value], is_free: IsFree) -> None:
        had = set() if former is None else _node_ports(former)
        if has_node_ports(spec):
            ports = [dict(each) for each in structs(spec, "ports")]
            allocates = spec.get("allocateLoadBalancerNodePorts") is not False or text(spec, "type") == "NodePort"
            shared = _given_ports(ports) if former is None else {}
            seen: set[tuple[str, int]] = set()
            for index, port in enumerate(ports):
                number = integer(port, "nodePort")
                if not number and not allocates:
                    continue
                number = number or shared.get(integer(port, "port"), 0)
                is_own = number in had or (number in chosen and (former is not None or number in shared.values()))
                if not number:
                    number = self._free_port(is_free)
                elif not is_own or (text(port, "protocol"), number) in seen:
                    _require_port(number, f"spec.ports[{index}].nodePort", is_free)
                port["nodePort"] = number
                seen.add((text(port, "protocol"), number))
                if number not in had:
                    chosen.add(number)
                if former is None:
                    shared.setdefault(integer(port, "port"), number)
            spec["ports"] = ports
        if needs_health_port(spec):
            number = integer(spec, "healthCheckNodePort")
            if not number:
                number = self._free_port(is_free)
            elif number not in had:
                _require_port(number, "spec.healthCheckNodePort", is_free)
            spec["healthCheckNodePort"] = number
            if number not in had:
                chosen.add(number)

    def _free_port(self, is_free: IsFree) -> int:
        found = free_port(is_free, self._pick)
        if found is None:
            raise InternalError("Internal error occurred: failed to allocate a nodePort: range is full")
        return found


def _values(stored: bytes) -> tuple[Value, ...]:
    spec = _DECODER.decode(stored).spec
    addresses = spec.cluster_ips or ([spec.cluster_ip] if spec.cluster_ip else [])
    ports = {each.node_port for each in spec.ports or ()} | {spec.health_check_node_port or 0}
    return (*(each for each in addresses if each != HEADLESS), *(each for each in ports if each))


def _reserved(record: Record) -> tuple[Value, ...]:
    """The address of an IPAddress. Those of Services follow the Services, and are late."""
    labels = _ADDRESS_DECODER.decode(record.value).metadata.labels or {}
    return () if labels.get(_MANAGED_BY) == _ALLOCATOR else (record.key.name,)


_ADDRESS_DECODER = msgspec.json.Decoder(_StoredAddress)
_DECODER = msgspec.json.Decoder(_Stored)


def _needs_address(spec: JsonObject, former: JsonObject | None) -> bool:
    """Whether it has to get an address. One that it had is never checked again."""
    if not is_addressed(spec) or text(spec, "clusterIP") == HEADLESS:
        return False
    return former is None or not is_addressed(former) or not text(former, "clusterIP")


def _needs_ports(spec: JsonObject, former: JsonObject | None) -> bool:
    if needs_health_port(spec) and not _had_health_port(former):
        return True
    if not has_node_ports(spec):
        return False
    had = set() if former is None else _node_ports(former)
    return any(integer(each, "nodePort") not in had for each in structs(spec, "ports"))


def _had_health_port(former: JsonObject | None) -> bool:
    return former is not None and needs_health_port(former) and bool(integer(former, "healthCheckNodePort"))


def _node_ports(spec: JsonObject) -> set[int]:
    numbers = {integer(each, "nodePort") for each in structs(spec, "ports")} | {integer(spec, "healthCheckNodePort")}
    return numbers - {0}


def _given_ports(ports: list[JsonObject]) -> dict[int, int]:
    """The node port that the writer gave, by port: a port of two protocols has one."""
    given: dict[int, int] = {}
    for port in ports:
        if number := integer(port, "nodePort"):
            given.setdefault(integer(port, "port"), number)
    return given


def _require_port(number: int, at: str, is_free: IsFree) -> None:
    if not FIRST_PORT <= number <= LAST_PORT:
        message = f"provided port is not in the valid range. The range of valid ports is {FIRST_PORT}-{LAST_PORT}"
        raise TakenError(invalid(at, number, message))
    if not is_free(number):
        raise TakenError(invalid(at, number, "provided port is already allocated"))
