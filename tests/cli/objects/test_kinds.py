"""Which kinds a word means."""

from __future__ import annotations

import pytest

from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import Kind, Kinds

EVENT = Kind("", "v1", "events", "Event", is_namespaced=True, singular="event", short_names=("ev",))
NEW_EVENT = Kind("events.k8s.io", "v1", "events", "Event", is_namespaced=True, singular="event")
NODE = Kind("", "v1", "nodes", "Node", is_namespaced=False, short_names=("no",))
DEPLOYMENT = Kind(
    "apps",
    "v1",
    "deployments",
    "Deployment",
    is_namespaced=True,
    short_names=("deploy",),
    categories=("all",),
    verbs=frozenset({"list"}),
)
LONGER = Kind("apps.example.com", "v1", "deployments", "Deployment", is_namespaced=True)
BETA = Kind("example.com", "v1beta1", "widgets", "Widget", is_namespaced=True)
STABLE = Kind("example.com", "v1", "widgets", "Widget", is_namespaced=True)
KINDS = Kinds([EVENT, NODE, LONGER, DEPLOYMENT, NEW_EVENT, STABLE, BETA])


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("events", [EVENT]),
        ("EVENT", [EVENT]),
        ("ev,no", [EVENT, NODE]),
        ("ev,events", [EVENT]),
        ("events.events.k8s.io", [NEW_EVENT]),
        ("events.events", [NEW_EVENT]),
        ("deployments.apps", [DEPLOYMENT]),
        ("deployments.apps.example.com", [LONGER]),
        ("deploy.v1.apps", [DEPLOYMENT]),
        ("events.v1", [EVENT]),
        ("widgets", [STABLE]),
        ("widgets.v1beta1.example.com", [BETA]),
        ("all", [DEPLOYMENT]),
    ],
)
def test_a_word_means_the_first_kind_that_fits(words: str, meant: list[Kind]) -> None:
    assert KINDS.resolve(words) == meant


@pytest.mark.parametrize("words", ["", ",", "evnts", "events.apps", "widgets.v9.example.com", ".apps"])
def test_an_unknown_word_is_refused(words: str) -> None:
    with pytest.raises(Failure):
        KINDS.resolve(words)


def test_incomplete_discovery_is_named() -> None:
    kinds = Kinds([NODE], stale=["metrics.k8s.io/v1beta1"])
    with pytest.raises(Failure, match=r'no kind "podmetrics"; discovery is incomplete: metrics.k8s.io/v1beta1; list'):
        kinds.resolve("podmetrics")
    with pytest.raises(Failure, match='; did you mean "node"'):
        kinds.resolve("nod")


@pytest.mark.parametrize(
    ("kind", "namespace", "name", "path"),
    [
        (EVENT, "", "", "/api/v1/events"),
        (EVENT, "shop", "a", "/api/v1/namespaces/shop/events/a"),
        (NODE, "shop", "n", "/api/v1/nodes/n"),
        (DEPLOYMENT, "shop", "", "/apis/apps/v1/namespaces/shop/deployments"),
        (NODE, "", "../a?b", "/api/v1/nodes/..%2Fa%3Fb"),
    ],
)
def test_a_path_is_quoted_and_has_the_namespace_of_a_namespaced_kind(
    kind: Kind, namespace: str, name: str, path: str
) -> None:
    assert kind.path(namespace, name) == path


@pytest.mark.parametrize(
    ("api_version", "kind", "advice"),
    [
        ("apps/v1", "Deploymnt", "did you mean kind: Deployment?"),
        ("v1", "Deploymnt", "did you mean kind: Deployment in apps.example.com/v1?"),
        ("v1", "Deployment", "did you mean apiVersion: apps.example.com/v1 or apps/v1?"),
        ("v1", "Zebra", "apply its definition first"),
    ],
)
def test_a_misspelt_kind_of_a_manifest_gets_a_suggestion(api_version: str, kind: str, advice: str) -> None:
    with pytest.raises(Failure) as raised:
        KINDS.require(api_version, kind)
    assert raised.value.message == f"the server has no kind {kind} in {api_version}; {advice}"


def test_a_word_that_only_ends_like_a_short_name_gets_no_suggestion() -> None:
    ingress = Kind("networking.k8s.io", "v1", "ingresses", "Ingress", is_namespaced=True, short_names=("ing",))
    with pytest.raises(Failure, match="list all kinds"):
        Kinds([ingress]).resolve("nothing")
