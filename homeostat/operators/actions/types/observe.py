"""Observes a resource type: its definition on the server, other types of its kind, and its live resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

from homeostat.client.base import Client
from homeostat.edge.threads import in_thread
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import ResourceType
from homeostat.operators.actions.types.decide import TypeWorld, is_in_force, remaining_definition, wanted_definition
from homeostat.operators.actions.types.definition import InvalidTypeError
from homeostat.operators.actions.types.naming import kind_of_type, resource_kind
from homeostat.operators.actions.types.resources import Live

_USER: Final = "resource types"
"""Whose turn it is in the threads: a schema may be so large that Python takes a second to walk it."""


def _change(wanted: JsonObject, found: JsonObject) -> JsonObject | None:
    """The wanted definition; None if it is in force."""
    return None if is_in_force(wanted, found) else wanted


class TypeObserver:
    def __init__(self, client: Client, types: Callable[[], Iterable[ResourceType]], *, settle_s: float) -> None:
        self._types, self._live = types, Live(client)
        self._settle_s = settle_s
        self._since: dict[str, tuple[str, float]] = {}

    async def observe(self, obj: ResourceType) -> TypeWorld:
        kind = resource_kind(obj.spec)
        others = tuple(
            each
            for each in self._types()
            if each.metadata.name != obj.metadata.name and kind_of_type(each.spec) == kind.kind
        )
        found = await self._live.definition(obj.spec)
        if found is None:
            return TypeWorld(others=others)
        if obj.is_terminating:
            return await self._observe_deletion(obj, others, found)
        try:
            wanted = await in_thread(lambda: _change(wanted_definition(obj, others, found), found), user=_USER)
        except InvalidTypeError:
            return TypeWorld(others=others, found=found)
        if wanted is None:
            return TypeWorld(others=others, found=found)
        incompatible = await self._live.incompatible(wanted, found, version=kind.version)
        return TypeWorld(others=others, found=found, incompatible=tuple(incompatible))

    async def _observe_deletion(
        self, obj: ResourceType, others: tuple[ResourceType, ...], found: JsonObject
    ) -> TypeWorld:
        left = await in_thread(lambda: remaining_definition(obj, others, found), user=_USER)
        if left is None:
            users = [name async for page in self._live.pages(found) for name in page.names]
            return TypeWorld(others=others, found=found, users=tuple(users))
        if await in_thread(lambda: _change(left, found), user=_USER) is None:
            self._since.pop(obj.metadata.uid, None)
            return TypeWorld(others=others, found=found)
        incompatible = await self._live.incompatible(left, found)
        return TypeWorld(
            others=others, found=found, incompatible=tuple(incompatible), is_settled=self._is_settled(obj, found)
        )

    def _is_settled(self, obj: ResourceType, found: JsonObject) -> bool:
        """Measures from when this process first saw the definition: clocks of other machines may differ."""
        form, now = f"{found['metadata'].get('uid')}/{found['metadata'].get('generation')}", monotonic()
        seen = self._since.get(obj.metadata.uid)
        if seen is None or seen[0] != form:
            self._since[obj.metadata.uid] = seen = (form, now)
        return now - seen[1] >= self._settle_s
