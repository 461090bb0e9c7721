"""The part of the conversation that is about invalid Pods, templates and Nodes: one fault or two in each."""

from __future__ import annotations

from typing import Any

from tests.differential.pods import record
from tests.differential.step import DEPLOY, MERGE, NS, Step, api

_PODS = f"{NS}/pods?dryRun=All"
_NODES = "/api/v1/nodes"


def _container(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "b", **more}]}


def _term(**term: Any) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _preferred(weight: int, **term: Any) -> dict[str, Any]:
    weighted = [{"weight": weight, "podAffinityTerm": term}]
    return {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}}


def _nodes(*expressions: dict[str, Any], fields: Any = None) -> dict[str, Any]:
    term: dict[str, Any] = {"matchExpressions": list(expressions)}
    if fields:
        term = {"matchFields": fields}
    required = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _spread(**more: Any) -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **more}
    return {"topologySpreadConstraints": [{name: value for name, value in constraint.items() if value is not None}]}


def _volume(**source: Any) -> dict[str, Any]:
    return {"volumes": [{"name": "v", **source}]}


def _probe(**probe: Any) -> dict[str, Any]:
    return _container(livenessProbe=probe)


_CHECKED = {"tcpSocket": {"port": 80}}
_SPECS: dict[str, dict[str, Any]] = {
    "affinity without topology": _term(labelSelector={"matchLabels": {"a": "b"}}),
    "affinity bad topology": _term(topologyKey="a b", labelSelector={"matchLabels": {"a": "b"}}),
    "affinity bad selector": _term(
        topologyKey="zone", labelSelector={"matchExpressions": [{"key": "a", "operator": "Like", "values": ["b"]}]}
    ),
    "affinity bad namespace": _term(topologyKey="zone", namespaces=["Bad_Name"]),
    "affinity weight": _preferred(0, topologyKey="zone"),
    "affinity weight too high": _preferred(101, topologyKey="zone"),
    "affinity match labels": _term(topologyKey="zone", labelSelector={}, matchLabelKeys=["a b"]),
    "node affinity operator": _nodes({"key": "a", "operator": "Near", "values": ["b"]}),
    "node affinity without values": _nodes({"key": "a", "operator": "In"}),
    "node affinity with values": _nodes({"key": "a", "operator": "Exists", "values": ["b"]}),
    "node affinity two numbers": _nodes({"key": "a", "operator": "Gt", "values": ["1", "2"]}),
    "node affinity bad key": _nodes({"key": "a b", "operator": "Exists"}),
    "node affinity bad value": _nodes({"key": "a", "operator": "In", "values": ["a b"]}),
    "node affinity bad field": _nodes(fields=[{"key": "metadata.uid", "operator": "In", "values": ["x"]}]),
    "node affinity field operator": _nodes(fields=[{"key": "metadata.name", "operator": "Exists"}]),
    "node affinity without terms": {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}
    },
    "node affinity weight": {
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
                ]
            }
        }
    },
    "spread skew": _spread(maxSkew=0),
    "spread without topology": _spread(topologyKey=None),
    "spread bad topology": _spread(topologyKey="a b", labelSelector={}),
    "spread otherwise": _spread(whenUnsatisfiable="Whatever"),
    "spread without an action": _spread(whenUnsatisfiable=None),
    "spread domains": _spread(minDomains=0),
    "spread domains anyway": _spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
    "spread policy": _spread(nodeAffinityPolicy="Maybe"),
    "spread taints policy": _spread(nodeTaintsPolicy="Maybe"),
    "spread twice": {"topologySpreadConstraints": _spread()["topologySpreadConstraints"] * 2},
    "spread label keys": _spread(matchLabelKeys=["app"]),
    "spread bad selector": _spread(labelSelector={"matchLabels": {"a b": "c"}}),
    "toleration operator": {"tolerations": [{"key": "a", "operator": "Near"}]},
    "toleration effect": {"tolerations": [{"key": "a", "operator": "Exists", "effect": "Never"}]},
    "toleration bad key": {"tolerations": [{"key": "a b", "operator": "Exists"}]},
    "toleration bad value": {"tolerations": [{"key": "a", "value": "a b"}]},
    "toleration without key": {"tolerations": [{"operator": "Equal", "value": "x"}]},
    "toleration exists with value": {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
    "toleration seconds": {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}]},
    "pod user": {"securityContext": {"runAsUser": -1}},
    "pod group": {"securityContext": {"fsGroup": -1, "runAsGroup": -5}},
    "pod further group": {"securityContext": {"supplementalGroups": [-1]}},
    "pod group policy": {"securityContext": {"fsGroupChangePolicy": "Sometimes"}},
    "pod further group policy": {"securityContext": {"supplementalGroupsPolicy": "Sometimes"}},
    "pod seccomp": {"securityContext": {"seccompProfile": {"type": "Wild"}}},
    "pod seccomp without file": {"securityContext": {"seccompProfile": {"type": "Localhost"}}},
    "pod seccomp with file": {
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": "x"}}
    },
    "pod sysctl": {"securityContext": {"sysctls": [{"name": "a b", "value": "1"}]}},
    "pod sysctl twice": {"securityContext": {"sysctls": [{"name": "a.b", "value": "1"}] * 2}},
    "container user": _container(securityContext={"runAsUser": -1}),
    "container group": _container(securityContext={"runAsGroup": -1}),
    "container proc": _container(securityContext={"procMount": "Half"}),
    "container escalation": _container(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
    "container escalation by capability": _container(
        securityContext={"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False}
    ),
    "container seccomp": _container(securityContext={"seccompProfile": {"type": ""}}),
    "container name": {"containers": [{"name": "Bad_Name", "image": "b"}]},
    "container names": {"containers": [{"name": "a", "image": "b"}, {"name": "a", "image": "b"}]},
    "container without name": {"containers": [{"image": "b"}]},
    "container without image": {"containers": [{"name": "a"}]},
    "container image blank": _container(image=" b"),
    "container pull policy": _container(imagePullPolicy="Sometimes"),
    "container message policy": _container(terminationMessagePolicy="Shout"),
    "init container name": {**_container(), "initContainers": [{"name": "main", "image": "b"}]},
    "init container probe": {
        **_container(),
        "initContainers": [{"name": "i", "image": "b", "livenessProbe": _CHECKED}],
    },
    "init container lifecycle": {
        **_container(),
        "initContainers": [{"name": "i", "image": "b", "lifecycle": {"preStop": {"exec": {"command": ["x"]}}}}],
    },
    "no containers": {"containers": []},
    "port zero": _container(ports=[{"containerPort": 0}]),
    "port too high": _container(ports=[{"containerPort": 70000}]),
    "port name": _container(ports=[{"containerPort": 1, "name": "Bad_Name"}]),
    "port names": _container(ports=[{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]),
    "port protocol": _container(ports=[{"containerPort": 1, "protocol": "ICMP"}]),
    "port on host": _container(ports=[{"containerPort": 1, "hostPort": 70000}]),
    "port on host twice": _container(
        ports=[{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 80}]
    ),
    "port of host network": {**_container(ports=[{"containerPort": 1, "hostPort": 2}]), "hostNetwork": True},
    "env name": _container(env=[{"name": "a=b", "value": "x"}]),
    "env without name": _container(env=[{"value": "x"}]),
    "env from two": _container(
        env=[
            {
                "name": "a",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}, "secretKeyRef": {"name": "s", "key": "k"}},
            }
        ]
    ),
    "env from nothing": _container(env=[{"name": "a", "valueFrom": {}}]),
    "env from field": _container(env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.bogus"}}}]),
    "env from empty field": _container(env=[{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": ""}}}]),
    "env from resource": _container(env=[{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.x"}}}]),
    "env from secret": _container(env=[{"name": "a", "valueFrom": {"secretKeyRef": {"name": "", "key": ""}}}]),
    "env prefix": _container(envFrom=[{"prefix": "a=", "configMapRef": {"name": "c"}}]),
    "env from no source": _container(envFrom=[{}]),
    "limit below request": _container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    "negative request": _container(resources={"requests": {"memory": "-1"}}),
    "unknown resource": _container(resources={"requests": {"bogus": "1"}}),
    "fraction of a device": _container(resources={"limits": {"example.com/gpu": "500m"}}),
    "device without limit": _container(resources={"requests": {"example.com/gpu": "1"}}),
    "huge pages alone": _container(resources={"limits": {"hugepages-2Mi": "2Mi"}}),
    "resize policy": _container(resizePolicy=[{"resourceName": "disk", "restartPolicy": "NotRequired"}]),
    "probe without handler": _probe(periodSeconds=3),
    "probe two handlers": _probe(tcpSocket={"port": 80}, exec={"command": ["x"]}),
    "probe port": _probe(tcpSocket={"port": 0}),
    "probe port name": _probe(tcpSocket={"port": "Bad_Name"}),
    "probe negative": _probe(tcpSocket={"port": 80}, periodSeconds=-1, timeoutSeconds=-1),
    "probe successes": _probe(tcpSocket={"port": 80}, successThreshold=2),
    "probe scheme": _probe(httpGet={"port": 80, "scheme": "FTP"}),
    "probe header": _probe(httpGet={"port": 80, "httpHeaders": [{"name": "a b", "value": "x"}]}),
    "probe without command": _probe(exec={"command": []}),
    "probe grace": _probe(tcpSocket={"port": 80}, terminationGracePeriodSeconds=0),
    "readiness grace": _container(readinessProbe={**_CHECKED, "terminationGracePeriodSeconds": 3}),
    "hook sleep": _container(lifecycle={"preStop": {"sleep": {"seconds": -1}}}),
    "hook without handler": _container(lifecycle={"postStart": {}}),
    "volumes of one name": {"volumes": [{"name": "v", "emptyDir": {}}] * 2},
    "volume name": {"volumes": [{"name": "Bad_Name", "emptyDir": {}}]},
    "volume of two sources": _volume(emptyDir={}, hostPath={"path": "/x"}),
    "volume without secret": _volume(secret={}),
    "volume host path": _volume(hostPath={"path": "/a/../b"}),
    "volume host path type": _volume(hostPath={"path": "/a", "type": "Pipe"}),
    "volume mode": _volume(configMap={"name": "c", "defaultMode": 4096}),
    "volume item path": _volume(configMap={"name": "c", "items": [{"key": "k", "path": "../x"}]}),
    "volume item without key": _volume(configMap={"name": "c", "items": [{"key": "", "path": "x"}]}),
    "volume claim name": _volume(persistentVolumeClaim={"claimName": ""}),
    "volume projected token": _volume(
        projected={"sources": [{"serviceAccountToken": {"path": "", "expirationSeconds": 1}}]}
    ),
    "volume empty dir size": _volume(emptyDir={"sizeLimit": "-1"}),
    "mount of no volume": _container(volumeMounts=[{"name": "none", "mountPath": "/x"}]),
    "mount without path": {**_container(volumeMounts=[{"name": "v"}]), **_volume(emptyDir={})},
    "mounts at one path": {
        **_container(volumeMounts=[{"name": "v", "mountPath": "/x"}] * 2),
        **_volume(emptyDir={}),
    },
    "mount sub path": {
        **_container(volumeMounts=[{"name": "v", "mountPath": "/x", "subPath": "../y"}]),
        **_volume(emptyDir={}),
    },
    "mount propagation": {
        **_container(volumeMounts=[{"name": "v", "mountPath": "/x", "mountPropagation": "Sideways"}]),
        **_volume(emptyDir={}),
    },
    "restart policy": {"restartPolicy": "Sometimes"},
    "dns policy": {"dnsPolicy": "Other"},
    "dns without servers": {"dnsPolicy": "None"},
    "dns servers": {"dnsConfig": {"nameservers": ["x", "1.1.1.1", "1.1.1.2", "1.1.1.3"]}},
    "dns searches": {"dnsConfig": {"searches": ["a b"]}},
    "dns option": {"dnsConfig": {"options": [{"value": "x"}]}},
    "host alias": {"hostAliases": [{"ip": "x", "hostnames": ["Bad_Name"]}]},
    "hostname": {"hostname": "Bad_Name"},
    "node name": {"nodeName": "Bad_Name"},
    "node selector": {"nodeSelector": {"a b": "c"}},
    "grace period": {"terminationGracePeriodSeconds": -1},
    "deadline": {"activeDeadlineSeconds": 0},
    "account": {"serviceAccountName": "Bad_Name"},
    "readiness gate": {"readinessGates": [{"conditionType": "a b"}]},
    "scheduling gate": {"schedulingGates": [{"name": "a b"}]},
    "scheduling gates": {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
    "gated on a node": {"schedulingGates": [{"name": "a"}], "nodeName": "n"},
    "operating system": {"os": {"name": "plan9"}},
    "shared namespaces": {"shareProcessNamespace": True, "hostPID": True},
    "runtime class": {"runtimeClassName": "Bad_Name"},
    "overhead": {"overhead": {"cpu": "-1"}},
}


def _template(spec: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "t"}}, "spec": {"containers": [{"name": "main", "image": "b"}], **spec}}
    return api("Deployment", "apps/v1", "t", spec={"selector": {"matchLabels": {"app": "t"}}, "template": template})


_OF_TEMPLATES = (
    "affinity without topology",
    "node affinity operator",
    "spread skew",
    "toleration effect",
    "pod user",
    "container proc",
    "container names",
    "env from field",
    "limit below request",
    "probe two handlers",
    "volumes of one name",
    "dns without servers",
)


def _node(name: str, **spec: Any) -> dict[str, Any]:
    return api("Node", "v1", name, spec=spec)


_TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}
_NODE_STEPS = [
    Step("node twice tainted", "POST", _NODES, _node("n1", taints=[_TAINT, {**_TAINT, "value": "c"}])),
    Step("node bad effect", "POST", _NODES, _node("n1", taints=[{**_TAINT, "effect": "Never"}])),
    Step("node no effect", "POST", _NODES, _node("n1", taints=[{"key": "a"}])),
    Step("node bad taint key", "POST", _NODES, _node("n1", taints=[{**_TAINT, "key": "a b"}])),
    Step("node bad taint value", "POST", _NODES, _node("n1", taints=[{**_TAINT, "value": "a b"}])),
    Step("node bad range", "POST", _NODES, _node("n1", podCIDR="10.0.0.0/99")),
    Step("node two ranges of a family", "POST", _NODES, _node("n1", podCIDRs=["10.0.0.0/24", "10.0.1.0/24"])),
    Step(
        "node bad capacity",
        "POST",
        _NODES,
        {**_node("n1"), "status": {"capacity": {"cpu": "-1"}, "allocatable": {"cpu": "x"}}},
    ),
    Step("node created", "POST", _NODES, _node("diff-n", podCIDR="10.0.0.0/24", providerID="a://1")),
    Step("node other range", "PATCH", f"{_NODES}/diff-n", {"spec": {"podCIDR": "10.0.1.0/24"}}, MERGE),
    Step("node other provider", "PATCH", f"{_NODES}/diff-n", {"spec": {"providerID": "a://2"}}, MERGE),
    Step("node tainted", "PATCH", f"{_NODES}/diff-n", {"spec": {"taints": [_TAINT]}}, MERGE),
    Step("node badly tainted", "PATCH", f"{_NODES}/diff-n", {"spec": {"taints": [_TAINT] * 2}}, MERGE),
    Step("node unschedulable", "PATCH", f"{_NODES}/diff-n", {"spec": {"unschedulable": True}}, MERGE),
]

INVALID_STEPS = [
    *(Step(f"invalid {name}", "POST", _PODS, record("x", **spec)) for name, spec in _SPECS.items()),
    *(Step(f"template {name}", "POST", f"{DEPLOY}?dryRun=All", _template(_SPECS[name])) for name in _OF_TEMPLATES),
    *_NODE_STEPS,
]
