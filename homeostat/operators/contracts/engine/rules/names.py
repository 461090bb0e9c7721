"""Checks names, versions and references. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.objects.versions.constraint import InvalidConstraintError, parse_constraint
from homeostat.objects.versions.semver import parse_version
from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.reference import (
    InvalidReferenceError,
    OciReference,
    is_oci,
    location,
    parse_oci,
)


def check_service(contract: Contract, findings: Findings) -> None:
    service = contract.service
    _check_version(service.version, "INVALID_SEMVER", "service.version", findings)
    if service.image is not None:
        _check_oci(service.image.ref, "INVALID_IMAGE_REF", "service.image.ref", findings)
    if service.chart is not None:
        if is_oci(service.chart.ref):
            _check_oci(location(service.chart.ref), "INVALID_CHART_REF", "service.chart.ref", findings)
        _check_version(service.chart.version, "INVALID_CHART_VERSION", "service.chart.version", findings)


def check_names(contract: Contract, findings: Findings) -> None:
    for kind, field, names in (
        ("INTERFACE", "interfaces", [each.name for each in contract.interfaces]),
        ("CONFIGURATION", "configurations", [each.name for each in contract.configurations]),
        ("POLICY", "policies", [each.name for each in contract.policies]),
        ("DEPENDENCY", "dependencies", [each.name for each in contract.dependencies]),
    ):
        for place, name, earlier in repeated(names):
            problem = f'the name "{name}" is already declared at {field}[{earlier}]; names must be unique'
            findings.error(f"DUPLICATE_{kind}_NAME", f"{field}[{place}].name", problem)


def repeated(names: Iterable[str]) -> list[tuple[int, str, int]]:
    """Return index, name and earlier index of each repeated name."""
    seen: dict[str, int] = {}
    found = []
    for place, name in enumerate(names):
        if name in seen:
            found.append((place, name, seen[name]))
        seen[name] = place
    return found


def check_references(contract: Contract, findings: Findings) -> None:
    for code, field, refs in (
        ("INVALID_CONFIG_REF", "configurations", [each.ref for each in contract.configurations]),
        ("INVALID_POLICY_REF", "policies", [each.ref for each in contract.policies]),
    ):
        for place, ref in enumerate(refs):
            if is_oci(ref):
                _check_oci(location(ref), code, f"{field}[{place}].ref", findings)


def check_dependencies(contract: Contract, findings: Findings) -> None:
    for place, dependency in enumerate(contract.dependencies):
        path = f"dependencies[{place}]"
        if is_oci(dependency.ref):
            found = _check_oci(location(dependency.ref), "INVALID_OCI_REF", f"{path}.ref", findings)
            if found is None:
                continue
            if found.tag and not found.digest:
                problem = f'"{dependency.ref}" names a tag, which can be moved; pin a digest instead'
                findings.warn("TAG_NOT_DIGEST", f"{path}.ref", problem)
        try:
            parse_constraint(dependency.compatibility)
        except InvalidConstraintError as error:
            findings.error("INVALID_COMPATIBILITY", f"{path}.compatibility", str(error))


def _check_version(text: str, code: str, path: str, findings: Findings) -> None:
    if parse_version(text) is None:
        findings.error(code, path, f'"{text}" is not a semantic version; expected one such as 1.4.0')


def _check_oci(text: str, code: str, path: str, findings: Findings) -> OciReference | None:
    try:
        return parse_oci(text)
    except InvalidReferenceError as error:
        findings.error(code, path, str(error))
        return None
