"""`POST /api/resolve` and `/api/versions`: a bundle or the versions of any repository, read from its registry.

The registry is asked with the credentials of this process, as it is for a Pacto without a pull secret. So the caller
needs the permission to create one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.json import encode
from homeostat.operators.contracts.engine.reference import parse_parts, registry_reference
from homeostat.operators.contracts.sources.errors import SourceError
from homeostat.web.contracts.bundles import pulled_details, refusal_of
from homeostat.web.contracts.context import ContractsFace
from homeostat.web.contracts.library import Wanted
from homeostat.web.kit.form import read_body

MOST_FETCHED: Final = 50
"""Versions that one request pulls."""

Ref = Annotated[str, Meta(min_length=1, max_length=1024)]
Text = Annotated[str, Meta(max_length=253)]


class ResolveForm(msgspec.Struct, frozen=True, kw_only=True):
    ref: Ref
    compatibility: Text = ""
    """The versions that are allowed, if the reference has no tag."""
    namespace: Text = ""
    """Where the caller may create Pactos; default: the namespace of this server."""


class VersionsForm(msgspec.Struct, frozen=True, kw_only=True):
    ref: Ref
    fetch: bool = False
    """Pull the versions, so that they are classified."""
    namespace: Text = ""


class RegistryPages:
    def __init__(self, face: ContractsFace) -> None:
        self._face = face

    async def resolve(self, request: Request, captured: Mapping[str, str]) -> Reply:
        form = await read_body(request, ResolveForm)
        await self._face.visibility.require(request, "create", form.namespace)
        try:
            bundle = await self._face.library.bundle(Wanted(form.ref, constraint=form.compatibility))
        except SourceError as error:
            raise refusal_of(error) from error
        ref = registry_reference(form.ref)
        return Reply(200, encode(await pulled_details(bundle, ref=ref, now=self._face.now())))

    async def versions(self, request: Request, captured: Mapping[str, str]) -> Reply:
        form = await read_body(request, VersionsForm)
        await self._face.visibility.require(request, "create", form.namespace)
        name = parse_parts(registry_reference(form.ref)).name
        try:
            tags = await self._face.library.tags(Wanted(form.ref))
        except SourceError as error:
            raise refusal_of(error) from error
        fetched = await self._fetch(name, tags[:MOST_FETCHED]) if form.fetch else 0
        return Reply(200, encode({"versions": tags, "fetched": fetched}))

    async def _fetch(self, name: str, tags: list[str]) -> int:
        """The number of versions that are at hand now; one that cannot be read does not stop the others."""
        pulls = (self._face.library.bundle(Wanted(f"{name}:{tag}")) for tag in tags)
        results = await asyncio.gather(*pulls, return_exceptions=True)
        return sum(not isinstance(each, BaseException) for each in results)
