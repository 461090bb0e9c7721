"""The part of the conversation that is about custom kinds: their objects and their definitions."""

from __future__ import annotations

from typing import Any

from tests.api.objects import definition, widget
from tests.differential.step import APPLY, CRDS, JSON, MERGE, STRATEGIC, TABLE, WIDGETS, Step


def _rules() -> dict[str, Any]:
    numbers = {"low": {"type": "integer"}, "high": {"type": "integer"}}
    rules = [
        {"rule": "self.low <= self.high", "message": "low must not exceed high"},
        {"rule": "self.high >= oldSelf.high", "message": "high must not fall"},
    ]
    spec = {"type": "object", "properties": numbers, "x-kubernetes-validations": rules}
    ruled = definition(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}})
    ruled["metadata"]["name"] = "ruled.example.com"
    ruled["spec"]["names"] = {"plural": "ruled", "singular": "rule", "kind": "Ruled", "listKind": "RuledList"}
    return ruled


def _bad_definition(**spec: Any) -> dict[str, Any]:
    bad = definition()
    bad["metadata"]["name"] = "gadgets.example.com"
    bad["spec"]["names"] = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    bad["spec"].update(spec)
    return bad


def _defaulting(default: dict[str, Any]) -> dict[str, Any]:
    """A rule that the default is held to as it is written, whatever would be filled in."""
    spec = {
        "type": "object",
        "properties": {"low": {"type": "integer", "default": 1}, "high": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.low < 5", "message": "too high"}],
        "default": default,
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return _bad_definition(versions=[{"name": "v1", "served": True, "storage": True, "schema": schema}])


_ODDS = "/apis/example.com/v1/namespaces/diff/odds"
_TEXT = {"type": "string"}
_UNKNOWN = {"x-kubernetes-preserve-unknown-fields": True}
_POD = {"apiVersion": "v1", "kind": "Pod"}


def _odd_definition() -> dict[str, Any]:
    """Bounds that no value meets, and members that may and may not be null."""
    members = {
        "short": {**_TEXT, "maxLength": -1},
        "few": {"type": "array", "items": _TEXT, "maxItems": -1},
        "empty": {"type": "object", "additionalProperties": _TEXT, "maxProperties": -1},
        "none": {"type": "integer", "multipleOf": 0},
        "long": {**_TEXT, "minLength": -1},
        "text": _TEXT,
        "nullable": {**_TEXT, "nullable": True},
        "defaulted": {**_TEXT, "default": "x"},
        "anything": {"type": "object", "additionalProperties": True},
        "template": {"type": "object", "x-kubernetes-embedded-resource": True, **_UNKNOWN},
    }
    spec = {"type": "object", "properties": members}
    scale = {"specReplicasPath": ".spec.none", "statusReplicasPath": ".status.none"}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    odd = definition(schema=schema, subresources={"scale": scale})
    odd["metadata"]["name"] = "odds.example.com"
    odd["spec"]["names"] = {"plural": "odds", "singular": "odd", "kind": "Odd", "listKind": "OddList"}
    return odd


def _odd(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": name}, "spec": spec}


_ODD_VALUES = {"short": "", "few": [], "empty": {}, "none": 4, "long": ""}
_ODD_STEPS = [
    *(
        Step(f"odd {name}", "POST", f"{_ODDS}?dryRun=All", _odd("a", **{name: value}))
        for name, value in _ODD_VALUES.items()
    ),
    *(
        Step(
            f"odd apply of null {name}",
            "PATCH",
            f"{_ODDS}/a?dryRun=All&fieldManager=m",
            _odd("a", **{name: None}),
            APPLY,
        )
        for name in ("text", "nullable", "defaulted")
    ),
    *(
        Step(f"odd anything {at}", "POST", f"{_ODDS}?dryRun=All", _odd("a", anything=each))
        for at, each in enumerate(({"a": None}, {"a": {"b": 1}}, {"a": [{"b": None}]}, {"a": 5}))
    ),
    *(
        Step(f"odd template {at}", "POST", f"{_ODDS}?dryRun=All", _odd("a", template=each))
        for at, each in enumerate(
            (
                {**_POD, "metadata": None},
                {**_POD, "metadata": {}},
                {**_POD, "apiVersion": ""},
                {**_POD, "kind": ""},
                {"kind": "Pod"},
                {**_POD, "spec": {"a": None}},
            )
        )
    ),
    Step(
        "definition of a column that is none",
        "POST",
        f"{CRDS}?dryRun=All",
        _bad_definition(
            versions=[
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                    "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a["}],
                }
            ]
        ),
    ),
    Step("odd scale strategic", "PATCH", f"{_ODDS}/a/scale", {"spec": {"replicas": 1}}, STRATEGIC),
    Step("odd null", "POST", f"{_ODDS}?dryRun=All", _odd("a", text=None)),
]

CUSTOM_SETUP = [
    Step(
        "definition",
        "POST",
        CRDS,
        definition(
            additionalPrinterColumns=[
                {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
            ],
            selectableFields=[{"jsonPath": ".spec.color"}],
        ),
    ),
    Step("odd definition", "POST", CRDS, _odd_definition()),
    Step("ruled definition", "POST", CRDS, _rules()),
]

CUSTOM_STEPS = [
    Step("widget", "POST", WIDGETS, widget()),
    Step("widget unknown field", "POST", WIDGETS, widget("u", {"size": 1, "bogus": 2})),
    Step("widget strict", "POST", f"{WIDGETS}?fieldValidation=Strict", widget("v", {"size": 1, "bogus": 2})),
    Step("widget invalid", "POST", WIDGETS, widget("x", {"size": "big", "color": "blue"})),
    Step("widget negative", "POST", WIDGETS, widget("x", {"size": -1})),
    Step("widget missing", "POST", WIDGETS, widget("x", {})),
    Step("widget no spec type", "POST", WIDGETS, {**widget("x"), "spec": []}),
    Step("widget duplicate parts", "POST", WIDGETS, widget("x", {"size": 1, "parts": [{"name": "a"}, {"name": "a"}]})),
    Step("widget put without version", "PUT", f"{WIDGETS}/w", widget(spec={"size": 2})),
    Step("widget put creates nothing", "PUT", f"{WIDGETS}/none", widget("none", resourceVersion="1")),
    Step("widget merge", "PATCH", f"{WIDGETS}/w", {"spec": {"size": 3}}, MERGE),
    Step("widget merge invalid", "PATCH", f"{WIDGETS}/w", {"spec": {"size": "x"}}, MERGE),
    Step("widget strategic", "PATCH", f"{WIDGETS}/w", {"spec": {"size": 3}}, STRATEGIC),
    Step("widget status", "PATCH", f"{WIDGETS}/w/status", {"status": {"phase": "Ready"}, "spec": {"size": 9}}, MERGE),
    Step(
        "widget apply",
        "PATCH",
        f"{WIDGETS}/w2?fieldManager=one",
        widget("w2", {"size": 1, "parts": [{"name": "a", "count": 1}]}),
        APPLY,
    ),
    Step(
        "widget apply other part",
        "PATCH",
        f"{WIDGETS}/w2?fieldManager=two",
        widget("w2", {"size": 1, "parts": [{"name": "b"}]}),
        APPLY,
    ),
    Step("widget without a kind", "POST", f"{WIDGETS}?dryRun=All", {"metadata": {"name": "w9"}, "spec": {"size": 1}}),
    Step("widget without a version", "POST", f"{WIDGETS}?dryRun=All", {"kind": "Widget", "metadata": {"name": "w9"}}),
    Step(
        "widget applied without a kind",
        "PATCH",
        f"{WIDGETS}/w9?fieldManager=one&dryRun=All",
        {"apiVersion": "example.com/v1", "metadata": {"name": "w9"}, "spec": {"size": 1}},
        APPLY,
    ),
    Step("widget robbed of its kind", "PATCH", f"{WIDGETS}/w?dryRun=All", {"kind": None}, MERGE),
    Step("widget whole float", "POST", f"{WIDGETS}?dryRun=All", widget("w9", {"size": 2.0})),
    Step("widget merged whole float", "PATCH", f"{WIDGETS}/w?dryRun=All", {"spec": {"size": 4.0}}, MERGE),
    Step(
        "widget patched whole float",
        "PATCH",
        f"{WIDGETS}/w?dryRun=All",
        [{"op": "replace", "path": "/spec/size", "value": 5.0}],
        JSON,
    ),
    Step(
        "widget applied whole float",
        "PATCH",
        f"{WIDGETS}/w9?fieldManager=one&dryRun=All",
        widget("w9", {"size": 6.0}),
        APPLY,
    ),
    Step("widget huge float", "POST", f"{WIDGETS}?dryRun=All", widget("w9", {"size": 1e19})),
    Step("widget with a fraction", "POST", f"{WIDGETS}?dryRun=All", widget("w9", {"size": 2.5})),
    Step("widget apply conflict", "PATCH", f"{WIDGETS}/w2?fieldManager=two", widget("w2", {"size": 2}), APPLY),
    Step(
        "widget apply unknown", "PATCH", f"{WIDGETS}/w2?fieldManager=one", widget("w2", {"size": 1, "bogus": 1}), APPLY
    ),
    Step("widget table", "GET", WIDGETS, accept=TABLE),
    Step("widget by field", "GET", f"{WIDGETS}?fieldSelector=spec.color=red"),
    Step("widget by wrong field", "GET", f"{WIDGETS}?fieldSelector=spec.size=1"),
    Step("widget scale", "GET", f"{WIDGETS}/w/scale"),
    Step(
        "ruled refused",
        "POST",
        "/apis/example.com/v1/namespaces/diff/ruled",
        {"apiVersion": "example.com/v1", "kind": "Ruled", "metadata": {"name": "r"}, "spec": {"low": 5, "high": 1}},
    ),
    Step(
        "ruled",
        "POST",
        "/apis/example.com/v1/namespaces/diff/ruled",
        {"apiVersion": "example.com/v1", "kind": "Ruled", "metadata": {"name": "r"}, "spec": {"low": 1, "high": 5}},
    ),
    Step("ruled falls", "PATCH", "/apis/example.com/v1/namespaces/diff/ruled/r", {"spec": {"high": 4}}, MERGE),
    Step("definition get", "GET", f"{CRDS}/widgets.example.com"),
    Step("definition bad name", "POST", CRDS, {**definition(), "metadata": {"name": "wrong.example.com"}}),
    Step("definition bad scope", "POST", CRDS, _bad_definition(scope="Galactic")),
    Step("definition no versions", "POST", CRDS, _bad_definition(versions=[])),
    Step(
        "definition no schema",
        "POST",
        CRDS,
        _bad_definition(versions=[{"name": "v1", "served": True, "storage": True}]),
    ),
    Step(
        "definition no type",
        "POST",
        CRDS,
        _bad_definition(
            versions=[
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"properties": {"spec": {}}}},
                }
            ]
        ),
    ),
    Step(
        "definition bad rule",
        "POST",
        CRDS,
        _bad_definition(
            versions=[
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "x-kubernetes-validations": [{"rule": "self.nothing > 1"}],
                        }
                    },
                }
            ]
        ),
    ),
    Step("definition default breaks a rule", "POST", CRDS, _defaulting({"low": 9})),
    Step("definition default lacks what a rule asks for", "POST", CRDS, _defaulting({})),
    Step("definition wrong type", "POST", CRDS, _bad_definition(versions="x")),
    Step("definition table", "GET", f"{CRDS}?fieldSelector=metadata.name=widgets.example.com", accept=TABLE),
    Step("definition scope moves", "PATCH", f"{CRDS}/widgets.example.com", {"spec": {"scope": "Cluster"}}, MERGE),
    *_ODD_STEPS,
]
