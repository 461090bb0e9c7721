"""No request holds up the others: while a hostile one is served, another connection is answered.

The plane runs in a process of its own. The bound on the longest wait is generous, because tests share their machine;
each of these requests held the plane for longer once, or would fill its memory. What bounds their work is counted in
the tests of the parts (steps, comparisons, values).
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from tests.api.conftest import JSON_PATCH, STRATEGIC_PATCH
from tests.served import ServedPlane, serve_plane

_LONGEST_WAIT_S = 3.0
_ANSWERED_WITHIN_S = 120

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
YAML = "application/yaml"


class Attack(NamedTuple):
    method: str
    path: str
    body: Any
    statuses: set[int]
    message: str
    media: str = "application/json"


def custom(plural: str) -> str:
    return f"/apis/hostile.dev/v1/namespaces/default/{plural}"


def definition(plural: str, spec: Any, **more: Any) -> Any:
    kind = plural.capitalize()
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.hostile.dev"},
        "spec": {
            "group": "hostile.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural, "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema, **more}],
        },
    }


def obj(plural: str, spec: Any, name: str = "a") -> Any:
    return {
        "apiVersion": "hostile.dev/v1",
        "kind": plural.capitalize(),
        "metadata": {"name": name},
        "spec": spec,
    }


def lists(**items: Any) -> Any:
    return {"type": "object", "properties": {"a": {"type": "array", "items": items}}}


def default_bomb() -> Any:
    node: Any = {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}}
    for _ in range(5):
        node = {"type": "object", "properties": {"a": {"type": "array", "default": [{}] * 100, "items": node}}}
    return node


def policy(count: int) -> Any:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    return {
        "metadata": {"name": "large"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": f"object.metadata.name != 'x{at}'"} for at in range(count)],
        },
    }


def pod(**container: Any) -> Any:
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}


VOLUMES = [{"name": f"v{at}", "emptyDir": {}} for at in range(8000)]
FORMATS = {"type": "object", "properties": {"d": {"type": "string", "format": "duration"}}}
KINDS = {
    "choices": lists(type="integer", anyOf=[{"minimum": 10_000 + at} for at in range(3000)]),
    "alls": lists(type="integer", allOf=[{"minimum": at - 10_000} for at in range(3000)]),
    "bombs": default_bomb(),
    "frees": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "formats": FORMATS,
}

ATTACKS = {
    "newlines to a review": Attack("POST", REVIEWS, b"\n" * 2_900_000 + b"a: b", {413}, "bytes", YAML),
    "anchors to a review": Attack(
        "POST", REVIEWS, b"a: [" + b",".join(b"&a%d b" % at for at in range(150_000)) + b"]", {413}, "bytes", YAML
    ),
    "flow lists to a review": Attack("POST", REVIEWS, b"{a: [%bx]}" % (b"x," * 60_000), {422}, "is invalid", YAML),
    "directives": Attack(
        "POST",
        CONFIGMAPS,
        b"".join(b"%%TAG !%d! x\n" % at for at in range(100_000)) + b"--- a",
        {400},
        "more than 16 %TAG directives",
        YAML,
    ),
    "empty documents": Attack("POST", CONFIGMAPS, b"---\n" * 700_000, {400}, "more than 1000 empty documents", YAML),
    "keys in YAML": Attack(
        "POST", CONFIGMAPS, b"".join(b"k%d: 1\n" % at for at in range(250_000)), {400}, "keys and values", YAML
    ),
    "objects as delete options": Attack("DELETE", CONFIGMAPS, b'{"a":[%b{}]}' % (b"{}," * 500_000), {413}, "bytes"),
    "deletions by a strategic patch": Attack(
        "PATCH",
        f"{PODS}/volumes",
        {"spec": {"volumes": [{"name": each["name"], "$patch": "delete"} for each in VOLUMES]}},
        {422},
        "pod updates may not change fields",
        STRATEGIC_PATCH,
    ),
    "alternatives of which none holds": Attack(
        "POST", custom("choices"), obj("choices", {"a": [1] * 12_000}), {422}, "must validate at least one schema"
    ),
    "alternatives of which all hold": Attack(
        "POST", custom("alls"), obj("alls", {"a": [1] * 12_000}), {422}, "steps; use fewer items"
    ),
    "defaults of defaults": Attack("POST", custom("bombs"), obj("bombs", {}), {413}, "defaults of the schema add"),
    "many owners": Attack(
        "POST",
        CONFIGMAPS,
        {
            "metadata": {
                "name": "owned",
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": f"n{at}", "uid": f"u{at}"} for at in range(20_000)
                ],
            }
        },
        {422},
        "Too many: 20000",
    ),
    "copies of copies": Attack(
        "PATCH",
        f"{custom('frees')}/a",
        [
            {"op": "add", "path": "/spec/b", "value": [[]] * 10},
            *({"op": "copy", "from": "/spec/b", "path": "/spec/b/-"} for _ in range(40)),
        ],
        {422},
        "too large",
        JSON_PATCH,
    ),
    "a quantity of many digits": Attack(
        "POST", PODS, pod(resources={"requests": {"cpu": "1" * 300_000}}), {400}, "at most 512 characters"
    ),
    "a duration of many digits": Attack(
        "POST", custom("formats"), obj("formats", {"d": "1" * 60_000}), {422}, "must be of type duration"
    ),
    "a policy of many expressions": Attack("POST", POLICIES, policy(15_000), {422}, "Too many: 15000"),
}


class Prober(threading.Thread):
    """Asks for /readyz again and again, and notes how long it waited at the most."""

    def __init__(self, plane: ServedPlane) -> None:
        super().__init__(daemon=True)
        self._connection = plane.connect()
        self._is_over = threading.Event()
        self.longest_s = 0.0
        self.count = 0

    def run(self) -> None:
        self._connection.timeout = _ANSWERED_WITHIN_S
        while not self._is_over.wait(0.005):
            began = time.perf_counter()
            self._connection.request("GET", "/readyz")
            assert self._connection.getresponse().read() == b"ok"
            self.longest_s = max(self.longest_s, time.perf_counter() - began)
            self.count += 1

    def stop(self) -> None:
        self._is_over.set()
        self.join(_ANSWERED_WITHIN_S)
        self._connection.close()


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPlane]:
    with serve_plane(tmp_path_factory.mktemp("blocking") / "plane") as plane:
        for plural, schema in KINDS.items():
            plane.ask("POST", DEFINITIONS, definition(plural, schema))
        plane.ask("POST", custom("frees"), obj("frees", {"a": [1]}))
        volumes = {"metadata": {"name": "volumes"}, "spec": {**pod()["spec"], "volumes": VOLUMES}}
        plane.ask("POST", PODS, volumes)
        yield plane


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hostile_request_is_refused_and_holds_up_nobody(plane: ServedPlane, attack: Attack) -> None:
    body = attack.body if isinstance(attack.body, bytes) else msgspec.json.encode(attack.body)
    prober = Prober(plane)
    prober.start()
    try:
        status, answer = _send(plane, attack, body)
    finally:
        prober.stop()
    assert status in attack.statuses, answer[:500]
    assert attack.message in msgspec.json.decode(answer)["message"]
    assert prober.longest_s < _LONGEST_WAIT_S, f"/readyz waited {prober.longest_s:.1f} s"


def _send(plane: ServedPlane, attack: Attack, body: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, context=plane.trust, timeout=_ANSWERED_WITHIN_S)
    try:
        connection.request(attack.method, attack.path, body, {"Content-Type": attack.media})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
