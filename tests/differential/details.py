"""The part of the conversation that is about what few clients notice: versions, warnings, selectors, old spellings."""

from __future__ import annotations

from typing import Any

from tests.api.objects import deployment
from tests.differential.step import (
    CM,
    CRDS,
    DEPLOY,
    JSON,
    MERGE,
    NS,
    PARTIAL,
    PARTIAL_LIST,
    STRATEGIC,
    TABLE,
    Step,
    api,
    cm,
)

AGED = "/apis/example.com/v1/namespaces/diff/aged"
AGED_V2 = "/apis/example.com/v2/namespaces/diff/aged"
AGED_V3 = "/apis/example.com/v3/namespaces/diff/aged"
OLD_TABLE = "application/json;as=Table;v=v1beta1;g=meta.k8s.io"
OLD_PARTIAL = "application/json;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io"
OLD_PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io"
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


def _version(name: str, *, default: str = "", **more: Any) -> dict[str, Any]:
    size: dict[str, Any] = {"type": "object", "properties": {"size": {"type": "integer"}}}
    if default:
        size["properties"]["colour"] = {"type": "string", "default": default}
        size["default"] = {}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": size, "status": status}}}
    return {"name": name, "served": True, "storage": False, "schema": schema, "subresources": {"status": {}}, **more}


def _aged(plural: str, kind: str) -> dict[str, Any]:
    return api(
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1",
        f"{plural}.example.com",
        spec={
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                _version("v1", storage=True),
                _version("v2", default="red", deprecated=True),
                _version("v3", deprecated=True, deprecationWarning="v3 is old; use v1"),
            ],
        },
    )


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    return api("Pod", "v1", name, spec={"containers": [{"name": "main", "image": "busybox"}], **spec})


def _metadata(**more: Any) -> dict[str, Any]:
    return {"metadata": {"annotations": {"by": "status"}, "labels": {"by": "status"}}, **more}


def _policy(name: str, expression: str) -> dict[str, Any]:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    return api("ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1", name, spec=spec)


_OTHER_UID = "0b5d0f5a-0000-4000-8000-000000000000"
_ELSEWHERE: dict[str, dict[str, str]] = {
    "a stale version": {"resourceVersion": "1"},
    "another uid and version": {"uid": _OTHER_UID, "resourceVersion": "1"},
}
"""What somebody saw who then rolls back: it must have changed since."""
_ROLLED = {"spec": {"template": {"metadata": {"labels": {"app": "x"}}, "$patch": "replace"}}}
DAEMONS = "/apis/apps/v1/namespaces/diff/daemonsets"
_OLD = {"deprecated.daemonset.template.generation": "1"}
_IMAGE = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "busybox:2"}]


def _daemon(name: str, generation: str = "") -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": _pod(name)["spec"]}
    found = api("DaemonSet", "apps/v1", name, spec={"selector": {"matchLabels": {"app": name}}, "template": template})
    if generation:
        found["metadata"]["annotations"] = dict.fromkeys(_OLD, generation)
    return found


_CONTROLLER: dict[str, Any] = {
    "replicas": 1,
    "selector": {"app": "rc"},
    "template": {"metadata": {"labels": {"app": "rc"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
}
_INGRESS = {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}}
_JOB = {"template": {"spec": {"containers": [{"name": "a", "image": "b"}], "restartPolicy": "Never"}}}
_CRON_JOB = {"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": _JOB}}}
_CRON_JOBS = "/apis/batch/v1/namespaces/diff/cronjobs"
_INGRESSES = "/apis/networking.k8s.io/v1/namespaces/diff/ingresses"
_EVENTS = "/apis/events.k8s.io/v1/namespaces/diff/events"
_EVENT = {
    "eventTime": "2024-01-01T00:00:00.000000Z",
    "reportingController": "example.com/one",
    "reportingInstance": "one-1",
    "action": "Made",
    "reason": "Made",
    "type": "Normal",
    "regarding": {"kind": "ConfigMap", "namespace": "diff", "name": "a"},
}


def _put_aged(version: str) -> dict[str, Any]:
    made = api("Aged", "example.com/v1", "a", spec={"size": 3})
    made["metadata"]["resourceVersion"] = version
    return made


def _rc() -> dict[str, Any]:
    return api("ReplicationController", "v1", "details", spec=_CONTROLLER)


def _review() -> dict[str, Any]:
    asked = {"namespace": "diff", "verb": "get", "resource": "configmaps"}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": asked},
    }


DETAILS_SETUP = [
    Step("aged definition", "POST", CRDS, _aged("aged", "Aged")),
    Step("spare definition", "POST", CRDS, _aged("spares", "Spare")),
]

DETAILS_STEPS = [
    Step("aged", "POST", AGED, api("Aged", "example.com/v1", "a", spec={"size": 1})),
    Step("aged without a spec", "POST", AGED, api("Aged", "example.com/v1", "b")),
    Step("aged with a default on read", "GET", f"{AGED_V2}/a"),
    Step("aged list with defaults on read", "GET", AGED_V2),
    Step("aged own warning", "GET", f"{AGED_V3}/a"),
    Step("aged own warning on write", "PATCH", f"{AGED_V3}/a?dryRun=All", {"spec": {"size": 2}}, MERGE),
    Step("aged table", "GET", AGED_V2, accept=TABLE),
    Step(
        "aged condition",
        "PATCH",
        f"{AGED}/a/status",
        {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        MERGE,
    ),
    Step("namespace status", "PATCH", f"{NS}/status", _metadata(), MERGE),
    Step("deployment of details", "POST", DEPLOY, {**deployment("details"), "metadata": {"name": "details"}}),
    Step(
        "deployment status with metadata", "PATCH", f"{DEPLOY}/details/status", _metadata(status={"replicas": 1}), MERGE
    ),
    Step("deployment status strategic", "PATCH", f"{DEPLOY}/details/status", _metadata(), STRATEGIC),
    Step("service of details", "POST", f"{NS}/services", api("Service", "v1", "details", spec={"clusterIP": "None"})),
    Step("service status", "PATCH", f"{NS}/services/details/status", _metadata(), MERGE),
    Step("ingress", "POST", _INGRESSES, api("Ingress", "networking.k8s.io/v1", "details", **_INGRESS)),
    Step("ingress status", "PATCH", f"{_INGRESSES}/details/status", _metadata(), MERGE),
    Step("cron job", "POST", _CRON_JOBS, api("CronJob", "batch/v1", "details", **_CRON_JOB)),
    Step("cron job status", "PATCH", f"{_CRON_JOBS}/details/status", _metadata(), MERGE),
    Step("pod of details", "POST", f"{NS}/pods", _pod("details")),
    Step("pod of the host", "POST", f"{NS}/pods", _pod("hosted", hostNetwork=True)),
    Step("pods not of the host", "GET", f"{NS}/pods?fieldSelector=spec.hostNetwork=false", accept=TABLE),
    Step("pods of the host", "GET", f"{NS}/pods?fieldSelector=spec.hostNetwork=true", accept=TABLE),
    Step("pods not of the host by inequality", "GET", f"{NS}/pods?fieldSelector=spec.hostNetwork!=true", accept=TABLE),
    Step("pod status", "PATCH", f"{NS}/pods/details/status", _metadata(), STRATEGIC),
    Step("node", "POST", "/api/v1/nodes", api("Node", "v1", "details")),
    Step("node status", "PATCH", "/api/v1/nodes/details/status", _metadata(), STRATEGIC),
    Step("nodes that take Pods", "GET", "/api/v1/nodes?fieldSelector=spec.unschedulable=false"),
    Step("nodes that take none", "GET", "/api/v1/nodes?fieldSelector=spec.unschedulable=true"),
    Step("put of version zero", "PUT", f"{CM}/a", cm("a", {"x": "5"}, resourceVersion="0")),
    Step("put of version zero, custom", "PUT", f"{AGED}/a", _put_aged("0")),
    Step("replication controller", "POST", f"{NS}/replicationcontrollers", _rc()),
    Step("replication controller deleted", "DELETE", f"{NS}/replicationcontrollers/details"),
    Step("job of details", "POST", "/apis/batch/v1/namespaces/diff/jobs", api("Job", "batch/v1", "details", spec=_JOB)),
    Step("job deleted", "DELETE", "/apis/batch/v1/namespaces/diff/jobs/details"),
    Step(
        "strict unknown and duplicate",
        "POST",
        f"{CM}?fieldValidation=Strict",
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","odd":1,"labels":{"a":"b","a":"c"}},"bogus":1,'
        b'"data":{"k":"1","k":"2"}}',
    ),
    Step(
        "strict unknown and duplicate, deep",
        "POST",
        f"{DEPLOY}?fieldValidation=Strict",
        b'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{"replicas":1,"replicas":2,'
        b'"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":['
        b'{"name":"a","image":"b","image":"c","odd":1}]}}}}',
    ),
    Step(
        "strict unknown and duplicate, custom",
        "POST",
        f"{AGED}?fieldValidation=Strict",
        b'{"apiVersion":"example.com/v1","kind":"Aged","metadata":{"name":"x"},"spec":{"size":1,"size":2,"odd":1}}',
    ),
    Step(
        "warn unknown and duplicate",
        "POST",
        f"{CM}?dryRun=All&fieldValidation=Warn",
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"bogus":1,"data":{"k":"1","k":"2"}}',
    ),
    Step(
        "strict yaml of duplicates",
        "POST",
        f"{CM}?fieldValidation=Strict",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\nbogus: 1\ndata:\n  k: '1'\n  k: '2'\n",
        "application/yaml",
    ),
    Step("policy that fits", "POST", POLICIES, _policy("fits", "object.spec.replicas < 5")),
    Step("policy that does not fit", "POST", POLICIES, _policy("misfits", "object.spec.nothing < 5")),
    Step("event of the new kind", "POST", _EVENTS, api("Event", "events.k8s.io/v1", "made", **_EVENT)),
    Step("events by controller", "GET", f"{_EVENTS}?fieldSelector=reportingController=example.com/one"),
    Step("events by source", "GET", f"{NS}/events?fieldSelector=source=example.com/one"),
    Step("events by reporting component", "GET", f"{NS}/events?fieldSelector=reportingComponent=example.com/one"),
    Step("table of what is not known", "GET", f"{CM}?includeObject=Bogus", accept=TABLE),
    Step("list of what is not known", "GET", f"{CM}?labelSelector=app&includeObject=Bogus"),
    *(
        Step(f"pod of details {phase}", "PATCH", f"{NS}/pods/details/status", {"status": {"phase": phase}}, MERGE)
        for phase in ("Failed", "Succeeded")
    ),
    Step("ended pod as a table", "GET", f"{NS}/pods/details", accept=TABLE),
    Step("ended pods as a table", "GET", f"{NS}/pods?fieldSelector=metadata.name=details", accept=TABLE),
    *(
        Step(f"merge patch with force {force}", "PATCH", f"{CM}/a?force={force}", {"data": {"x": "1"}}, MERGE)
        for force in ("true", "false")
    ),
    Step("scale with force", "PATCH", f"{DEPLOY}/details/scale?force=false", {"spec": {"replicas": 1}}, MERGE),
    Step("old table", "GET", f"{CM}/a", accept=OLD_TABLE),
    Step("old table list", "GET", f"{CM}?labelSelector=app", accept=OLD_TABLE),
    Step("bad timeout", "GET", f"{CM}?timeout=invalid"),
    Step("bad timeout of a write", "POST", f"{CM}?timeout=invalid&dryRun=All", cm("z")),
    Step("negative timeout", "GET", f"{CM}?timeout=-1s"),
    Step("bad timeoutSeconds", "GET", f"{CM}?timeoutSeconds=invalid"),
    Step("review as a table", "POST", REVIEWS, _review(), accept=TABLE),
    Step("label patched to a number", "PATCH", f"{CM}/a", {"metadata": {"labels": {"a": 5}}}, MERGE),
    Step("labels patched to a string", "PATCH", f"{CM}/a", {"metadata": {"labels": "x"}}, MERGE),
    Step("labels patched to a string, strategic", "PATCH", f"{CM}/a", {"metadata": {"labels": "x"}}, STRATEGIC),
    Step("labels patched to a string, custom", "PATCH", f"{AGED}/a", {"metadata": {"labels": "x"}}, MERGE),
    Step("yaml as json", "POST", CM, b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n"),
    Step("healthz in words", "GET", "/healthz?verbose"),
    Step("livez in words", "GET", "/livez?verbose"),
    Step("readyz in words", "GET", "/readyz?verbose"),
    Step("readyz without one", "GET", "/readyz?verbose&exclude=ping"),
    Step("one check", "GET", "/livez/ping"),
    Step("the server's service", "GET", "/api/v1/namespaces/default/services/kubernetes"),
    Step("the server's slice", "GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"),
    Step("the server's endpoints", "GET", "/api/v1/namespaces/default/endpoints/kubernetes"),
    Step(
        "definition condition",
        "PATCH",
        f"{CRDS}/spares.example.com/status",
        {"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "By", "message": "test"}]}},
        MERGE,
    ),
    Step(
        "definition condition without a type",
        "PATCH",
        f"{CRDS}/spares.example.com/status",
        [{"op": "add", "path": "/status/conditions", "value": [{"message": "patched"}]}],
        JSON,
    ),
    Step("daemon", "POST", DAEMONS, _daemon("d")),
    Step("daemon with a template generation", "POST", DAEMONS, _daemon("e", "7")),
    Step("daemon with a signed generation", "POST", DAEMONS, _daemon("f", "-7")),
    Step("daemon with a generation that is no number", "POST", DAEMONS, _daemon("g", "seven")),
    Step("daemon that gets a generation that is no number", "PUT", f"{DAEMONS}/e", _daemon("e", "seven")),
    Step(
        "daemon merged with a generation that is no number",
        "PATCH",
        f"{DAEMONS}/e",
        {"metadata": {"annotations": {next(iter(_OLD)): "seven"}}},
        MERGE,
    ),
    Step(
        "daemon patched with a generation that is no number",
        "PATCH",
        f"{DAEMONS}/e",
        [{"op": "add", "path": "/metadata/annotations/deprecated.daemonset.template.generation", "value": "seven"}],
        JSON,
    ),
    Step("old metadata of one", "GET", f"{CM}/a", accept=OLD_PARTIAL),
    Step("metadata of one as of a list", "GET", f"{CM}/a", accept=f"{PARTIAL_LIST},application/json"),
    Step("metadata of many as of one", "GET", CM, accept=f"{PARTIAL},application/json"),
    Step("create on a path of watches", "POST", "/api/v1/watch/namespaces/diff/configmaps", cm("w")),
    Step("delete on a path of watches", "DELETE", "/api/v1/watch/namespaces/diff/configmaps/a"),
    Step("watch of an unknown kind", "GET", "/api/v1/watch/gizmos"),
    Step("watch of a subresource", "GET", "/apis/apps/v1/watch/namespaces/diff/deployments/web/status"),
    Step("version in a form of none", "GET", "/version", accept="text/html"),
    Step("step of the start", "GET", "/readyz/poststarthook/rbac/bootstrap-roles"),
    Step("old metadata of many", "GET", CM, accept=OLD_PARTIAL_LIST),
    Step("daemon scaled nowhere", "PATCH", f"{DAEMONS}/d", {"spec": {"minReadySeconds": 1}}, MERGE),
    Step("daemon with another template", "PATCH", f"{DAEMONS}/d", _IMAGE, JSON),
    Step("daemon with another generation", "PATCH", f"{DAEMONS}/d", {"metadata": {"annotations": _OLD}}, MERGE),
    *(
        Step(f"daemon patched as of {name}", "PATCH", f"{DAEMONS}/d", {**_ROLLED, "metadata": seen}, STRATEGIC)
        for name, seen in _ELSEWHERE.items()
    ),
    *(
        Step(
            f"deployment replaced as of {name}",
            "PATCH",
            f"{DEPLOY}/web",
            [{"op": "replace", "path": f"/metadata/{field}", "value": value} for field, value in seen.items()],
            JSON,
        )
        for name, seen in _ELSEWHERE.items()
    ),
]
