"""Discovery documents list what is served, in both forms."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.server.discovery import groups
from homeostat.server.discovery.document import Document
from homeostat.server.kinds.registry import Kind, ScalePaths

DEPLOYMENT = Kind(
    "apps",
    "v1",
    "Deployment",
    "deployments",
    namespaced=True,
    singular="deployment",
    short_names=("deploy",),
    categories=("all",),
    has_status=True,
    scale=ScalePaths(),
)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False, short_names=("ns",), has_status=True)
CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
REVIEW = Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", False, verbs=("create",))
WIDGETS = [
    Kind("example.com", version, "Widget", "widgets", namespaced=True, custom=True)
    for version in ("v1alpha1", "v1", "v2beta1", "foo")
]
ROLE = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles", namespaced=True)
KINDS = [*WIDGETS, ROLE, NAMESPACE, REVIEW, CONFIG_MAP, DEPLOYMENT]
VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


def read(document: Document | None) -> Any:
    assert document is not None
    return msgspec.json.decode(document.body)


def test_the_core_group_has_one_version() -> None:
    found = read(groups.api_versions("10.0.0.1:7443"))
    assert found["kind"] == "APIVersions"
    assert found["versions"] == ["v1"]
    assert found["serverAddressByClientCIDRs"][0]["serverAddress"] == "10.0.0.1:7443"


def test_groups_stand_in_the_order_of_kubernetes_and_custom_ones_last() -> None:
    found = read(groups.group_list(KINDS))
    names = [each["name"] for each in found["groups"]]
    assert names == ["apps", "authorization.k8s.io", "rbac.authorization.k8s.io", "example.com"]


def test_the_most_stable_version_is_preferred() -> None:
    found = read(groups.group(KINDS, "example.com"))
    assert [each["version"] for each in found["versions"]] == ["v1", "v2beta1", "v1alpha1", "foo"]
    assert found["preferredVersion"] == {"groupVersion": "example.com/v1", "version": "v1"}


@pytest.mark.parametrize(
    ("preferred", "other"),
    [("v2", "v1"), ("v10", "v9"), ("v1", "v2beta1"), ("v1beta2", "v1beta1"), ("v1beta1", "v3alpha1"), ("v1", "x1")],
)
def test_versions_are_ordered_as_kubernetes_orders_them(preferred: str, other: str) -> None:
    assert groups.version_order(preferred) < groups.version_order(other)


@pytest.mark.parametrize("name", ["", "nothing.example.com", "apiregistration.k8s.io"])
def test_a_group_that_is_not_served_has_no_document(name: str) -> None:
    assert groups.group(KINDS, name) is None
    assert groups.resource_list(KINDS, name, "v9") is None


def test_a_resource_list_has_kinds_and_subresources_by_name() -> None:
    found = read(groups.resource_list(KINDS, "", "v1"))
    assert found["groupVersion"] == "v1"
    names = [each["name"] for each in found["resources"]]
    assert names == ["configmaps", "namespaces", "namespaces/finalize", "namespaces/status"]


def test_a_resource_says_what_clients_need_of_it() -> None:
    deployments, scale, status = read(groups.resource_list(KINDS, "apps", "v1"))["resources"]
    assert len(deployments.pop("storageVersionHash")) == 12
    assert deployments == {
        "name": "deployments",
        "singularName": "deployment",
        "namespaced": True,
        "kind": "Deployment",
        "verbs": VERBS,
        "shortNames": ["deploy"],
        "categories": ["all"],
    }
    assert scale["name"] == "deployments/scale"
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
    assert status == {
        "name": "deployments/status",
        "singularName": "",
        "namespaced": True,
        "kind": "Deployment",
        "verbs": ["get", "patch", "update"],
    }


def test_a_review_can_only_be_created() -> None:
    (found,) = read(groups.resource_list(KINDS, "authorization.k8s.io", "v1"))["resources"]
    assert found["verbs"] == ["create"]
    assert "storageVersionHash" not in found


def test_aggregated_discovery_has_the_core_group_at_one_address_and_the_others_at_another() -> None:
    core, others = read(groups.aggregated_core(KINDS)), read(groups.aggregated_groups(KINDS))
    assert core["kind"] == others["kind"] == "APIGroupDiscoveryList"
    assert core["apiVersion"] == "apidiscovery.k8s.io/v2"
    assert [each["metadata"].get("name") for each in core["items"]] == [None]
    assert others["items"][0]["metadata"]["name"] == "apps"


def test_an_aggregated_resource_says_the_same_as_the_old_form() -> None:
    (version,) = read(groups.aggregated_groups(KINDS))["items"][0]["versions"]
    assert version["freshness"] == "Current"
    (found,) = version["resources"]
    assert found == {
        "resource": "deployments",
        "responseKind": {"group": "", "version": "", "kind": "Deployment"},
        "scope": "Namespaced",
        "singularResource": "deployment",
        "verbs": VERBS,
        "shortNames": ["deploy"],
        "categories": ["all"],
        "subresources": [
            {
                "subresource": "scale",
                "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                "verbs": ["get", "patch", "update"],
            },
            {
                "subresource": "status",
                "responseKind": {"group": "", "version": "", "kind": "Deployment"},
                "verbs": ["get", "patch", "update"],
            },
        ],
    }


def test_the_etag_moves_with_the_kinds_and_not_with_their_order() -> None:
    etag = groups.aggregated_groups(KINDS).etag
    assert groups.aggregated_groups(KINDS[::-1]).etag == etag
    assert groups.aggregated_groups(KINDS[1:]).etag != etag


@pytest.mark.parametrize(
    ("sent", "is_known"),
    [('"AB"', True), ('"X", "AB"', True), ('W/"AB"', True), ("*", True), ('"X"', False), ("", False), ("AB", False)],
)
def test_a_client_with_the_current_document_gets_304(sent: str, is_known: bool) -> None:
    assert Document(b"{}", etag='"AB"').is_known(sent) is is_known


def test_only_a_large_document_takes_long_to_unpack() -> None:
    small, large = Document(b"{}"), Document(bytes(range(256)) * 40_000)
    assert [each.is_quick for each in (small, large)] == [True, True], "the plain form is at hand"
    assert small.pack().is_quick
    assert not large.pack().is_quick


def test_a_packed_document_gives_the_same_bytes() -> None:
    plain = groups.group_list(KINDS)
    body = plain.body
    assert plain.pack().body == body
    assert len(plain.gzip) < len(body)


def test_a_kind_that_has_not_changed_is_not_described_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [Kind("many.dev", "v1", f"K{at}", f"k{at}s", namespaced=True, has_status=True) for at in range(5)]
    described: list[str] = []
    describe = groups.subresources

    def note(kind: Kind) -> list[groups.Subresource]:
        described.append(kind.plural)
        return describe(kind)

    monkeypatch.setattr(groups, "subresources", note)
    groups.aggregated_groups(kinds[:4])
    assert read(groups.aggregated_groups(kinds))["items"][0]["versions"][0]["resources"][4]["resource"] == "k4s"
    assert described == ["k0s", "k1s", "k2s", "k3s", "k4s"]
