"""Overrides of configuration values, as an object of the cluster gives them: texts by key, by configuration. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.operators.contracts.engine.document.contract import Configuration, Contract

Values = Mapping[str, Mapping[str, str]]
"""Key and text, by the name of the configuration."""


class UnknownConfigurationError(ValueError):
    """An override of a configuration that the contract does not have."""


def override_configurations(contract: Contract, overrides: Values) -> Contract:
    """The contract with the values merged in key by key; the contract itself is not changed."""
    names = [each.name for each in contract.configurations]
    for name in overrides:
        if name not in names:
            told = ", ".join(names) or "none"
            raise UnknownConfigurationError(f'the contract has no configuration "{name}"; it has: {told}')
    changed = tuple(_override(each, overrides.get(each.name)) for each in contract.configurations)
    return msgspec.structs.replace(contract, configurations=changed)


def override_document(raw: JsonObject, contract: Contract) -> JsonObject:
    """The raw document with the values of a contract's configurations, for those who judge the document."""
    held = raw.get("configurations")
    if not isinstance(held, list):
        return raw
    values = [each.values for each in contract.configurations]
    changed = [each if new is None else {**each, "values": new} for each, new in zip(held, values, strict=True)]
    return {**raw, "configurations": changed}


def _override(configuration: Configuration, values: Mapping[str, str] | None) -> Configuration:
    if not values:
        return configuration
    return msgspec.structs.replace(configuration, values={**(configuration.values or {}), **values})
