"""Overrides of configuration values, as `spec.overrides` of a Pacto declares them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.document.contract import Configuration, Contract

Values = Mapping[str, Mapping[str, str]]
"""Values by key, by the name of the configuration."""


class UnknownConfigurationError(ValueError):
    """The override names a configuration that the contract does not declare."""


def override_configurations(contract: Contract, overrides: Values) -> Contract:
    """Return a copy of the contract with the values merged key by key."""
    names = [each.name for each in contract.configurations]
    for name in overrides:
        if name not in names:
            known = ", ".join(names) or "none"
            raise UnknownConfigurationError(f'the contract has no configuration "{name}"; it has: {known}')
    changed = tuple(_override(each, overrides.get(each.name)) for each in contract.configurations)
    return msgspec.structs.replace(contract, configurations=changed)


def override_document(raw: JsonObject, contract: Contract) -> JsonObject:
    """Return a copy of the raw document with the configuration values of the contract, for policies."""
    declared = raw.get("configurations")
    if not isinstance(declared, list):
        return raw
    values = [each.values for each in contract.configurations]
    changed = [each if new is None else {**each, "values": new} for each, new in zip(declared, values, strict=True)]
    return {**raw, "configurations": changed}


def _override(configuration: Configuration, values: Mapping[str, str] | None) -> Configuration:
    if not values:
        return configuration
    return msgspec.structs.replace(configuration, values={**(configuration.values or {}), **values})
