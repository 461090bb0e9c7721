"""Which form of an answer a client prefers, and which parameters of lists and watches are refused together."""

from __future__ import annotations

from tests.differential.step import APPLY, CM, DEPLOY, MERGE, PROTOBUF, TABLE, Step, cm

_WATCHED = "/api/v1/watch/namespaces/diff/configmaps"
_INITIAL = f"{CM}?watch=1&sendInitialEvents=true"
_SOME = f"{CM}?labelSelector=some%3Dyes"
_MATCH = "resourceVersionMatch"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/diff/leases"
_CONTAINER = {"name": "main", "image": "b", "args": None, "env": [{"name": "A", "value": None}]}
_NULLS = {"spec": {"template": {"spec": {"containers": [_CONTAINER]}}}}
_SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 2}}

STEPS = [
    Step("prefers an object to a table", "GET", f"{CM}/a", accept=f"{TABLE};q=0.1, application/json"),
    Step("prefers a table to an object", "GET", f"{CM}/a", accept=f"application/json;q=0.1, {TABLE}"),
    Step("prefers anything to JSON", "GET", f"{CM}/a", accept="application/json;q=0.5, */*;q=0.4"),
    Step("prefers a web page", "GET", f"{CM}/a", accept="text/html, application/xml;q=0.9, */*;q=0.8"),
    Step("accepts any text", "GET", f"{CM}/a", accept="text/*"),
    *(
        Step(f"{path} in YAML", "GET", path, accept="application/yaml")
        for path in ("/apis/apps", "/apis/apps/v1", "/version", f"{CM}/a", f"{CM}/none", "/apis/apps/v1/none")
    ),
    Step("discovery of the core group", "GET", "/api/v1"),
    Step("error of a table in YAML", "GET", f"{CM}/none", accept=TABLE.replace("json", "yaml")),
    Step("object as nothing else", "GET", f"{CM}/a", accept="application/json;as="),
    Step("keys in protobuf", "GET", "/openid/v1/jwks", accept=PROTOBUF),
    Step("keys as a web page", "GET", "/openid/v1/jwks", accept="text/html"),
    Step("issuer in protobuf", "GET", "/.well-known/openid-configuration", accept=PROTOBUF),
    Step("watch path of another name", "GET", f"{_WATCHED}/a?fieldSelector=metadata.name=b"),
    Step("watch path of all but the name", "GET", f"{_WATCHED}/a?fieldSelector=metadata.name!=a"),
    Step("watch of continue", "GET", f"{CM}?watch=1&continue=abc"),
    Step("watch of initial events without a match", "GET", f"{_INITIAL}&allowWatchBookmarks=1"),
    Step("watch of initial events exactly", "GET", f"{_INITIAL}&{_MATCH}=Exact&allowWatchBookmarks=1"),
    Step("watch of a match alone", "GET", f"{CM}?watch=1&{_MATCH}=NotOlderThan"),
    Step("watch of an exact match alone", "GET", f"{CM}?watch=1&{_MATCH}=Exact"),
    Step("list of initial events", "GET", f"{CM}?sendInitialEvents=true"),
    Step("list of initial events with a match", "GET", f"{CM}?sendInitialEvents=true&{_MATCH}=NotOlderThan"),
    Step("list of continue with a match", "GET", f"{CM}?limit=1&continue=abc&{_MATCH}=NotOlderThan"),
    Step("list of continue with a version", "GET", f"{CM}?limit=1&continue=abc&resourceVersion=5"),
    Step("list of an exact zero", "GET", f"{CM}?resourceVersion=0&{_MATCH}=Exact"),
    Step("list of two names", "GET", f"{CM}?fieldSelector=metadata.name=a,metadata.name=b"),
    Step("list of another namespace", "GET", f"{CM}?fieldSelector=metadata.namespace=other"),
    Step("list page by fields", "GET", f"{CM}?limit=1&fieldSelector=metadata.name!=none", is_late=True),
    Step("list page by name", "GET", f"{CM}?limit=1&fieldSelector=metadata.name=a", is_late=True),
    Step("scale of another name", "PUT", f"{DEPLOY}/web/scale", {**_SCALE, "metadata": {"name": "other"}}),
    *(
        Step(f"map {at} of a collection", "POST", CM, {"metadata": {"name": f"some-{at}", "labels": {"some": "yes"}}})
        for at in range(3)
    ),
    Step("collection by an invalid continue", "DELETE", f"{_SOME}&continue=abc"),
    Step("collection by a negative limit", "DELETE", f"{_SOME}&limit=-1&dryRun=All"),
    Step("collection with a match alone", "DELETE", f"{_SOME}&{_MATCH}=NotOlderThan"),
    Step("two of a collection, dry", "DELETE", f"{_SOME}&limit=2&dryRun=All", is_late=True),
    Step("two of a collection", "DELETE", f"{_SOME}&limit=2"),
    Step("left of a collection", "GET", _SOME, is_late=True),
    Step("rest of a collection", "DELETE", _SOME),
    Step("schema as a web page", "GET", "/openapi/v3/api/v1", accept="text/html"),
    Step("patch of another uid", "PATCH", f"{CM}/a", {"metadata": {"uid": "x"}}, MERGE),
    Step("apply of another uid", "PATCH", f"{CM}/a?fieldManager=me&force=true", cm("a", uid="x"), APPLY),
    *(
        Step(f"{verb} with {query}", method, f"{CM}{name}?{query}", body)
        for verb, method, name, body in (
            ("get", "GET", "/a", None),
            ("list", "GET", "", None),
            ("create", "POST", "", cm("parametric")),
            ("delete", "DELETE", "/a", None),
        )
        for query in (
            "limit=-1&dryRun=All",
            "limit=&dryRun=All",
            "limit=abc&dryRun=All",
            "limit=%2B3&dryRun=All",
            "timeoutSeconds=&dryRun=All",
            "allowWatchBookmarks=perhaps&dryRun=All",
            "resourceVersionMatch=Near&dryRun=All",
            "dryRun=All&force=perhaps",
            "dryRun=All&fieldValidation=odd",
            "dryRun=All&gracePeriodSeconds=",
            "dryRun=All&orphanDependents=perhaps",
            "dryRun=All&propagationPolicy=",
            "dryRun=All&uid=other",
        )
    ),
    *(
        Step(f"list of a dry {value}", "GET", f"{CM}?dryRun={value}&labelSelector=some")
        for value in ("", "None", "Some")
    ),
    *(
        Step(f"watch said {value}", "GET", f"{CM}?watch={value}&labelSelector=none&timeoutSeconds=1")
        for value in ("F", "no", "FALSE")
    ),
    Step("delete at another version", "DELETE", f"{CM}/a?dryRun=All&resourceVersion=1"),
    Step("delete of no policy", "DELETE", f"{CM}/a", {"dryRun": ["All"], "propagationPolicy": ""}),
    Step("delete of two places", "DELETE", f"{CM}/a?propagationPolicy=Bogus", {"dryRun": ["All"]}),
    Step("put of no name", "PUT", f"{CM}/a", {"metadata": {}, "data": {"x": "9"}}),
    Step("merge patch of no metadata", "PATCH", f"{CM}/a", {"metadata": None}, MERGE),
    Step("merge patch of no name", "PATCH", f"{CM}/a", {"metadata": {"name": None}}, MERGE),
    *(
        Step(f"{where} patch of {name}", "PATCH", f"{path}?dryRun=All", {"metadata": {name: value}}, MERGE)
        for where, path in (("main", f"{CM}/a"), ("status", f"{DEPLOY}/web/status"))
        for name, value in (("deletionTimestamp", "2024-01-01T00:00:00Z"), ("deletionGracePeriodSeconds", 5))
    ),
    Step("put of a new one without a name", "PUT", f"{_LEASES}/unnamed", {"metadata": {}}),
    Step("merge patch of nulls in lists", "PATCH", f"{DEPLOY}/web?dryRun=All", _NULLS, MERGE),
    *(
        Step(f"{plural} by namespace", "GET", f"/api/v1/{plural}?fieldSelector=metadata.namespace=x")
        for plural in ("namespaces", "nodes", "persistentvolumes")
    ),
    Step("put of another uid", "PUT", f"{CM}/a", cm("a", uid="x")),
]
