"""The OpenAPI document that a service serves, compared with the one of its contract. Pure.

This module sends no requests. A document that could not be read says nothing: the check is Unknown then. Only breaking
changes fail it, because frameworks that generate a document word it differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.checks.endpoint import Outcome, probe_url
from homeostat.operators.contracts.engine.checks.verdict import MAX_CHANGES, OPENAPI, Verdict, judge
from homeostat.operators.contracts.engine.diff.change import BREAKING, NON_BREAKING, POTENTIAL_BREAKING
from homeostat.operators.contracts.engine.diff.openapi import diff_openapi_files, read_paths
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.files import Files

_ORDER: Final = (BREAKING, POTENTIAL_BREAKING, NON_BREAKING)
_SERVED: Final = "served"


class Wanted(msgspec.Struct, frozen=True):
    """An interface whose document is compared, and the path at which the service serves it."""

    interface: str
    path: str


class Document(msgspec.Struct, frozen=True):
    """Where to read the document of an interface, and the file to compare it with; or why that cannot be done."""

    interface: str
    url: str = ""
    file: str = ""
    problem: str = ""


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    interface: str
    url: str = ""
    breaking: int = 0
    potentially_breaking: int = 0
    non_breaking: int = 0
    changes: tuple[str, ...] = ()
    """In words, the worst first."""
    problem: str = ""
    """Why nothing is known."""
    is_pending: bool = False


def plan_documents(
    contract: Contract, files: Files | None, wanted: Sequence[Wanted], service: str, namespace: str
) -> list[Document]:
    """Call this only if the Service exists."""
    return [_planned(contract, files, each, service, namespace) for each in wanted]


def _planned(contract: Contract, files: Files | None, wanted: Wanted, service: str, namespace: str) -> Document:
    interface = contract.interface(wanted.interface)
    if interface is None:
        return Document(wanted.interface, problem="the contract does not declare it")
    if interface.type != "http" or interface.port is None:
        return Document(wanted.interface, problem="it is not an http interface with a port")
    if not interface.contract:
        return Document(wanted.interface, problem="the contract names no OpenAPI document for it")
    if files is None:
        return Document(wanted.interface, problem="an inline contract has no files; publish it as a bundle")
    if read_paths(files, interface.contract) is None:
        return Document(wanted.interface, problem=f'"{interface.contract}" of the bundle is not an OpenAPI document')
    return Document(wanted.interface, probe_url(service, namespace, interface.port, wanted.path), interface.contract)


def compare_document(document: Document, files: Files, outcome: Outcome | None, served: bytes) -> Drift:
    """`served` is the body of the answer."""
    if document.problem:
        return Drift(interface=document.interface, problem=document.problem)
    place = Drift(interface=document.interface, url=document.url)
    if outcome is None:
        return msgspec.structs.replace(place, problem="it was not requested yet", is_pending=True)
    if outcome.error:
        return msgspec.structs.replace(place, problem=outcome.error)
    if read_paths({_SERVED: served}, _SERVED) is None:
        return msgspec.structs.replace(place, problem="the answer is not an OpenAPI document")
    changes = diff_openapi_files((files, document.file), ({_SERVED: served}, _SERVED))
    counts = Counter(each.classification for each in changes)
    changes.sort(key=lambda each: _ORDER.index(each.classification))
    return msgspec.structs.replace(
        place,
        breaking=counts[BREAKING],
        potentially_breaking=counts[POTENTIAL_BREAKING],
        non_breaking=counts[NON_BREAKING],
        changes=tuple(f"{each.classification}: {each.reason}"[:300] for each in changes[:MAX_CHANGES]),
    )


def check_served(drifts: Sequence[Drift]) -> Verdict:
    """One breaking change fails the check, whatever else could not be read."""
    broken = [each for each in drifts if each.breaking]
    if broken:
        return judge(OPENAPI, False, "; ".join(map(_described, broken)), reason="BreakingDrift")
    unknown = [each for each in drifts if each.problem]
    if unknown:
        reason = "ProbePending" if all(each.is_pending for each in unknown) else "DocumentUnavailable"
        return Verdict(OPENAPI, "Unknown", reason, "; ".join(map(_described, unknown)))
    return judge(OPENAPI, True, "; ".join(map(_described, drifts)))


def _described(drift: Drift) -> str:
    where = f'interface "{drift.interface}"' + (f" at {drift.url}" if drift.url else "")
    if drift.problem:
        return f"The document of {where} is unknown: {drift.problem}"
    counts = (
        f"{drift.breaking} breaking, {drift.potentially_breaking} potentially breaking and {drift.non_breaking} other"
    )
    first = f", such as {drift.changes[0].partition(': ')[2]}" if drift.breaking else ""
    return f"The document of {where} has {counts} changes from the contract{first}"


def served_fields(drifts: Sequence[Drift]) -> list[JsonObject]:
    """Return `status.apiDrift`: one entry for each document that was read."""
    return [_fields(each) for each in drifts if not each.problem]


def _fields(drift: Drift) -> JsonObject:
    fields: JsonObject = {
        "interface": drift.interface,
        "url": drift.url,
        "breaking": drift.breaking,
        "potentiallyBreaking": drift.potentially_breaking,
        "nonBreaking": drift.non_breaking,
    }
    return fields | ({"changes": list(drift.changes)} if drift.changes else {})


def drift_counts(drifts: Sequence[Drift]) -> tuple[tuple[str, Mapping[str, int]], ...]:
    """By interface and classification, of the documents that were read."""
    return tuple(
        (
            each.interface,
            {
                BREAKING: each.breaking,
                POTENTIAL_BREAKING: each.potentially_breaking,
                NON_BREAKING: each.non_breaking,
            },
        )
        for each in drifts
        if not each.problem
    )
