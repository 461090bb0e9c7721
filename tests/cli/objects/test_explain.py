"""`homeostat explain` prints the fields that the server's OpenAPI documents have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from homeostat.cli.objects.explain import Schemas, explained
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from tests.cli.running import Cli, Up

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  names: {kind: Lamp, plural: lamps, singular: lamp}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [colour]
            properties:
              colour: {type: string, enum: [red, green], description: The colour of the light.}
              bulbs: {type: array, items: {type: object, properties: {watts: {type: integer, default: 5}}}}
              labels: {type: object, additionalProperties: {type: string}}
"""


@pytest.fixture(scope="module")
def lamps(up: Up) -> Cli:
    assert up.cli("apply", "-f", "-", stdin=DEFINITION).code == 0
    return up.cli


def test_a_kind_is_explained(lamps: Cli) -> None:
    lines = lamps.here("explain", "lamps.spec").out.splitlines()
    assert lines[:3] == ["GROUP:      example.com", "KIND:       Lamp", "VERSION:    v1"]
    assert "FIELD: spec <Object>" in lines
    assert "  colour\t<string> -required-" in lines
    assert "    enum: red, green" in lines
    assert "    The colour of the light." in lines
    assert "  bulbs\t<[]Object>" in lines
    assert "  labels\t<map[string]string>" in lines


def test_a_field_in_a_list_is_explained(lamps: Cli) -> None:
    assert "  watts\t<integer>\n    default: 5\n" in lamps.here("explain", "lamp.spec.bulbs").out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["deploy.spec.replicas"], "FIELD: replicas <integer>"),
        (["deployments.apps.spec.template.spec.containers"], "  name\t<string> -required-"),
        (["pods", "--recursive"], "        containerPort\t<integer> -required-"),
        (["deploy", "--api-version", "apps/v1"], "VERSION:    v1"),
    ],
)
def test_a_built_in_kind_is_explained(lamps: Cli, words: list[str], line: str) -> None:
    assert line in lamps.here("explain", *words).out.splitlines()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["lamps.spec.color"], 'Lamp.spec has no field "color"; did you mean "colour"?'),
        (["lamps.spec.nothing"], "it has: bulbs, colour, labels"),
        (["lmps"], 'did you mean "lamps"?'),
        (["lamps", "--api-version", "example.com/v2"], "it has: example.com/v1"),
    ],
)
def test_what_is_unknown_is_named(lamps: Cli, words: list[str], error: str) -> None:
    ended = lamps.here("explain", *words)
    assert (ended.code, ended.out) == (1, "")
    assert error in ended.err


def test_a_type_within_itself_is_explained_once() -> None:
    tree: JsonObject = {
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/com.example.Tree"}}},
        "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Tree"}],
    }
    schemas = Schemas({"com.example.Tree": tree})
    kind = Kind("example.com", "v1", "trees", "Tree", is_namespaced=True)
    lines: Iterator[str] = explained(schemas, kind, [], schemas.kind(kind), is_recursive=True)
    assert [line for line in lines if "children" in line] == ["  children\t<[]Tree>", "    children\t<[]Tree>"]
