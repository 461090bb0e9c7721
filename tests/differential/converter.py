"""A conversion webhook over HTTPS, on a thread of its own; the name of an object chooses how it is answered.

v1 has `spec.size`, v2 has `spec.dimensions.width` and `spec.extra`, which is lost. Objects with other names than those
of `FAULTS` are converted well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.differential.webhook import Webhook

Fault = Callable[[dict[str, Any], dict[str, Any]], Any]
"""Changes the response or the converted object, its second argument."""


def convert(obj: dict[str, Any], version: str) -> dict[str, Any]:
    """An object at another version: what the webhook does when it works."""
    spec = dict(obj.get("spec") or {})
    if version.endswith("/v2") and "size" in spec:
        spec["dimensions"] = {"width": spec.pop("size")}
    elif version.endswith("/v1"):
        width = (spec.pop("dimensions", None) or {}).get("width")
        spec = {name: value for name, value in spec.items() if name != "extra"}
        if width is not None:
            spec["size"] = width
    return {**obj, "apiVersion": version, "spec": spec}


def _set(path: str, value: Any) -> Fault:
    def change(response: dict[str, Any], obj: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for name in parents:
            copied = dict(obj.get(name) or {})
            obj[name] = copied
            obj = copied
        obj[last] = value

    return change


def _answer(**members: Any) -> Fault:
    return lambda response, _: response.update(members)


FAULTS: dict[str, Fault] = {
    "fails": _answer(result={"status": "Failure", "message": "no such colour"}),
    "fails-silently": _answer(result={"status": "Failure"}),
    "no-result": _answer(result=None),
    "other-uid": _answer(uid="other"),
    "too-few": _answer(convertedObjects=[]),
    "too-many": lambda response, obj: response.update(convertedObjects=[obj, obj]),
    "renamed": _set("metadata.name", "another"),
    "moved": _set("metadata.namespace", "another"),
    "new-uid": _set("metadata.uid", "another"),
    "other-kind": _set("kind", "Gadget"),
    "other-version": _set("apiVersion", "example.com/v3"),
    "other-group": _set("apiVersion", "example.org/v2"),
    "no-metadata": lambda _, obj: obj.pop("metadata"),
    "list-metadata": _set("metadata", ["a"]),
    "bad-label": _set("metadata.labels", {"a b": "c"}),
    "bad-labels": _set("metadata.labels", ["a"]),
    "number-label": _set("metadata.labels", {"a": 1}),
    "bad-annotation": _set("metadata.annotations", {"a b": "c"}),
    "relabelled": _set("metadata.labels", {"new": "label"}),
    "finalized": _set("metadata.finalizers", ["example.com/new"]),
    "unknown-field": _set("spec.bogus", 1),
    "no-response": lambda *_: None,
    "text-objects": _answer(convertedObjects=["text"]),
    "null-objects": _answer(convertedObjects=[None]),
}


class Converter:
    """`reviews` has the names of the objects of each review."""

    def __init__(self, directory: Path) -> None:
        self.reviews: list[tuple[str, list[str]]] = []
        self._webhook = Webhook(directory, self._answer)

    def conversion(self, path: str = "/convert", **webhook: Any) -> dict[str, Any]:
        """The `spec.conversion` of a definition."""
        config = self._webhook.client_config(path)
        return {
            "strategy": "Webhook",
            "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"], **webhook},
        }

    def _answer(self, path: str, review: dict[str, Any]) -> dict[str, Any] | None:
        if not path.startswith("/convert"):
            return None
        request = review["request"]
        version = request["desiredAPIVersion"]
        names = [each["metadata"]["name"] for each in request["objects"]]
        self.reviews.append((version, names))
        converted = [convert(each, version) for each in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted}
        answered = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
        for name, obj in zip(names, converted, strict=True):
            if name in FAULTS and version.endswith("/v2"):
                FAULTS[name](response, obj)
                if name == "no-response":
                    answered.pop("response")
        return answered

    @contextmanager
    def serving(self) -> Iterator[Converter]:
        with self._webhook.serving():
            yield self
