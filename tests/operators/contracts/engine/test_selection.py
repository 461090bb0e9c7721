"""Which Service and workload of many objects belong to a contract."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.contracts.engine.checks.resources import Target
from homeostat.operators.contracts.engine.checks.selection import (
    AmbiguousTargetError,
    Candidate,
    Selection,
    read_candidate,
    select,
)
from homeostat.operators.contracts.engine.checks.snapshot import observe
from homeostat.operators.contracts.engine.document.contract import Contract, Interface, Runtime, Service

_VERSIONS = {"Service": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}
_PORTED = (Interface(name="web", type="http", port=80),)


def _contract(*interfaces: Interface, workload: str = "service") -> Contract:
    return Contract(
        service=Service(name="mill", version="1.0.0"), interfaces=interfaces, runtime=Runtime(workload=workload)
    )


def _object(kind: str, name: str, namespace: str = "", **spec: Any) -> Candidate:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    version = _VERSIONS.get(kind, "apps/v1")
    found = read_candidate({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    assert found is not None
    return found


def _labelled(kind: str, name: str, **labels: str) -> Candidate:
    return _object(kind, name, template={"metadata": {"labels": labels}})


@pytest.mark.parametrize(
    ("contract", "objects", "target"),
    [
        (
            _contract(*_PORTED),
            [_object("Service", "mill"), _object("Deployment", "mill")],
            Target("mill", service="mill"),
        ),
        (_contract(), [_object("Deployment", "wheel")], Target("wheel")),
        (_contract(*_PORTED), [], Target("mill", service="mill")),
        (_contract(), [], Target("mill")),
        (_contract(workload="scheduled"), [], Target("mill", "CronJob")),
        (_contract(workload="job"), [_object("Job", "grind"), _object("Job", "mill")], Target("mill", "Job")),
        (
            _contract(*_PORTED),
            [
                _labelled("StatefulSet", "mill", app="mill"),
                _object("Service", "mill-web", selector={"app": "mill"}),
                _object("Service", "other", selector={"app": "other"}),
                _object("Service", "headless"),
            ],
            Target("mill", "StatefulSet", "mill-web"),
        ),
    ],
    ids=["by name", "the only one", "nothing", "no port, no Service", "scheduled", "name before others", "by selector"],
)
def test_the_target_is_found_without_being_named(contract: Contract, objects: list[Candidate], target: Target) -> None:
    assert select(contract, objects).target == target


def test_a_named_target_is_taken_even_where_it_does_not_exist() -> None:
    found = select(_contract(), [_object("Deployment", "mill")], workload=("mill", "StatefulSet"), service="web")
    assert found == Selection(Target("mill", "StatefulSet", "web"), "")


@pytest.mark.parametrize(
    ("objects", "says"),
    [
        ([_object("Deployment", "a"), _object("StatefulSet", "b")], "--workload KIND/NAME"),
        ([_object("Deployment", "mill"), _object("Job", "mill")], "Deployment/mill, Job/mill"),
        ([_object("Deployment", "mill", "a"), _object("Deployment", "mill", "b")], r"\(a, b\); choose one with -n"),
        ([_object("Service", "a"), _object("Service", "b")], "--service NAME"),
    ],
)
def test_a_choice_between_several_is_refused(objects: list[Candidate], says: str) -> None:
    with pytest.raises(AmbiguousTargetError, match=says):
        select(_contract(*_PORTED), objects)


def test_a_namespace_chooses_between_equal_names() -> None:
    objects = [_object("Deployment", "mill", "a"), _object("Deployment", "mill", "b")]
    found = select(_contract(), objects, namespace="b")
    assert (found.workload, found.namespace) == (objects[1], "b")


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"apiVersion": "v1", "kind": "Service", "metadata": {}},
        {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": 1, "kind": "Service", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": 5}},
    ],
)
def test_other_objects_are_no_candidates(value: dict[str, Any]) -> None:
    assert read_candidate(value) is None


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["mill", "v1", "apps/v1", "Service", "Deployment"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "spec",
                    "selector",
                    "template",
                    "metadata",
                    "labels",
                    "containers",
                    "ports",
                    "port",
                    "name",
                    "strategy",
                ]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.tuples(st.sampled_from(["Service", "Deployment", "CronJob"]), _json, _json), max_size=3))
def test_a_malformed_object_is_read_as_far_as_it_goes(found: list[tuple[str, Any, Any]]) -> None:
    candidates = []
    for kind, metadata, spec in found:
        named = {"name": "mill", **metadata} if isinstance(metadata, dict) else metadata
        value = {"apiVersion": _VERSIONS.get(kind, "apps/v1"), "kind": kind, "metadata": named, "spec": spec}
        candidate = read_candidate(value)
        candidates += [candidate] if candidate is not None else []
    try:
        chosen = select(_contract(*_PORTED), candidates)
    except AmbiguousTargetError:
        return
    observe(
        None if chosen.service is None else chosen.service.value,
        None if chosen.workload is None else chosen.workload.value,
        kind=chosen.target.kind,
        with_defaults=True,
    )
