"""Applies and deletes resources for inputs: the one place where that is done.

It uses server-side apply with a field manager for each input. A new resource is applied without force: if two inputs
declare it at the same moment, one of them gets a conflict. A resource that the input owns is applied with force,
whoever changed it. Deletions name the uid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from homeostat.client.base import Client
from homeostat.client.projection import Projection
from homeostat.client.requests import Selection, Writing
from homeostat.objects.errors import ApiError, ConflictError, NotFoundError
from homeostat.objects.kind import Kind
from homeostat.operators.actions.inputs.api import INPUT
from homeostat.operators.actions.inputs.plugins.reading import Declaration, RefusedError
from homeostat.operators.actions.inputs.wanted import Found, wanted_object

AT_ONCE: Final = 16
_PASSING: Final = frozenset({408, 429})
_LONGEST_TOLD: Final = 500


class Writer:
    """Writes for one input; `kinds` are the kinds of resources that are served now, by name."""

    def __init__(self, client: Client, kinds: Mapping[str, Kind], *, namespace: str, owner: str) -> None:
        self._client, self.kinds = client, kinds
        self._namespace, self._owner = namespace, owner
        self._projections: dict[Kind, Projection[Found]] = {}

    async def put(self, declaration: Declaration, *, is_owned: bool) -> Found:
        """Returns the stored resource. Raises `RefusedError` if the server refuses the declaration."""
        kind = self.kind_of(declaration.kind)
        wanted = wanted_object(declaration, kind, self._namespace, self._owner)
        # Unknown fields are refused: if they were dropped, a misspelt field would count as applied.
        writing = Writing(f"homeostat-input-{self._owner}", is_forced=is_owned, validation="Strict")
        objects = self._objects(_of_version(kind, declaration.version))
        try:
            return await objects.patch(wanted, declaration.name, self._namespace, form="apply", writing=writing)
        except ApiError as error:
            if error.code >= 500 or error.code in _PASSING:
                raise
            raise RefusedError(error.message[:_LONGEST_TOLD]) from error

    async def remove(self, kind: str, name: str, uid: str) -> None:
        """Does nothing if the resource or its kind is gone, or if another resource has the name now."""
        if kind not in self.kinds:
            return
        try:
            await self._objects(self.kind_of(kind)).delete(name, self._namespace, uid=uid)
        except (NotFoundError, ConflictError):
            return

    async def find(self, kind: str, name: str) -> Found | None:
        try:
            return await self._objects(self.kind_of(kind)).get(name, self._namespace)
        except NotFoundError:
            return None

    async def owned(self) -> dict[tuple[str, str], Found]:
        """Returns all resources of the input, of every kind."""
        found: dict[tuple[str, str], Found] = {}
        own = Selection(self._namespace, labels=f"{INPUT}={self._owner}")
        for name, kind in self.kinds.items():
            try:
                found |= {(name, each.metadata.name): each async for each in self._objects(kind).list(own)}
            except NotFoundError:
                # The definition is being created or deleted: there are no resources.
                continue
        return found

    def kind_of(self, name: str) -> Kind:
        kind = self.kinds.get(name)
        if kind is None:
            raise RefusedError(f'no resource type has the kind "{name}"')
        return kind

    def _objects(self, kind: Kind) -> Projection[Found]:
        found = self._projections.get(kind)
        if found is None:
            found = self._projections[kind] = Projection(self._client, kind, Found)
        return found


def _of_version(kind: Kind, version: str) -> Kind:
    return kind if kind.version == version else Kind(kind.group, version, kind.plural, kind.kind, is_namespaced=True)
