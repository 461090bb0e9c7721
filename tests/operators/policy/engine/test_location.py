"""The lines of findings: of the field, else of the container, else of the object; and never of anything else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.report.location import read_documents_by_line
from homeostat.objects.report.report import Entry
from homeostat.objects.yaml.reader import load_located
from homeostat.operators.policy.engine.location import with_line

TEXT = """\
# a comment
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: shop}
  spec:
    replicas: 1
    template:
      spec:
        initContainers:
        - name: main
          image: init:latest
        containers:
        - name: main
          image: a:latest
        - image: b:latest
          name: second
          securityContext:
            privileged: true
        volumes:
        - hostPath: {path: /}
- {apiVersion: v1, kind: Pod, metadata: {name: flow}, spec: {containers: [{name: main,
    image: "c:latest"}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
spec:
  jobTemplate:
    spec:
      template:
        spec:
          containers:
          - name: main
            args: ["a", "b"]
---
apiVersion: v1
kind: Pod
metadata:
  name: shared
spec:
  securityContext: &none {}
  containers:
  - name: main
    securityContext: *none
"""
WEB: dict[str, Any] = {"kind": "Deployment", "namespace": "shop", "name": "web", "line": 2}
FLOW: dict[str, Any] = {"kind": "Pod", "name": "flow", "line": 2}
NIGHTLY: dict[str, Any] = {"kind": "CronJob", "name": "nightly", "line": 27}
SHARED: dict[str, Any] = {"kind": "Pod", "name": "shared", "line": 40}


def entry(check: str, container: str = "", **fields: Any) -> Entry:
    given = {"origin": "p", "severity": "low", "message": "m", "source": "a.yaml", "namespace": "default"}
    return Entry(**{**given, "type": check, "part": container, **fields})


FOUND = {
    "an image": (entry("latest_tag", "main", **WEB), 17),
    "an image that comes before the name": (entry("unpinned_image", "second", **WEB), 18),
    "a container": (entry("missing_liveness", "main", **WEB), 16),
    "a container whose name is not first": (entry("missing_liveness", "second", **WEB), 18),
    "a field of a field": (entry("privileged", "second", **WEB), 21),
    "a field that is not there": (entry("missing_resources", "second", **WEB), 18),
    "a field with a value below it": (entry("run_as_root", "second", **WEB), 20),
    "the replicas": (entry("few_replicas", **WEB), 9),
    "the volumes": (entry("host_path", **WEB), 22),
    "an object of a list": (entry("a-rule", **WEB), 5),
    "in flow style": (entry("latest_tag", "main", **FLOW), 25),
    "replicas that are not told": (entry("few_replicas", **NIGHTLY), 27),
    "in a job of a CronJob": (entry("missing_liveness", "main", **NIGHTLY), 37),
    "an alias": (entry("run_as_root", "main", **SHARED), 48),
}


@pytest.mark.parametrize(("found", "line"), FOUND.values(), ids=FOUND)
def test_a_finding_is_at_the_line_of_what_it_is_about(found: Entry, line: int) -> None:
    assert with_line(found, read_documents_by_line(TEXT.encode())).line == line


NOT_FOUND = {
    "another document": entry("latest_tag", "main", **{**WEB, "line": 27}),
    "no document": entry("latest_tag", "main", **{**WEB, "line": 3}),
    "another name": entry("latest_tag", "main", **{**WEB, "name": "other"}),
    "another namespace": entry("latest_tag", "main", **{**WEB, "namespace": "default"}),
}


@pytest.mark.parametrize("found", NOT_FOUND.values(), ids=NOT_FOUND)
def test_what_is_not_found_keeps_its_line(found: Entry) -> None:
    assert with_line(found, read_documents_by_line(TEXT.encode())) == found


def test_a_container_that_is_not_found_is_at_its_object() -> None:
    assert (
        with_line(
            entry("latest_tag", "main", kind="Pod", name="flow", line=2), read_documents_by_line(TEXT.encode())
        ).line
        == 25
    )
    assert with_line(entry("latest_tag", "none", **WEB), read_documents_by_line(TEXT.encode())).line == 5


STRANGE = {
    "nothing": b"",
    "deep": b"[" * 100_000,
    "broken": b"a: [\n---\nb: 1\n",
    "no UTF-8": b"a: \xff\n",
    "a key that is a map": b"? {a: b}\n: c\n",
    "an alias of itself": b"a: &a\n  b: *a\n",
    "an unknown alias": b"a: *b\n",
    "a scalar": b"kind\n",
}


@pytest.mark.parametrize("data", STRANGE.values(), ids=STRANGE)
def test_what_is_strange_does_no_harm(data: bytes) -> None:
    places = read_documents_by_line(data)
    for found in (entry("latest_tag", "main", **WEB), entry("host_path", **{**WEB, "line": 1})):
        assert with_line(found, places) == found


@given(st.lists(st.sampled_from(["a: 1", "a:\n  b: c", "# comment", "", "- a", "{a: [b,\n c]}", "'x'"]), max_size=5))
def test_documents_begin_where_the_first_reading_says(documents: list[str]) -> None:
    data = "\n---\n".join(documents).encode()
    assert {line for line, _ in load_located(data)} <= read_documents_by_line(data).keys()
