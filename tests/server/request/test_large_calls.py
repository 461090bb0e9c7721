"""Nobody waits for the large calls of others: bodies of megabytes, while another connection asks again and again."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homeostat.objects.schema.rules.check import MAX_RULES
from tests.served import ServedPlane, serve_plane

pytestmark = pytest.mark.slow

LONGEST_GAP_S = 1.0
"""Far more than it is on a quiet machine; each of these calls once held everybody up for longer, all the time."""
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlane]:
    data: Path = tmp_path_factory.mktemp("plane") / "data"
    with serve_plane(data) as served:
        yield served


class Gap:
    """How long somebody else had to wait at most, and how long they may: on a busy machine everything takes longer."""

    longest_s = 0.0
    lasted_s = 0.0

    @property
    def bound_s(self) -> float:
        return max(LONGEST_GAP_S, self.lasted_s / 2)


@contextmanager
def other_connection(plane: ServedPlane) -> Iterator[Gap]:
    """Another client, which asks again as soon as it has its answer."""
    gap, is_over, has_begun = Gap(), threading.Event(), threading.Event()

    def ask_again_and_again() -> None:
        connection = plane.connect()
        while not is_over.is_set():
            began = time.perf_counter()
            connection.request("GET", "/api/v1/namespaces/default")
            connection.getresponse().read()
            if has_begun.is_set():
                gap.longest_s = max(gap.longest_s, time.perf_counter() - began)
            has_begun.set()
            time.sleep(0.005)
        connection.close()

    asking = threading.Thread(target=ask_again_and_again)
    asking.start()
    try:
        has_begun.wait(30)
        began = time.perf_counter()
        yield gap
        gap.lasted_s = time.perf_counter() - began
    finally:
        is_over.set()
        asking.join()


def send(plane: ServedPlane, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    payload = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
    kind = headers.pop("content_type", "application/json")
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, context=plane.trust, timeout=60)
    try:
        connection.request(method, path, payload, {"Content-Type": kind, **headers})
        answer = connection.getresponse()
        return answer.status, msgspec.json.decode(answer.read())
    finally:
        connection.close()


def definition(plural: str, schema: dict[str, Any], **names: object) -> dict[str, Any]:
    kind = plural[:-1].capitalize()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.large.dev"},
        "spec": {
            "group": "large.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": [version],
        },
    }


def custom(plural: str, name: str, **members: object) -> dict[str, Any]:
    kind = plural[:-1].capitalize()
    return {"apiVersion": "large.dev/v1", "kind": kind, "metadata": {"name": name}, **members}


def objects_of(plural: str) -> str:
    return f"/apis/large.dev/v1/namespaces/default/{plural}"


def ruled(count: int, field: str = "size") -> dict[str, Any]:
    rules = [{"rule": f"self.{field} != {at}"} for at in range(count)]
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}, "x-kubernetes-validations": rules}
    return {"type": "object", "properties": {"spec": spec}}


def chunk(number: int, content: bytes) -> bytes:
    length, size = b"", len(content)
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def protobuf_map_with_finalizers(count: int) -> bytes:
    raw = chunk(1, chunk(1, b"many") + chunk(14, b"") * count)
    return b"k8s\0" + chunk(1, chunk(1, b"v1") + chunk(2, b"ConfigMap")) + chunk(2, raw)


def config_map(**metadata: object) -> dict[str, Any]:
    return {"metadata": {"name": "many", **metadata}}


REFUSED: dict[str, tuple[str, object, str, int, str]] = {
    "a list of nulls": (
        PODS,
        {"metadata": {"name": "many"}, "spec": {"containers": [None] * 600_000}},
        "application/json",
        400,
        "spec.containers: has more than 100000 nulls",
    ),
    "finalizers without a name": (
        CONFIG_MAPS,
        config_map(finalizers=[""] * 900_000),
        "application/json",
        422,
        'metadata.finalizers: Invalid value: "": name part must be non-empty',
    ),
    "finalizers in protobuf": (
        CONFIG_MAPS,
        protobuf_map_with_finalizers(1_400_000),
        PROTOBUF,
        422,
        "name part must be non-empty",
    ),
    "labels that are none": (
        CONFIG_MAPS,
        config_map(labels={f"-{at}": "-" for at in range(190_000)}),
        "application/json",
        422,
        "metadata.labels: Invalid value",
    ),
    "rules that do not compile": (
        DEFINITIONS,
        definition("wrongs", ruled(MAX_RULES, field="other")),
        "application/json",
        422,
        "undefined field 'other'",
    ),
    "short names that are none": (
        DEFINITIONS,
        definition("shorts", {"type": "object"}, shortNames=["A"] * 600_000),
        "application/json",
        422,
        "spec.names.shortNames[0]: Invalid value",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_a_body_with_many_problems_does_not_block_others(
    plane: ServedPlane, case: tuple[str, object, str, int, str]
) -> None:
    path, body, content_type, code, told = case
    payload = body if isinstance(body, bytes) else msgspec.json.encode(body)
    with other_connection(plane) as gap:
        status, answer = send(plane, "POST", path, payload, content_type=content_type)
    assert status == code
    assert told in answer["message"]
    assert len(answer.get("details", {}).get("causes", ())) <= 100
    assert gap.longest_s < gap.bound_s


def test_a_definition_with_many_rules_does_not_block_others(plane: ServedPlane) -> None:
    body = msgspec.json.encode(definition("ruleds", ruled(MAX_RULES)))
    with other_connection(plane) as gap:
        assert send(plane, "POST", DEFINITIONS, body)[0] == 201
        assert send(plane, "POST", objects_of("ruleds"), custom("ruleds", "good", spec={"size": -1}))[0] == 201
        status, answer = send(plane, "POST", objects_of("ruleds"), custom("ruleds", "bad", spec={"size": 7}))
    assert (status, answer["details"]["causes"]) == (
        422,
        [
            {
                "reason": "FieldValueInvalid",
                "message": 'Invalid value: "object": failed rule: self.size != 7',
                "field": "spec",
            }
        ],
    )
    assert gap.longest_s < gap.bound_s


def test_an_object_with_a_rule_for_each_item_does_not_block_others(plane: ServedPlane) -> None:
    item = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}
    schema = {"type": "object", "properties": {"sizes": {"type": "array", "items": item}}}
    assert send(plane, "POST", DEFINITIONS, definition("listeds", schema))[0] == 201
    good = msgspec.json.encode(custom("listeds", "good", sizes=[1] * 1_400_000))
    bad = msgspec.json.encode(custom("listeds", "bad", sizes=[0] * 1_400_000))
    with other_connection(plane) as gap:
        assert send(plane, "POST", objects_of("listeds"), good)[0] == 201
        status, answer = send(plane, "POST", objects_of("listeds"), bad)
    assert (status, len(answer["details"]["causes"])) == (422, 100)
    assert gap.longest_s < gap.bound_s


def test_rules_that_cost_much_on_a_small_object_have_their_whole_budget(plane: ServedPlane) -> None:
    rules = [{"rule": f"self.sizes.map(each, each + {at}).size() > 0"} for at in range(1_200)]
    sizes = {"type": "array", "maxItems": 1_000, "items": {"type": "integer"}}
    schema = {"type": "object", "properties": {"sizes": sizes}, "x-kubernetes-validations": rules}
    assert send(plane, "POST", DEFINITIONS, definition("costlies", schema))[0] == 201
    affordable, _ = send(plane, "POST", objects_of("costlies"), custom("costlies", "affordable", sizes=[1] * 400))
    status, answer = send(plane, "POST", objects_of("costlies"), custom("costlies", "dear", sizes=[1] * 1_000))
    assert affordable == 201
    assert (status, "running out of cost budget" in answer["message"]) == (422, True)


def test_slow_patterns_do_not_block_others(plane: ServedPlane) -> None:
    members = {f"m{at}": {"type": "string", "pattern": f"^[a-z]{{1,500}}x{at}$"} for at in range(6_000)}
    members["slow"] = {"type": "string", "pattern": "[ab]*a[ab]{900}c"}
    body = definition("matcheds", {"type": "object", "properties": members})
    with other_connection(plane) as gap:
        assert send(plane, "POST", DEFINITIONS, body)[0] == 201
        assert send(plane, "POST", objects_of("matcheds"), custom("matcheds", "good", m7="ax7"))[0] == 201
        assert send(plane, "POST", objects_of("matcheds"), custom("matcheds", "bad", m7="ax8"))[0] == 422
        slow, answer = send(plane, "POST", objects_of("matcheds"), custom("matcheds", "slow", slow="ab" * 400_000))
    assert (slow, "a value of 800000 characters is too long" in answer["message"]) == (422, True)
    assert gap.longest_s < gap.bound_s


def test_a_patch_of_a_large_object_does_not_block_others(plane: ServedPlane) -> None:
    arguments = ["x"] * 400_000
    pod = {"metadata": {"name": "large"}, "spec": {"containers": [{"name": "a", "image": "b", "args": arguments}]}}
    assert send(plane, "POST", PODS, pod)[0] == 201
    operations = [{"op": "add", "path": "/spec/containers/0/args/0", "value": ""}] * 10_000
    with other_connection(plane) as gap:
        status, _ = send(plane, "PATCH", f"{PODS}/large", operations, content_type="application/json-patch+json")
        labelled, answer = send(
            plane,
            "PATCH",
            f"{PODS}/large",
            {"metadata": {"labels": {"a": "b"}}},
            content_type="application/merge-patch+json",
        )
    assert (status, labelled, answer["metadata"]["labels"]) == (422, 200, {"a": "b"})
    assert gap.longest_s < gap.bound_s


def test_discovery_of_many_versions_does_not_block_others(plane: ServedPlane) -> None:
    many = definition("versioneds", {"type": "object"})
    version = many["spec"]["versions"][0]
    many["spec"]["versions"] = [{**version, "name": f"v{at}", "storage": at == 1} for at in range(1, 8_000)]
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    with other_connection(plane) as gap:
        assert send(plane, "POST", DEFINITIONS, many)[0] == 201
        _, found = send(plane, "GET", "/apis", Accept=aggregated)
        assert send(plane, "DELETE", f"{DEFINITIONS}/versioneds.large.dev")[0] == 200
    versions = next(each["versions"] for each in found["items"] if each["metadata"]["name"] == "large.dev")
    assert [each["resources"][0]["resource"] for each in versions[:2]] == ["versioneds", "versioneds"]
    assert len(versions) == 7_999
    assert gap.longest_s < gap.bound_s


def test_a_role_with_very_many_permissions_is_denied_without_blocking_others(
    plane: ServedPlane,
) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    may_write = {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"]}
    subject = {"kind": "User", "name": "mallory", "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"kind": "ClusterRole", "name": "writer", "apiGroup": "rbac.authorization.k8s.io"}
    assert send(plane, "POST", f"{rbac}/clusterroles", {"metadata": {"name": "writer"}, "rules": [may_write]})[0] == 201
    binding = {"metadata": {"name": "writer"}, "roleRef": ref, "subjects": [subject]}
    assert send(plane, "POST", f"{rbac}/clusterrolebindings", binding)[0] == 201
    many = [f"v{at}" for at in range(3_000)]
    role = {"metadata": {"name": "huge"}, "rules": [{"verbs": many, "apiGroups": many, "resources": many}]}
    with other_connection(plane) as gap:
        status, answer = send(plane, "POST", f"{rbac}/clusterroles", role, **{"Impersonate-User": "mallory"})
    assert (status, "attempting to grant RBAC permissions not currently held" in answer["message"]) == (403, True)
    assert gap.longest_s < gap.bound_s


def test_a_table_whose_columns_search_every_object_does_not_block_others(plane: ServedPlane) -> None:
    body = definition("searcheds", {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    body["spec"]["versions"][0]["additionalPrinterColumns"] = [
        {"name": f"Item {at}", "type": "string", "jsonPath": f'.items[?(@.key=="k{at}")].value'} for at in range(100)
    ]
    assert send(plane, "POST", DEFINITIONS, body)[0] == 201
    items = [{"key": f"k{at}", "value": f"v{at}"} for at in range(1_500)]
    for at in range(2):
        assert send(plane, "POST", objects_of("searcheds"), custom("searcheds", f"s{at}", items=items))[0] == 201
    as_table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    with other_connection(plane) as gap:
        _, table = send(plane, "GET", objects_of("searcheds"), Accept=as_table)
    assert [row["cells"][:3] for row in table["rows"]] == [[f"s{at}", "v0", "v1"] for at in range(2)]
    assert gap.longest_s < gap.bound_s
