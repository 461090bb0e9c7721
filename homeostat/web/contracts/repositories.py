"""Contracts of configured repositories that no Pacto binds: read at the start, and again every minute."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Never

from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.reference import registry_reference
from homeostat.operators.contracts.engine.services.compliance import Compliance
from homeostat.operators.contracts.engine.services.instance import Instance, references_of
from homeostat.operators.contracts.sources.errors import SourceError
from homeostat.web.contracts.index import ServiceIndex
from homeostat.web.contracts.library import Library, Wanted

log = logging.getLogger(__name__)
EVERY_S: Final = 60.0


class Repositories:
    def __init__(self, names: tuple[str, ...], index: ServiceIndex, library: Library) -> None:
        self.names = names
        self.problems: dict[str, str] = {}
        """Why a repository could not be read, by name."""
        self.is_discovering = bool(names)
        self._index, self._library = index, library
        self._wanted = asyncio.Event()

    def refresh(self) -> None:
        """Read them now."""
        self._wanted.set()

    async def run(self) -> Never:
        while True:
            self._wanted.clear()
            await asyncio.gather(*map(self._read, self.names))
            self.is_discovering = False
            try:
                async with asyncio.timeout(EVERY_S):
                    await self._wanted.wait()
            except TimeoutError:
                pass

    async def _read(self, name: str) -> None:
        try:
            tags = await self._library.tags(Wanted(name))
            bundle = await self._library.bundle(Wanted(name))
        except SourceError as error:
            if self.problems.get(name) != str(error):
                log.warning("cannot read repository", extra={"repository": name, "reason": str(error)})
            self.problems[name] = str(error)
            return
        self.problems.pop(name, None)
        self._index.show_unbound(_instance(name, bundle, tags))


def _instance(name: str, bundle: Bundle, tags: list[str]) -> Instance:
    contract, text = bundle.contract, registry_reference(name)
    service = contract.service
    return Instance(
        namespace="",
        name=name,
        service=service.name,
        version=service.version,
        owner=service.owner,
        oci=name,
        resolved_ref=f"{text}:{tags[0]}" if tags and "@" not in text else text,
        image=service.image.ref if service.image is not None else "",
        chart=service.chart.ref if service.chart is not None else "",
        dependencies=contract.dependencies,
        references=references_of(
            (each.ref for each in contract.configurations), (each.ref for each in contract.policies)
        ),
        compliance=Compliance(status="REFERENCE", score=None),
    )
