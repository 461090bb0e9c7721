"""The objects of a namespace without what differs from run to run: random names, hashes, times, addresses. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from homeostat.objects.json import JsonObject

_VOLATILE = ("uid", "resourceVersion", "managedFields", "creationTimestamp", "selfLink")
_PATTERNS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\b(10|172)\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(r'"resourceVersion": "\d+"'), '"resourceVersion": "<version>"'),
    (re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-<random>"),
    # Of a ReplicaSet that is gone.
    (re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b"), "-<hash>"),
    (re.compile(r"\bnode-\d+\b"), "<node>"),
    # The real one prints a structure of Go.
    (re.compile(r"\(selector: .+?\) were"), "(<selector>) were"),
    (re.compile(r"containerd://[0-9a-f]+|simulated://\S+?(?=\")"), "<container>"),
)
_TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
_TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer of the Pods of real Jobs."""
_COMBINED = "(combined from similar events)"
Picture = dict[str, list[str]]
"""By kind and name: the objects of that name, as JSON; there are several where the random parts made the difference."""


def picture_of(objects: Sequence[JsonObject]) -> Picture:
    """Of objects with their kinds."""
    words = _words(objects)
    found: Picture = {}
    for each in objects:
        if each["kind"] != "Event":
            shown = _replace(json.dumps(_without_volatile(each), sort_keys=True), words)
            found.setdefault(_replace(f"{each['kind']}/{each['metadata']['name']}", words), []).append(shown)
    return {name: sorted(shown) for name, shown in found.items()}


def events_of(objects: Sequence[JsonObject]) -> dict[str, set[str]]:
    """The messages of Events, by their object, type, reason and who recorded them."""
    words = _words(objects)
    found: dict[str, set[str]] = {}
    for each in objects:
        if each["kind"] == "Event":
            about, by = each["involvedObject"], each.get("reportingComponent") or each["source"]["component"]
            title = f"{about['kind']}/{about['name']} {each['type']} {by} {each['reason']}"
            found.setdefault(_replace(title, words), set()).add(_replace(each.get("message", ""), words))
    return found


def event_differences(ours: Mapping[str, set[str]], theirs: Mapping[str, set[str]]) -> list[str]:
    """Messages are not compared where the real recorder has combined several into one."""
    found = []
    for title in sorted({*ours, *theirs}):
        here, there = ours.get(title, set()), theirs.get(title, set())
        if here and there and any(each.startswith(_COMBINED) for each in there):
            continue
        if here != there:
            found.append(f"Event {title}: {sorted(here - there)} here, {sorted(there - here)} there")
    return found


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """In words, one a line; empty if there are none."""
    found = []
    for name in sorted({*ours, *theirs}):
        if ours.get(name) == theirs.get(name):
            continue
        here, there = ours.get(name, []), theirs.get(name, [])
        if len(here) != len(there):
            found.append(f"{name}: {len(here)} here, {len(there)} there")
        for one, other in zip(here, there, strict=False):
            if one != other:
                found += [f"{name}: {line}" for line in _compare("", json.loads(one), json.loads(other))]
    return found


def _compare(path: str, here: Any, there: Any) -> Iterable[str]:
    if isinstance(here, dict) and isinstance(there, dict):
        for key in sorted({*here, *there}):
            yield from _compare(f"{path}.{key}", here.get(key), there.get(key))
    elif isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        for number, (one, other) in enumerate(zip(here, there, strict=True)):
            yield from _compare(f"{path}[{number}]", one, other)
    elif here != there:
        yield f"{path}: {json.dumps(here)} here, {json.dumps(there)} there"


def _words(objects: Sequence[JsonObject]) -> list[tuple[str, str]]:
    """What to replace, the longest first."""
    words: dict[str, str] = {}
    for each in objects:
        metadata = each["metadata"]
        labels = metadata.get("labels", {})
        if each["kind"] == "ReplicaSet" and "pod-template-hash" in labels:
            image = each["spec"]["template"]["spec"]["containers"][0]["image"]
            words[labels["pod-template-hash"]] = f"<hash of {image}>"
        elif each["kind"] == "ControllerRevision":
            words[metadata["name"].rpartition("-")[2]] = f"<revision {each['revision']}>"
        elif each["kind"] == "Job" and any(owner["kind"] == "CronJob" for owner in metadata.get("ownerReferences", ())):
            words[metadata["name"].rpartition("-")[2]] = "<minute>"
    return sorted(words.items(), key=lambda word: -len(word[0]))


def _replace(text: str, words: Sequence[tuple[str, str]]) -> str:
    for word, placeholder in words:
        text = text.replace(word, placeholder)
    for pattern, placeholder in _PATTERNS:
        text = pattern.sub(placeholder, text)
    return text


def _without_volatile(obj: JsonObject) -> JsonObject:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _VOLATILE}
    if metadata.get("finalizers") == [_TRACKING]:
        del metadata["finalizers"]
    if obj["kind"] == "Deployment":
        # The one that changed last comes last, and a moment of unavailability may pass unseen.
        conditions = sorted(obj["status"].get("conditions", ()), key=lambda each: each["type"])
        return {**obj, "metadata": metadata, "status": {**obj["status"], "conditions": conditions}}
    if obj["kind"] not in ("Endpoints", "EndpointSlice"):
        return {**obj, "metadata": metadata}
    # How often it was written, and for which change at last, depends on how the changes came together.
    metadata.pop("generation", None)
    annotations = {name: value for name, value in metadata.pop("annotations", {}).items() if name != _TRIGGER}
    found = {**obj, "metadata": {**metadata, "annotations": annotations}}
    if obj["kind"] == "EndpointSlice":
        found["endpoints"] = sorted(obj["endpoints"] or (), key=lambda each: each["targetRef"]["name"])
    return found
