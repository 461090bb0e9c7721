"""Policies: JSON Schemas that the raw contract must satisfy, all of them. Pure.

A policy is a file of the bundle or a reference to another bundle. A referenced bundle that declares policies stands for
those, otherwise for its `policy/schema.json`. The caller fetches bundles: `enforce` returns the missing references, the
caller fetches them and calls it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.document.contract import Contract, Policy
from homeostat.operators.contracts.engine.files import POLICY_FILE, Files
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.schema.json_file import InvalidJsonError
from homeostat.operators.contracts.engine.schema.json_schema import InvalidSchemaError, compile_schema

MAX_POLICIES: Final = 200
"""The number of schemas for one contract, including those of referenced bundles."""


Fetched = Mapping[str, Bundle | Unresolved]
"""By reference, as the contract spells it."""


class Enforcement(msgspec.Struct, frozen=True):
    findings: Findings
    missing: tuple[str, ...]
    """References to fetch; the findings are incomplete until there are none."""


def enforce(contract: Contract, raw: JsonObject, files: Files | None, fetched: Fetched) -> Enforcement:
    """Enforce all policies; a reference that cannot be resolved is an error."""
    walk = _Walk(raw, fetched)
    walk.policies(contract, files, ())
    return Enforcement(walk.findings, tuple(walk.missing))


def enforce_local(contract: Contract, raw: JsonObject, files: Files | None) -> Findings:
    """Enforce the bundle's own policy files; a reference is a warning. Without a bundle nothing is reported."""
    walk = _Walk(raw, {})
    for place, policy in enumerate(contract.policies if files is not None else ()):
        if policy.ref:
            problem = f'"{policy.ref}" is not enforced here; `homeostat contract validate` resolves references'
            walk.findings.warn("POLICY_REF_NOT_ENFORCED", f"policies[{place}].ref", problem)
        else:
            walk.file(files or {}, policy.schema, _origin(policy, ()))
    return walk.findings


class _Walk:
    def __init__(self, raw: JsonObject, fetched: Fetched) -> None:
        self.findings = Findings()
        self.missing: dict[str, None] = {}
        self._raw = raw
        self._fetched = fetched
        self._count = 0

    def policies(self, contract: Contract, files: Files | None, chain: tuple[str, ...]) -> None:
        for policy in contract.policies:
            self._count += 1
            if self._count > MAX_POLICIES:
                self._fail("POLICY_ENFORCEMENT_ERROR", _origin(policy, chain), f"more than {MAX_POLICIES} policies")
                return
            if policy.ref:
                self._reference(policy, chain)
            elif files is not None:
                self.file(files, policy.schema, _origin(policy, chain))

    def _reference(self, policy: Policy, chain: tuple[str, ...]) -> None:
        origin = _origin(policy, chain)
        if policy.ref in chain:
            cycle = " -> ".join((*chain, policy.ref))
            self._fail(
                "POLICY_REF_CYCLE", origin, f"policies refer to each other: {cycle}; remove one of the references"
            )
            return
        found = self._fetched.get(policy.ref)
        if found is None:
            self.missing[policy.ref] = None
        elif isinstance(found, Unresolved):
            self._fail("POLICY_REF_UNRESOLVED", origin, f'cannot resolve "{policy.ref}": {found.problem}')
        elif found.contract.policies:
            self.policies(found.contract, found.files, (*chain, policy.ref))
        else:
            self.file(found.files, POLICY_FILE, origin)

    def file(self, files: Files, name: str, origin: str) -> None:
        if not name or name not in files:
            problem = f"the bundle has no {name}" if name else "the policy has neither a schema nor a ref"
            self._fail("POLICY_REF_UNRESOLVED", origin, problem)
            return
        try:
            schema = compile_schema(files[name])
        except InvalidJsonError:
            self._fail("POLICY_REF_UNRESOLVED", origin, f"{name} is not valid JSON")
        except InvalidSchemaError as error:
            self._fail("POLICY_REF_UNRESOLVED", origin, f"{name} is not a valid JSON Schema: {error}")
        else:
            for violation in schema.violations(self._raw):
                self._fail("POLICY_VIOLATION", origin, str(violation))

    def _fail(self, code: str, origin: str, problem: str) -> None:
        self.findings.error(code, "", f"policy {origin}: {problem}")


def _origin(policy: Policy, chain: tuple[str, ...]) -> str:
    own = f'policies["{policy.name}"]'
    return f"{chain[-1]} -> {own}" if chain else own
