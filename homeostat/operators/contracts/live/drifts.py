"""Compares the OpenAPI documents that services serve with those of their contracts, for the Pactos that ask for it.

Documents are requested in the background by a `Prober`; documents are parsed and compared in a thread, and the newest
results are kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from hashlib import sha256
from typing import Final

import msgspec

from homeostat.operators.contracts.api import Pacto
from homeostat.operators.contracts.engine.checks.endpoint import Outcome
from homeostat.operators.contracts.engine.checks.served import (
    Document,
    Drift,
    Wanted,
    compare_document,
    plan_documents,
)
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.files import Files
from homeostat.operators.contracts.probes.document import unpacked
from homeostat.operators.contracts.probes.prober import Prober
from homeostat.operators.contracts.stored import drifts_of

_MOST_KEPT: Final = 1024


class _Plan(msgspec.Struct, frozen=True):
    """The documents of a Pacto, and what they were planned from."""

    contract: Contract
    files: Files | None
    wanted: tuple[Wanted, ...]
    service: str
    documents: list[Document]

    def is_for(self, contract: Contract, files: Files | None, wanted: tuple[Wanted, ...], service: str) -> bool:
        # The files of a bundle are one object as long as it stays loaded.
        return (
            self.files is files
            and (self.wanted, self.service) == (wanted, service)
            and (self.contract is contract or self.contract == contract)
        )


class Drifts:
    def __init__(self, prober: Prober) -> None:
        self._prober = prober
        self._plans: dict[tuple[str, str], _Plan] = {}
        self._kept: OrderedDict[tuple[bytes, bytes, Document], Drift] = OrderedDict()

    async def read(self, pacto: Pacto, contract: Contract, files: Files | None, service: str) -> tuple[Drift, ...]:
        """`service` is empty if it does not exist: then nothing is compared, and nothing is due."""
        owner = (pacto.metadata.namespace, pacto.metadata.name)
        checks = pacto.spec.checks
        wanted = tuple(Wanted(each.interface, each.path) for each in (() if checks is None else checks.openapi))
        if not wanted or not service:
            self.forget(*owner)
            return ()
        plan = self._plans.get(owner)
        if plan is None or not plan.is_for(contract, files, wanted, service):
            found = await asyncio.to_thread(plan_documents, contract, files, wanted, service, owner[0])
            plan = self._plans[owner] = _Plan(contract, files, wanted, service, found)
        planned = plan.documents
        urls = tuple(dict.fromkeys(each.url for each in planned if each.url))
        interval_s = pacto.spec.check_interval_seconds
        outcomes = self._prober.outcomes(owner, pacto.metadata.generation, urls, max_age_s=interval_s)
        drifts = [await self._drift(each, files or {}, outcomes.get(each.url)) for each in planned]
        if not any(each.is_pending for each in drifts):
            return tuple(drifts)
        before = drifts_of(pacto)
        return tuple(before.get((each.interface, each.url), each) if each.is_pending else each for each in drifts)

    def due_in_s(self, pacto: Pacto) -> float | None:
        owner = (pacto.metadata.namespace, pacto.metadata.name)
        return self._prober.due_in_s(owner, pacto.spec.check_interval_seconds)

    def forget(self, namespace: str, name: str) -> None:
        self._plans.pop((namespace, name), None)
        self._prober.forget((namespace, name))

    async def _drift(self, document: Document, files: Files, outcome: Outcome | None) -> Drift:
        if outcome is None or not outcome.document:
            return compare_document(document, files, outcome, b"")
        own = sha256(files[document.file]).digest()
        key = (own, sha256(outcome.document).digest(), msgspec.structs.replace(document, problem=""))
        found = self._kept.get(key)
        if found is None:
            served = unpacked(outcome)
            found = await asyncio.to_thread(compare_document, document, files, outcome, served)
            self._kept[key] = found
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return found
