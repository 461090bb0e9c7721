"""Custom kinds: defined, used and removed with nothing but kubectl."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from homeostat.objects import yaml
from tests.kubectl.kubectl import Kubectl
from tests.kubectl.manifests import DEFINITION, GARDEN
from tests.served import ServedPlane

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture
def group(plane: ServedPlane, unique: str) -> Iterator[str]:
    """A group of the test's own in which gardens are defined."""
    group = f"{unique}.example.com"
    definition = yaml.load(DEFINITION.format(group=group).encode())
    plane.ask("POST", _DEFINITIONS, definition)
    yield group
    plane.ask("DELETE", f"{_DEFINITIONS}/gardens.{group}")


def plant(kubectl: Kubectl, group: str, name: str = "rose") -> None:
    kubectl("apply", "-f", "-", stdin=GARDEN.format(group=group, name=name))


def test_a_custom_object_has_its_columns_and_names(kubectl: Kubectl, group: str) -> None:
    plant(kubectl, group)
    header, row = kubectl("get", f"gardens.{group}").splitlines()
    assert (header.split(), row.split()) == (["NAME", "BEDS"], ["rose", "3"])
    header, row = kubectl("get", f"garden.v1.{group}/rose", "-o", "wide").splitlines()
    assert (header.split(), row.split()) == (["NAME", "BEDS", "SOIL"], ["rose", "3", "loam"])


def test_short_names_and_categories_find_it(kubectl: Kubectl, group: str) -> None:
    plant(kubectl, group)
    name = f"garden.{group}/rose\n"
    assert kubectl("get", "gd", "-o", "name") == name
    assert kubectl("get", "outdoors", "-o", "name") == name
    assert kubectl("get", "all", "-o", "name") == name
    listed = kubectl("api-resources", f"--api-group={group}", "--no-headers").split()
    assert listed == ["gardens", "gd", f"{group}/v1", "true", "Garden"]


def test_it_is_explained_and_described(kubectl: Kubectl, group: str) -> None:
    plant(kubectl, group)
    told = kubectl("explain", "gardens.spec", f"--api-version={group}/v1")
    assert "What should grow." in told
    assert "beds\t<integer> -required-" in told
    assert "enum: loam, sand, clay" in told
    told = kubectl("explain", "gardens", "--recursive", f"--api-version={group}/v1")
    assert "      rows\t<integer>" in told
    told = kubectl("describe", f"gardens.{group}", "rose")
    assert "Soil:  loam" in told


def test_it_is_applied_patched_labelled_and_scaled(kubectl: Kubectl, group: str) -> None:
    plant(kubectl, group)
    target = f"gardens.{group}/rose"
    more = GARDEN.format(group=group, name="rose").replace("beds: 3", "beds: 4, soil: sand")
    assert kubectl("apply", "-f", "-", stdin=more) == f"garden.{group}/rose configured\n"
    plant(kubectl, group)
    assert kubectl("get", target, "-o", "jsonpath={.spec}") == '{"beds":3,"soil":"loam"}'
    kubectl("patch", target, "--type=merge", "-p", '{"spec": {"soil": "clay"}}')
    kubectl("label", target, "size=small")
    kubectl("scale", target, "--replicas=6")
    shown = kubectl("get", target, "-o", "jsonpath={.spec.soil} {.metadata.labels.size} {.spec.beds}")
    assert shown == "clay small 6"
    assert kubectl("get", "gd", "--field-selector=spec.soil=clay", "-o", "name") == f"garden.{group}/rose\n"
    assert kubectl("get", "gd", "--field-selector=spec.soil=sand", "-o", "name") == ""


def test_its_status_is_awaited(kubectl: Kubectl, group: str) -> None:
    plant(kubectl, group)
    target = f"gardens.{group}/rose"
    wait = kubectl.start("wait", target, "--for=condition=Ready", "--timeout=10s")
    status = '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}'
    kubectl("patch", target, "--subresource=status", "--type=merge", "-p", status)
    said, _ = wait.communicate(timeout=30)
    assert (wait.returncode, said) == (0, f"garden.{group}/rose condition met\n")
    assert kubectl("get", target, "-o", "jsonpath={.metadata.generation}") == "1"


def test_a_bad_object_is_refused_with_its_reason(kubectl: Kubectl, group: str) -> None:
    for spec, said in (
        ("{beds: 0}", "spec.beds: Invalid value: 0: spec.beds in body should be greater than or equal to 1"),
        ("{beds: many}", 'spec.beds: Invalid value: "string": spec.beds in body must be of type integer: "string"'),
        ("{}", "spec.beds: Required value"),
        ("{beds: 1, soil: rock}", 'spec.soil: Unsupported value: "rock": supported values: "loam", "sand", "clay"'),
        ("{beds: 1, weeds: 2}", 'strict decoding error: unknown field "spec.weeds"'),
        ("{beds: 1, plants: [{name: a}, {name: b}]}", "every plant needs a bed"),
    ):
        manifest = GARDEN.format(group=group, name="rose").replace("{beds: 3}", spec)
        assert said in kubectl.fails("apply", "-f", "-", stdin=manifest)


def test_server_side_apply_owns_its_fields(kubectl: Kubectl, group: str) -> None:
    manifest = GARDEN.format(group=group, name="rose")
    kubectl("apply", "--server-side", "-f", "-", stdin=manifest)
    said = kubectl.fails(
        "apply", "--server-side", "--field-manager=other", "-f", "-", stdin=manifest.replace("beds: 3", "beds: 4")
    )
    assert 'conflict with "kubectl": .spec.beds' in said


def test_a_strategic_patch_is_not_for_custom_kinds(kubectl: Kubectl, group: str) -> None:
    plant(kubectl, group)
    said = kubectl.fails("patch", f"gardens.{group}/rose", "--type=strategic", "-p", '{"spec": {"beds": 2}}')
    assert f"application/strategic-merge-patch+json is not supported by {group}/v1, Kind=Garden" in said


def test_the_definition_goes_with_its_objects(kubectl: Kubectl, unique: str) -> None:
    group = f"{unique}.example.com"
    kubectl("apply", "-f", "-", stdin=DEFINITION.format(group=group))
    kubectl("wait", f"crd/gardens.{group}", "--for=condition=Established", "--timeout=10s")
    plant(kubectl, group)
    kubectl("delete", "crd", f"gardens.{group}", "--timeout=15s")
    assert "doesn't have a resource type" in kubectl.fails("get", f"gardens.{group}")
    kubectl("apply", "-f", "-", stdin=DEFINITION.format(group=group))
    assert msgspec.json.decode(kubectl("get", f"gardens.{group}", "-o", "json"))["items"] == []
    kubectl("delete", "crd", f"gardens.{group}", "--timeout=15s")
