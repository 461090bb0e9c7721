"""The definitions that come with the program are accepted by comparison, so they must pass all checks here."""

from __future__ import annotations

from copy import deepcopy

import pytest

from homeostat.objects.crd.definition import default_crd, validate_crd
from homeostat.objects.json import JsonObject
from homeostat.operators.catalog import OURS, find_operator, shipped_definition
from homeostat.server.kinds.builtin import BuiltinBehaviour
from homeostat.server.kinds.custom.definition import DefinitionBehaviour
from homeostat.server.kinds.registry import Registry

SHIPPED = [each for name in sorted(OURS) for each in find_operator(name).definitions()]
PLAIN = BuiltinBehaviour("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


@pytest.fixture
def behaviour() -> DefinitionBehaviour:
    return DefinitionBehaviour(Registry(), shipped_definition)


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda each: str(each["metadata"]["name"]))
def test_a_shipped_definition_passes_every_check(shipped: JsonObject, behaviour: DefinitionBehaviour) -> None:
    definition = deepcopy(shipped)
    assert (PLAIN.type_errors(definition), PLAIN.unknown_fields(definition), PLAIN.prune(definition)) == ([], [], [])
    assert definition == shipped
    default_crd(definition)
    assert validate_crd(definition) == behaviour.check(definition) == []
    assert shipped_definition(shipped["metadata"]["name"]) == shipped


@pytest.mark.parametrize("place", ["spec", "metadata", "names", "top"])
def test_a_changed_one_is_checked(place: str, behaviour: DefinitionBehaviour) -> None:
    definition = deepcopy(SHIPPED[0])
    assert behaviour.unknown_fields(definition) == []
    parts: dict[str, JsonObject] = {
        "spec": definition["spec"],
        "metadata": definition["metadata"],
        "names": definition["spec"]["names"],
        "top": definition,
    }
    parts[place]["surplus"] = 1
    changed = [] if place == "metadata" else [{"spec": "spec.", "names": "spec.names."}.get(place, "") + "surplus"]
    assert behaviour.unknown_fields(definition) == PLAIN.unknown_fields(definition)
    assert [each for each in behaviour.prune(definition) if each != "metadata.surplus"] == changed


def test_a_changed_column_is_refused(behaviour: DefinitionBehaviour) -> None:
    definition = deepcopy(SHIPPED[0])
    default_crd(definition)
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = [{"name": "A", "type": "string", "jsonPath": "{["}]
    assert behaviour.check(definition) != []
