"""Compares the OpenAPI documents that services serve with those of their contracts, for the Pactos that ask for it.

Documents are requested in the background by a `Prober`; comparisons are made in a thread, and the newest are kept.
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


class Drifts:
    def __init__(self, prober: Prober) -> None:
        self._prober = prober
        self._kept: OrderedDict[tuple[bytes, bytes, Document], Drift] = OrderedDict()

    async def read(self, pacto: Pacto, contract: Contract, files: Files | None, service: str) -> tuple[Drift, ...]:
        """`service` is empty if it does not exist: then nothing is compared."""
        owner = (pacto.metadata.namespace, pacto.metadata.name)
        checks = pacto.spec.checks
        wanted = [Wanted(each.interface, each.path) for each in (() if checks is None else checks.openapi)]
        if not wanted or not service:
            self._prober.forget(owner)
            return ()
        planned = plan_documents(contract, files, wanted, service, pacto.metadata.namespace)
        urls = tuple(dict.fromkeys(each.url for each in planned if each.url))
        interval_s = pacto.spec.check_interval_seconds
        outcomes = self._prober.outcomes(owner, pacto.metadata.generation, urls, max_age_s=interval_s)
        found = [await self._drift(each, files or {}, outcomes.get(each.url)) for each in planned]
        if not any(each.is_pending for each in found):
            return tuple(found)
        before = drifts_of(pacto)
        return tuple(before.get((each.interface, each.url), each) if each.is_pending else each for each in found)

    def due_in_s(self, pacto: Pacto) -> float | None:
        owner = (pacto.metadata.namespace, pacto.metadata.name)
        return self._prober.due_in_s(owner, pacto.spec.check_interval_seconds)

    def forget(self, namespace: str, name: str) -> None:
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
