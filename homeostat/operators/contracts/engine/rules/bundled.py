"""Checks that the files named by a contract exist and have valid content. Pure."""

from __future__ import annotations

from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.document.reader import YamlError, read_document
from homeostat.operators.contracts.engine.files import Files, exists
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.schema.json_file import InvalidJsonError
from homeostat.operators.contracts.engine.schema.json_schema import InvalidSchemaError, JsonSchema, compile_schema

_MOST_SHOWN = 5


def check_interface_files(contract: Contract, files: Files, findings: Findings) -> None:
    for place, each in enumerate(contract.interfaces):
        path = f"interfaces[{place}].contract"
        if each.contract and _has_file(each.contract, path, files, findings):
            _check_yaml(each.contract, path, files, findings)


def check_configuration_files(contract: Contract, files: Files, findings: Findings) -> None:
    for place, each in enumerate(contract.configurations):
        path = f"configurations[{place}]"
        schema = _schema("CONFIG", each.schema, f"{path}.schema", files, findings)
        violations = schema.violations(each.values) if schema is not None and each.values else []
        if violations:
            more = f" and {len(violations) - _MOST_SHOWN} more" if len(violations) > _MOST_SHOWN else ""
            details = "; ".join(map(str, violations[:_MOST_SHOWN]))
            problem = f'the values of "{each.name}" do not match {each.schema}: {details}{more}'
            findings.error("CONFIG_VALUES_VALIDATION_FAILED", f"{path}.values", problem)


def check_policy_files(contract: Contract, files: Files, findings: Findings) -> None:
    for place, each in enumerate(contract.policies):
        _schema("POLICY", each.schema, f"policies[{place}].schema", files, findings)


def _has_file(name: str, path: str, files: Files, findings: Findings) -> bool:
    if exists(files, name):
        return name in files
    problem = f'the bundle has no file "{name}"; add it, or check that .pactoignore does not hide it'
    findings.error("FILE_NOT_FOUND", path, problem)
    return False


def _check_yaml(name: str, path: str, files: Files, findings: Findings) -> None:
    if not name.lower().endswith((".yaml", ".yml")):
        return
    try:
        read_document(files[name])
    except YamlError as error:
        findings.error("INVALID_CONTRACT_FILE", path, f'the file "{name}" is not valid YAML: {error}')


def _schema(kind: str, name: str, path: str, files: Files, findings: Findings) -> JsonSchema | None:
    if not name or not _has_file(name, path, files, findings):
        return None
    try:
        return compile_schema(files[name])
    except InvalidJsonError:
        findings.error(f"INVALID_{kind}_JSON", path, f'the file "{name}" is not valid JSON')
    except InvalidSchemaError as error:
        findings.error(f"INVALID_{kind}_SCHEMA", path, f'the file "{name}" is not a valid JSON Schema: {error}')
    return None
