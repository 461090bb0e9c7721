"""A contract as it was loaded: what to evaluate, and what a PactoRevision records of it. Pure."""

from __future__ import annotations

import msgspec

from homeostat.operators.contracts.engine.checks.evaluate import Failure, Loaded
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.document.parse import ParseError, parse_contract
from homeostat.operators.contracts.engine.files import CONTRACT_FILE, Files
from homeostat.operators.contracts.engine.revision import contract_hash


class Version(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One version of a contract. An inline contract has neither reference nor digest."""

    version: str
    service: str
    hash: str
    """Of the contract file."""
    ref: str = ""
    tag: str = ""
    digest: str = ""


class Content(msgspec.Struct, frozen=True):
    """A contract, or why there is none. `version` is None if the contract cannot be parsed."""

    loaded: Loaded | Failure
    version: Version | None = None


def read_inline(text: str) -> Content:
    data = text.encode()
    try:
        parsed = parse_contract(data)
    except ParseError as error:
        return Content(Failure(f"the inline contract cannot be parsed: {error}"))
    service = parsed.contract.service
    return Content(Loaded(parsed), Version(version=service.version, service=service.name, hash=contract_hash(data)))


def read_bundle(files: Files, *, ref: str, tag: str, digest: str) -> Content:
    data = files[CONTRACT_FILE]
    try:
        parsed = parse_contract(data)
    except ParseError as error:
        return Content(Failure(f"{ref}: {CONTRACT_FILE} cannot be parsed: {error}"))
    service = parsed.contract.service
    version = Version(
        version=service.version, service=service.name, hash=contract_hash(data), ref=ref, tag=tag, digest=digest
    )
    return Content(Loaded(parsed, _reduced(parsed.contract, files), ref), version)


def _reduced(contract: Contract, files: Files) -> Files:
    """All names, but only the contents that validation and status read: a bundle may have 50 MiB of documents."""
    named = {CONTRACT_FILE}
    named |= {each.contract for each in contract.interfaces if each.contract}
    named |= {each.schema for each in contract.configurations if each.schema}
    named |= {each.schema for each in contract.policies if each.schema}
    return {name: data if name in named else b"" for name, data in files.items()}
