"""The conversation about custom kinds whose versions a webhook converts."""

from __future__ import annotations

from typing import Any

from tests.differential.converter import FAULTS, Converter
from tests.differential.step import APPLY, CRDS, JSON, MERGE, PARTIAL_LIST, TABLE, Step

V1 = "/apis/example.com/v1/namespaces/diff/tables"
V2 = "/apis/example.com/v2/namespaces/diff/tables"
NAME = "tables.example.com"


def _schema(**spec: Any) -> dict[str, Any]:
    status = {"type": "object", "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}}}
    members = {"spec": {"type": "object", "properties": spec}, "status": status}
    return {"openAPIV3Schema": {"type": "object", "properties": members}}


def definition(conversion: dict[str, Any] | None = None, plural: str = "tables") -> dict[str, Any]:
    """v1 is stored; both versions have defaults of their own."""
    number, text = {"type": "integer"}, {"type": "string"}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    versions = [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": _schema(size=number, color={**text, "default": "red"}),
            "subresources": {"status": {}, "scale": scale},
        },
        {
            "name": "v2",
            "served": True,
            "storage": False,
            "schema": _schema(
                dimensions={"type": "object", "nullable": True, "properties": {"width": number}},
                color=text,
                extra={**text, "default": "x"},
            ),
            "subresources": {"status": {}, "scale": {**scale, "specReplicasPath": ".spec.dimensions.width"}},
            "additionalPrinterColumns": [{"name": "Width", "type": "integer", "jsonPath": ".spec.dimensions.width"}],
            "selectableFields": [{"jsonPath": ".spec.dimensions.width"}],
        },
    ]
    kind = plural.removesuffix("s").capitalize()
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {**spec, "conversion": conversion} if conversion is not None else spec,
    }


def one(name: str, size: int = 1, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Table",
        "metadata": {"name": name, **metadata},
        "spec": {"size": size},
    }


def two(name: str, width: int | None = 1, **spec: Any) -> dict[str, Any]:
    dimensions = {} if width is None else {"dimensions": {"width": width}}
    return {
        "apiVersion": "example.com/v2",
        "kind": "Table",
        "metadata": {"name": name},
        "spec": {**dimensions, **spec},
    }


def _apply(what: str, manager: str, obj: dict[str, Any], *, force: bool = False) -> Step:
    path = V1 if obj["apiVersion"].endswith("v1") else V2
    query = f"fieldManager={manager}" + ("&force=true" if force else "")
    return Step(what, "PATCH", f"{path}/{obj['metadata']['name']}?{query}", obj, APPLY)


STEPS = [
    Step("create at the other version", "POST", V2, two("a", 3)),
    Step("stored as", "GET", f"{V1}/a"),
    Step("shown as", "GET", f"{V2}/a"),
    Step("create at the stored version", "POST", V1, one("b", 4, labels={"old": "one"})),
    Step("read at the other version", "GET", f"{V2}/b"),
    Step("unknown field", "POST", V2, two("c", 5, size=1)),
    Step("invalid at its version", "POST", V2, two("d", None, dimensions="wide")),
    Step("dry run", "POST", f"{V2}?dryRun=All", two("e", 5)),
    Step("merge", "PATCH", f"{V2}/a", {"spec": {"dimensions": {"width": 6}}}, MERGE),
    Step("json patch", "PATCH", f"{V2}/a", [{"op": "replace", "path": "/spec/color", "value": "blue"}], JSON),
    Step("patch of an absent field", "PATCH", f"{V1}/a", [{"op": "remove", "path": "/spec/dimensions"}], JSON),
    Step("status", "PATCH", f"{V2}/a/status", {"status": {"phase": "Ready"}, "spec": {"color": "red"}}, MERGE),
    Step("status at the stored version", "GET", f"{V1}/a/status"),
    Step("scale", "GET", f"{V2}/a/scale"),
    Step("scaled", "PATCH", f"{V2}/a/scale", {"spec": {"replicas": 8}}, MERGE),
    Step("scaled at the stored version", "GET", f"{V1}/a"),
    Step("put without a version", "PUT", f"{V2}/a", two("a", 9)),
    Step("put of a wrong version", "PUT", f"{V2}/a", one("a", 9)),
    Step("list", "GET", V2, is_late=True),
    Step("list of the stored version", "GET", V1, is_late=True),
    Step("table", "GET", V2, accept=TABLE, is_late=True),
    Step("metadata", "GET", V2, accept=PARTIAL_LIST, is_late=True),
    Step("selected by a field", "GET", f"{V2}?fieldSelector=spec.dimensions.width=4", is_late=True),
    Step("selected by a label", "GET", f"{V2}?labelSelector=old", is_late=True),
    Step("page", "GET", f"{V2}?limit=1", is_late=True),
    Step("applied", "POST", V2, two("m", 3)),
    _apply("conflict between versions", "a", one("m", 4)),
    _apply("forced between versions", "a", one("m", 4), force=True),
    _apply("conflict the other way", "b", two("m", 5)),
    _apply("forced the other way", "b", two("m", 5), force=True),
    _apply("left out at its version", "b", two("m", None, color="blue")),
    _apply("applied at the other version", "c", one("m", 7), force=True),
    _apply("left out at the other version", "c", two("m", None)),
    _apply("created", "d", two("n", 1)),
    _apply("the same at the other version", "d", one("n", 1)),
    _apply("other managers keep theirs", "e", two("n", None, color="green")),
    Step("updated at the other version", "PATCH", f"{V2}/n", {"spec": {"dimensions": {"width": 2}}}, MERGE),
    Step("deleted at the other version", "DELETE", f"{V2}/n"),
    Step("deleted with a wrong uid", "DELETE", f"{V2}/a", {"preconditions": {"uid": "x"}}),
    Step("finalized", "POST", V2, {**two("f"), "metadata": {"name": "f", "finalizers": ["example.com/x"]}}),
    Step("deleted with a finalizer", "DELETE", f"{V2}/f"),
    Step("released", "PATCH", f"{V2}/f", {"metadata": {"finalizers": None}}, MERGE),
    Step("gone", "GET", f"{V1}/f"),
    Step("collection", "DELETE", f"{V2}?labelSelector=old"),
]
"""With a webhook that works."""

FAULTY = [
    step
    for name in sorted(FAULTS)
    for step in (
        Step(f"created {name}", "POST", V1, one(name, labels={"old": "one"})),
        Step(f"read {name}", "GET", f"{V2}/{name}"),
        Step(f"deleted {name}", "DELETE", f"{V1}/{name}"),
    )
]
"""The webhook answers wrongly about each. They are read one by one: a real server's caches would fail as a whole."""

_URL = {"url": "https://example.com/convert"}


def _webhook(config: Any = None, versions: Any = ("v1",)) -> dict[str, Any]:
    webhook = {"clientConfig": config or _URL, "conversionReviewVersions": versions and list(versions)}
    return {"strategy": "Webhook", "webhook": webhook}


def _service(**service: Any) -> dict[str, Any]:
    return _webhook({"service": service})


_CONVERSIONS: dict[str, dict[str, Any]] = {
    "nothing": {"strategy": "Webhook"},
    "an empty webhook": {"strategy": "Webhook", "webhook": {}},
    "no config": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}},
    "url and service": _webhook({**_URL, "service": {"name": "a", "namespace": "b"}}),
    "a service without names": _service(),
    "a service": _service(name="a", namespace="b"),
    "a relative path": _service(name="a", namespace="b", path="x"),
    "a bad path": _service(name="a", namespace="b", path="/x//y?z"),
    "a bad port": _service(name="a", namespace="b", port=70000),
    "plain http": _webhook({"url": "http://a/b"}),
    "no host": _webhook({"url": "https://"}),
    "a query": _webhook({"url": "https://a/b?c=d"}),
    "a fragment": _webhook({"url": "https://a/b#f"}),
    "an empty url": _webhook({"url": ""}),
    "no review versions": _webhook(versions=None),
    "an unknown review version": _webhook(versions=["v2"]),
    "a repeated review version": _webhook(versions=["v1", "v1"]),
    "a bad review version": _webhook(versions=["V_1"]),
    "the older review version": _webhook(versions=["v1beta1"]),
    "an empty bundle": _webhook({**_URL, "caBundle": ""}),
    "no strategy": {},
    "an empty strategy": {"strategy": ""},
    "another strategy": {"strategy": "Other"},
    "None with a webhook": {**_webhook(), "strategy": "None"},
    "None with an empty webhook": {"strategy": "None", "webhook": {}},
}
DEFINITIONS = [
    Step(f"conversion with {name}", "POST", f"{CRDS}?dryRun=All", definition(conversion, "chairs"))
    for name, conversion in _CONVERSIONS.items()
]


LAMPS1 = "/apis/example.com/v1/namespaces/diff/lamps"
LAMPS2 = "/apis/example.com/v2/namespaces/diff/lamps"


def _lamp(version: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"example.com/{version}", "kind": "Lamp", "metadata": {"name": name}, "spec": spec}


UNCONVERTED = [
    Step("lamp", "POST", LAMPS1, _lamp("v1", "l", size=1, color="blue")),
    Step("lamp at the other version", "GET", f"{LAMPS2}/l"),
    Step("lamps at the other version", "GET", LAMPS2, is_late=True),
    Step("lamp of the other version", "POST", LAMPS2, _lamp("v2", "m", dimensions={"width": 2})),
    Step("lamp of the other version, stored", "GET", f"{LAMPS1}/m"),
    Step("lamp of the other version, read", "GET", f"{LAMPS2}/m"),
    Step("lamp of the other version, patched", "PATCH", f"{LAMPS2}/m", {"spec": {"color": "blue"}}, MERGE),
]
"""Without a webhook: a version shows what its schema knows, and the stored one keeps what its own knows."""


def setup(converter: Converter) -> list[Step]:
    return [
        Step("definition", "POST", CRDS, definition(converter.conversion())),
        Step("definition without a webhook", "POST", CRDS, definition(plural="lamps")),
    ]
