"""One conversation with a Kubernetes API, as data: every verb, patch, selector and common error.

Each step is sent to two servers in turn; what one answers the other must answer too. Steps build on each other.
"""

from __future__ import annotations

from typing import Any

from tests.api.objects import deployment
from tests.differential.accounts import ACCOUNT_STEPS
from tests.differential.certificates import CERTIFICATE_STEPS
from tests.differential.claims import CLAIM_STEPS
from tests.differential.custom import CUSTOM_SETUP, CUSTOM_STEPS
from tests.differential.details import DETAILS_SETUP, DETAILS_STEPS
from tests.differential.invalid import INVALID_STEPS
from tests.differential.kinds import KIND_STEPS
from tests.differential.kubelets import KUBELET_STEPS
from tests.differential.limits import LIMITS_STEPS
from tests.differential.mutations import MUTATION_SETUP, MUTATION_STEPS
from tests.differential.pairs import PAIR_STEPS
from tests.differential.parameters import PARAMETER_SETUP, PARAMETER_STEPS
from tests.differential.pods import PODS_STEPS
from tests.differential.profiles import PROFILE_STEPS
from tests.differential.reads import STEPS as READ_STEPS
from tests.differential.refusals import REFUSAL_STEPS
from tests.differential.registration import REGISTRATION_STEPS
from tests.differential.reviews import ALL_REVIEW_STEPS
from tests.differential.scaling import SCALING_STEPS
from tests.differential.security import SECURITY_STEPS
from tests.differential.services import SERVICE_STEPS
from tests.differential.step import (
    APPLY,
    CM,
    DEPLOY,
    JSON,
    MERGE,
    NAMELESS,
    NS,
    PARTIAL,
    PARTIAL_LIST,
    RBAC,
    STRATEGIC,
    TABLE,
    Step,
    account,
    api,
    cm,
)
from tests.differential.values import VALUE_STEPS


def secret(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **more}


def service(**spec: Any) -> dict[str, Any]:
    spec = {"clusterIP": "None", "selector": {"app": "web"}, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}, "spec": spec}


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "busybox"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


_NOT_OLDER = "resourceVersionMatch=NotOlderThan"
_AUTOSCALED = {
    "maxReplicas": 3,
    "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
}

SETUP = [
    Step("namespace", "POST", "/api/v1/namespaces", api("Namespace", "v1", "diff")),
    account("diff"),
    *CUSTOM_SETUP,
    *DETAILS_SETUP,
    *MUTATION_SETUP,
    *PARAMETER_SETUP,
]

STEPS = [
    Step("create", "POST", CM, cm("a", labels={"app": "x"})),
    Step("create again", "POST", CM, cm("a")),
    Step("create with version", "POST", CM, cm("b", resourceVersion="1")),
    Step("create elsewhere", "POST", CM, cm("b", namespace="other")),
    Step("create in no namespace", "POST", "/api/v1/namespaces/none/configmaps", cm("b")),
    Step("create wrong kind", "POST", CM, api("Secret", "v1", "b")),
    Step("create wrong version", "POST", CM, api("ConfigMap", "v2", "b")),
    Step("create bad name", "POST", CM, cm("Bad_Name")),
    Step("create no name", "POST", CM, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),
    Step("create bad label", "POST", CM, cm("b", labels={"a b": "c"})),
    Step("create bad data key", "POST", CM, cm("b", {"a/b": "c"})),
    Step("create bad json", "POST", CM, b"{"),
    Step("create wrong type", "POST", CM, {**cm("b"), "data": {"x": 1}}),
    Step("create wrong metadata", "POST", CM, {**cm("b"), "metadata": {"name": 5}}),
    Step("create strict", "POST", f"{CM}?fieldValidation=Strict", {**cm("b"), "bogus": 1}),
    Step("create warn", "POST", f"{CM}?dryRun=All", {**cm("b"), "bogus": 1}),
    Step("create bad content type", "POST", CM, cm("b"), "text/csv"),
    Step("create dry run", "POST", f"{CM}?dryRun=All", cm("b")),
    Step("create bad dry run", "POST", f"{CM}?dryRun=Some", cm("b")),
    Step("get", "GET", f"{CM}/a"),
    Step("get missing", "GET", f"{CM}/none"),
    Step("get unknown kind", "GET", f"{NS}/gizmos/a"),
    Step("get unknown group", "GET", "/apis/none.example.com/v1/things"),
    Step("get metadata", "GET", f"{CM}/a", accept=PARTIAL),
    Step("get table", "GET", f"{CM}/a", accept=TABLE),
    Step("get cbor", "GET", f"{CM}/a", accept="application/unheard-of"),
    Step("list", "GET", f"{CM}?labelSelector=app"),
    Step("list by set", "GET", f"{CM}?labelSelector=app%20in%20(x,y)"),
    Step("list by not", "GET", f"{CM}?labelSelector=!app&fieldSelector=metadata.name!=kube-root-ca.crt"),
    Step("list by field", "GET", f"{CM}?fieldSelector=metadata.name=a"),
    Step("list bad label selector", "GET", f"{CM}?labelSelector=a%20in"),
    Step("list bad field selector", "GET", f"{CM}?fieldSelector=data.x=1"),
    Step("list bad continue", "GET", f"{CM}?continue=bogus"),
    Step("list bad version", "GET", f"{CM}?resourceVersion=abc"),
    Step("list match without version", "GET", f"{CM}?resourceVersionMatch=Exact"),
    Step("list metadata", "GET", f"{CM}?labelSelector=app", accept=PARTIAL_LIST),
    Step("list table", "GET", f"{CM}?labelSelector=app", accept=TABLE),
    Step("list page", "GET", f"{CM}?limit=1", is_late=True),
    Step("list page selected", "GET", f"{CM}?limit=1&labelSelector=app", is_late=True),
    Step("list page of metadata", "GET", f"{CM}?limit=1", accept=PARTIAL_LIST, is_late=True),
    Step("list page of a table", "GET", f"{CM}?limit=1", accept=TABLE, is_late=True),
    Step("list table of objects", "GET", f"{CM}?limit=1&includeObject=Object", accept=TABLE, is_late=True),
    Step("list table alone", "GET", f"{CM}?limit=1&includeObject=None", accept=TABLE, is_late=True),
    Step("list of any version in pages", "GET", f"{CM}?limit=1&resourceVersion=0", is_late=True),
    Step("list not older in pages", "GET", f"{CM}?limit=1&resourceVersion=0&{_NOT_OLDER}", is_late=True),
    Step("list not older than a version", "GET", f"{CM}?limit=1&resourceVersion=1&{_NOT_OLDER}", is_late=True),
    Step("list of nothing", "GET", f"{CM}?labelSelector=nothing", is_late=True),
    Step("list of no metadata", "GET", f"{CM}?labelSelector=nothing", accept=PARTIAL_LIST, is_late=True),
    Step("list of no rows", "GET", f"{CM}?labelSelector=nothing", accept=TABLE, is_late=True),
    Step("list in two forms", "GET", f"{CM}?limit=1", accept="application/json, application/yaml", is_late=True),
    Step("put", "PUT", f"{CM}/a", cm("a", {"x": "2"}, labels={"app": "x"})),
    Step("put stale", "PUT", f"{CM}/a", cm("a", {"x": "3"}, resourceVersion="1")),
    Step("put wrong name", "PUT", f"{CM}/a", cm("b")),
    Step("put missing", "PUT", f"{CM}/none", cm("none")),
    Step("put wrong uid", "PUT", f"{CM}/a", cm("a", uid="other")),
    Step("merge patch", "PATCH", f"{CM}/a", {"data": {"y": "3", "x": None}}, MERGE),
    Step("merge patch of nothing", "PATCH", f"{CM}/none", {"data": {}}, MERGE),
    Step("merge patch bad json", "PATCH", f"{CM}/a", b"{", MERGE),
    Step("merge patch list", "PATCH", f"{CM}/a", b"[]", MERGE),
    Step("merge patch wrong type", "PATCH", f"{CM}/a", {"data": {"y": 3}}, MERGE),
    Step("merge patch stale", "PATCH", f"{CM}/a", {"metadata": {"resourceVersion": "1"}}, MERGE),
    Step("merge patch name", "PATCH", f"{CM}/a", {"metadata": {"name": "other"}}, MERGE),
    Step("json patch", "PATCH", f"{CM}/a", [{"op": "add", "path": "/data/z", "value": "4"}], JSON),
    Step("json patch test", "PATCH", f"{CM}/a", [{"op": "test", "path": "/data/z", "value": "5"}], JSON),
    Step("json patch nowhere", "PATCH", f"{CM}/a", [{"op": "remove", "path": "/data/none"}], JSON),
    Step("json patch object", "PATCH", f"{CM}/a", {"op": "add"}, JSON),
    Step("patch of no type", "PATCH", f"{CM}/a", {"data": {}}, "application/json"),
    Step("apply", "PATCH", f"{CM}/applied?fieldManager=one", cm("applied", {"x": "1", "y": "2"}), APPLY),
    Step("apply again", "PATCH", f"{CM}/applied?fieldManager=one", cm("applied", {"x": "1", "y": "2"}), APPLY),
    Step("apply less", "PATCH", f"{CM}/applied?fieldManager=one", cm("applied", {"x": "1"}), APPLY),
    Step("apply conflict", "PATCH", f"{CM}/applied?fieldManager=two", cm("applied", {"x": "9"}), APPLY),
    Step("apply forced", "PATCH", f"{CM}/applied?fieldManager=two&force=true", cm("applied", {"x": "9"}), APPLY),
    Step("apply nameless", "PATCH", f"{CM}/nameless?fieldManager=one", NAMELESS, APPLY),
    Step("apply nameless to what is there", "PATCH", f"{CM}/applied?fieldManager=two", NAMELESS, APPLY),
    Step("apply without manager", "PATCH", f"{CM}/applied", cm("applied"), APPLY),
    Step("apply unknown field", "PATCH", f"{CM}/applied?fieldManager=one", {**cm("applied"), "bogus": 1}, APPLY),
    Step("secret", "POST", f"{NS}/secrets", secret(stringData={"p": "secret"})),
    Step("secret bad base64", "POST", f"{NS}/secrets", secret(data={"p": "%%%"})),
    Step("service", "POST", f"{NS}/services", service(ports=[{"port": 80}])),
    Step("service without ports", "POST", f"{NS}/services", {**service(ports=[]), "metadata": {"name": "s2"}}),
    Step("service table", "GET", f"{NS}/services", accept=TABLE),
    Step(
        "pod dry run",
        "POST",
        f"{NS}/pods?dryRun=All",
        pod(serviceAccountName="default", automountServiceAccountToken=False),
    ),
    Step("deployment", "POST", DEPLOY, deployment()),
    Step("deployment bad selector", "POST", DEPLOY, deployment("bad", selector={"matchLabels": {"app": "other"}})),
    Step(
        "deployment without containers",
        "POST",
        DEPLOY,
        deployment("bad", template={"metadata": {"labels": {"app": "bad"}}, "spec": {"containers": []}}),
    ),
    Step("deployment negative", "POST", DEPLOY, deployment("bad", replicas=-1)),
    Step("deployment string", "POST", DEPLOY, deployment("bad", replicas="two")),
    Step(
        "deployment strategic",
        "PATCH",
        f"{DEPLOY}/web",
        {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}}},
        STRATEGIC,
    ),
    Step(
        "deployment add container",
        "PATCH",
        f"{DEPLOY}/web",
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "b"}]}}}},
        STRATEGIC,
    ),
    Step(
        "deployment delete container",
        "PATCH",
        f"{DEPLOY}/web",
        {"spec": {"template": {"spec": {"containers": [{"name": "side", "$patch": "delete"}]}}}},
        STRATEGIC,
    ),
    Step(
        "deployment immutable",
        "PATCH",
        f"{DEPLOY}/web",
        {"spec": {"selector": {"matchLabels": {"app": "other"}}}},
        MERGE,
    ),
    Step("deployment scale", "GET", f"{DEPLOY}/web/scale"),
    Step("deployment rescale", "PATCH", f"{DEPLOY}/web/scale", {"spec": {"replicas": 3}}, MERGE),
    Step(
        "deployment status",
        "PATCH",
        f"{DEPLOY}/web/status",
        {"status": {"replicas": 1, "observedGeneration": 1}},
        MERGE,
    ),
    Step("deployment get", "GET", f"{DEPLOY}/web"),
    Step("deployment table", "GET", DEPLOY, accept=TABLE),
    Step("deployment bad subresource", "GET", f"{DEPLOY}/web/bogus"),
    Step(
        "lease by put",
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/diff/leases/l",
        api("Lease", "coordination.k8s.io/v1", "l", spec={"holderIdentity": "me", "leaseDurationSeconds": 15}),
    ),
    Step("lease table", "GET", "/apis/coordination.k8s.io/v1/namespaces/diff/leases", accept=TABLE),
    Step(
        "ingress",
        "POST",
        "/apis/networking.k8s.io/v1/namespaces/diff/ingresses",
        api(
            "Ingress",
            "networking.k8s.io/v1",
            "i",
            spec={
                "rules": [
                    {
                        "host": "a.example.com",
                        "http": {
                            "paths": [
                                {
                                    "path": "/",
                                    "pathType": "Prefix",
                                    "backend": {"service": {"name": "svc", "port": {"number": 80}}},
                                }
                            ]
                        },
                    }
                ]
            },
        ),
    ),
    Step(
        "ingress bad",
        "POST",
        "/apis/networking.k8s.io/v1/namespaces/diff/ingresses",
        api("Ingress", "networking.k8s.io/v1", "i2", spec={}),
    ),
    Step(
        "job",
        "POST",
        "/apis/batch/v1/namespaces/diff/jobs?dryRun=All",
        api(
            "Job",
            "batch/v1",
            "j",
            spec={"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "b"}]}}},
        ),
    ),
    Step(
        "cronjob bad schedule",
        "POST",
        "/apis/batch/v1/namespaces/diff/cronjobs",
        api(
            "CronJob",
            "batch/v1",
            "c",
            spec={
                "schedule": "often",
                "jobTemplate": {
                    "spec": {
                        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "b"}]}}
                    }
                },
            },
        ),
    ),
    Step(
        "hpa v1",
        "POST",
        "/apis/autoscaling/v1/namespaces/diff/horizontalpodautoscalers",
        api(
            "HorizontalPodAutoscaler",
            "autoscaling/v1",
            "h",
            spec={
                **_AUTOSCALED,
                "targetCPUUtilizationPercentage": 50,
            },
        ),
    ),
    Step("hpa v2", "GET", "/apis/autoscaling/v2/namespaces/diff/horizontalpodautoscalers/h"),
    Step(
        "hpa v1 without a target",
        "POST",
        "/apis/autoscaling/v1/namespaces/diff/horizontalpodautoscalers",
        api("HorizontalPodAutoscaler", "autoscaling/v1", "plain", spec=_AUTOSCALED),
    ),
    Step("hpa v2 without a target", "GET", "/apis/autoscaling/v2/namespaces/diff/horizontalpodautoscalers/plain"),
    Step(
        "hpa v1 applied without a target",
        "PATCH",
        "/apis/autoscaling/v1/namespaces/diff/horizontalpodautoscalers/applied?fieldManager=a",
        api("HorizontalPodAutoscaler", "autoscaling/v1", "applied", spec=_AUTOSCALED),
        APPLY,
    ),
    Step(
        "role",
        "POST",
        f"{RBAC}/roles",
        api(
            "Role",
            "rbac.authorization.k8s.io/v1",
            "r",
            rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        ),
    ),
    Step(
        "role bad",
        "POST",
        f"{RBAC}/roles",
        api("Role", "rbac.authorization.k8s.io/v1", "r2", rules=[{"apiGroups": [""], "resources": ["pods"]}]),
    ),
    Step(
        "binding",
        "POST",
        f"{RBAC}/rolebindings",
        api(
            "RoleBinding",
            "rbac.authorization.k8s.io/v1",
            "rb",
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            subjects=[{"kind": "User", "name": "u"}],
        ),
    ),
    Step("binding other role", "PATCH", f"{RBAC}/rolebindings/rb", {"roleRef": {"name": "other"}}, MERGE),
    Step(
        "event",
        "POST",
        f"{NS}/events",
        {
            **api("Event", "v1", "e"),
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "diff"},
            "reason": "Tested",
            "message": "m",
            "type": "Normal",
        },
    ),
    Step("event as new", "GET", "/apis/events.k8s.io/v1/namespaces/diff/events/e"),
    Step("event by object", "GET", f"{NS}/events?fieldSelector=involvedObject.name=p"),
    Step(
        "review",
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "diff"}},
        },
    ),
    Step(
        "review of user",
        "POST",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": "u", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "diff"}},
        },
    ),
    Step(
        "review empty",
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {}},
    ),
    *READ_STEPS,
    *ALL_REVIEW_STEPS,
    *CUSTOM_STEPS,
    *DETAILS_STEPS,
    *PODS_STEPS,
    *LIMITS_STEPS,
    *INVALID_STEPS,
    Step(
        "webhook bad",
        "POST",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        api(
            "ValidatingWebhookConfiguration",
            "admissionregistration.k8s.io/v1",
            "wh",
            webhooks=[{"name": "short", "clientConfig": {}}],
        ),
    ),
    Step("delete wrong uid", "DELETE", f"{CM}/a", {"preconditions": {"uid": "other"}}),
    Step("delete bad policy", "DELETE", f"{CM}/a", {"propagationPolicy": "Sideways"}),
    Step("delete dry run", "DELETE", f"{CM}/a?dryRun=All"),
    Step("delete dry run by its body", "DELETE", f"{CM}/a", {"dryRun": ["All"], "propagationPolicy": "Background"}),
    Step("delete", "DELETE", f"{CM}/a"),
    Step("delete again", "DELETE", f"{CM}/a"),
    Step("hold", "POST", CM, cm("held", finalizers=["example.com/hold"])),
    Step("bad finalizer", "POST", CM, cm("held2", finalizers=["no-slash"])),
    Step("delete held", "DELETE", f"{CM}/held"),
    Step(
        "finalizer added late",
        "PATCH",
        f"{CM}/held",
        {"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}},
        MERGE,
    ),
    Step("let go", "PATCH", f"{CM}/held", {"metadata": {"finalizers": []}}, MERGE),
    Step("gone", "GET", f"{CM}/held"),
    Step("delete collection", "DELETE", f"{CM}?labelSelector=nothing=here"),
    Step("delete metadata of nothing", "DELETE", f"{CM}?labelSelector=nothing=here", accept=PARTIAL_LIST),
    Step("collected", "POST", CM, cm("collected", labels={"collect": "one"})),
    Step("collection tried as a table", "DELETE", f"{CM}?labelSelector=collect&dryRun=All", accept=TABLE),
    Step("collection tried as metadata", "DELETE", f"{CM}?labelSelector=collect&dryRun=All", accept=PARTIAL_LIST),
    Step("collection deleted", "DELETE", f"{CM}?labelSelector=collect"),
    Step("post to object", "POST", f"{CM}/a", cm("a")),
    Step("put collection", "PUT", CM, cm("a")),
    Step("namespaced without namespace", "POST", "/api/v1/configmaps", cm("a")),
    Step(
        "generated",
        "POST",
        f"{CM}?dryRun=All",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}},
    ),
    Step("discovery", "GET", "/apis/example.com/v1"),
    Step("discovery group", "GET", "/apis/example.com"),
    Step("discovery unknown", "GET", "/apis/none.example.com"),
    Step("impossible path", "GET", "/api/v1/namespaces/diff/configmaps/a/b/c/d"),
    *KIND_STEPS,
    *CERTIFICATE_STEPS,
    *REGISTRATION_STEPS,
    *MUTATION_STEPS,
    *PARAMETER_STEPS,
    *SERVICE_STEPS,
    *ACCOUNT_STEPS,
    *KUBELET_STEPS,
    *VALUE_STEPS,
    *REFUSAL_STEPS,
    *CLAIM_STEPS,
    *SECURITY_STEPS,
    *SCALING_STEPS,
    *PAIR_STEPS,
    *PROFILE_STEPS,
]
