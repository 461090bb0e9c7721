"""Where the plane answers otherwise than kube-apiserver on purpose: which step, which part of the answer, and why."""

from __future__ import annotations

import re

from tests.differential.claims import CLAIM_STEPS

EVERYWHERE = {
    r"\.message$": "text is for people; ours names the thing, the expectation and what to do",
    r"\.causes\[\d+\]\.message$": "the same",
    r"\.columnDefinitions\[\d+\]\.description$": "our own words",
    r"\.details$": "an empty object here, nothing there",
    r"\.details\.(kind|name|group)$": "kube-apiserver is of two minds: the kind, the plural or nothing",
    r"\.managedFields": "the order of entries of one second, and null against absent, differ",
    r"\.(eventTime|firstTimestamp|lastTimestamp|deprecated\w+|source|reporting\w+)$": "Go writes them empty",
    r"\.metadata\.continue$": "empty there, absent here",
    r"\.lastProbeTime$": "null there, absent here",
}

_OF_NODES = {r"\.status$": "Go writes empty values"}
_CHECKS = {r"^$": "each server has checks of its own"}
_ACCEPTED = {r"\.status": "names are accepted with the write; a controller does it there", r"\.finalizers$": "the same"}
_CHECKED = {r"\.status": "types are checked with the write; a controller does it there"}

_UNFORWARDED = {r"\.status": "requests are not forwarded here"}
_EMPTY = {r"\.spec$": "Go writes empty values"}
_PROTECTED = {r"\.finalizers$": "nothing would remove the finalizer of protection"}
_UNWATCHED = {r"\.status": "no controller has been at it", r"\.rows\[0\]\.cells\[5\]$": "the same"}

STEPS: dict[str, dict[str, str]] = {
    "review of rules": {r"\.status\.\w+Rules": "in no certain order there"},
    "odd scale applied": {"": "a client's mistake is 400 here and an unnamed 500 there"},
    "create with version": {"": "a client's mistake is 400 here and an unnamed 500 there"},
    "apply unknown field": {"": "a client's mistake is 400 here and an unnamed 500 there"},
    "widget apply unknown": {"": "a client's mistake is 400 here and an unnamed 500 there"},
    "get unknown group": {"": "always a Status here, plain text there"},
    "discovery unknown": {"": "always a Status here, plain text there"},
    "impossible path": {"": "always a Status here, plain text there"},
    "deployment immutable": {r"\.causes": "the first fault is told alone"},
    "event of another reason": {r"\.causes$": "told twice there"},
    "patch of another uid": {r"\.causes$": "told twice there"},
    "apply of another uid": {r"\.causes$": "told twice there"},
    "job": {r"controller-uid": "made of the uid"},
    "secured job": {r"controller-uid": "made of the uid"},
    "job of details": {r"controller-uid": "made of the uid"},
    "job deleted": {r"controller-uid": "made of the uid"},
    "node": _OF_NODES,
    "node status": _OF_NODES,
    "nodes that take Pods": _OF_NODES,
    **dict.fromkeys(("healthz in words", "livez in words", "readyz in words", "readyz without one"), _CHECKS),
    **{f"policy that {each}": _CHECKED for each in ("fits", "does not fit")},
    **{f"Validating policy of a kind that {each}": _CHECKED for each in ("she may read", "is none")},
    "Validating policies labelled by eve": _CHECKED,
    "policy of one name twice": _CHECKED,
    "definition of a column that is none": _ACCEPTED,
    "definition condition": _ACCEPTED,
    "definition condition without a type": _ACCEPTED,
    "the server's slice": {"": "the real server writes none for a loopback address"},
    "the server's endpoints": {"": "the real server writes none for a loopback address"},
    "the server's service": {r"\.targetPort$": "each server has a port of its own"},
    "service tries a taken address": {"": "refused in a dry run too, as node ports are there"},
    "service shows an address in a dry run": {r"\.clusterIPs?": "the address of the network there"},
    "service given a taken health port": {"": "a client's mistake is 422 here and an unnamed 500 there"},
    **dict.fromkeys(("kubelets' claim", "kubelets' volume", "k1: claim", "k1: volume"), _PROTECTED),
    **dict.fromkeys(("k1: its node", "k2's node", "k1: its node's label"), _OF_NODES),
    **dict.fromkeys(("k1: its node's status", "k1: the node"), _OF_NODES | {r"\.status\.\w+$": "the same"}),
    **{
        f"{where} patch of {name}": {r"\.causes": "told twice there"}
        for where in ("main", "status")
        for name in ("deletionTimestamp", "deletionGracePeriodSeconds")
    },
    "account: mirror added": {r"\.causes": "told once"},
    "account: strict-ephemeral": {"": "403 as for other containers here, an unnamed 500 there"},
    "hpa v1": {r"\.status": "no controller has been at it"},
    "hpa v2": {r"\.status": "no controller has been at it"},
    "hpa v1 without a target": {r"\.status": "no controller has been at it"},
    "hpa v2 without a target": {r"\.status": "no controller has been at it"},
    "hpa v1 applied without a target": {r"\.status": "no controller has been at it"},
    "definition get": {
        r"\.finalizers$": "the clean-up finalizer is there from the first write; a controller adds it there"
    },
    "definition table": {
        r"\.finalizers$": "the same",
        r"\.rows\[0\]\.cells\[1\]$": "created by the clock of each server, a second apart at times",
    },
    "definition no versions": {r"\.causes": "storedVersions are the server's own business"},
    "widget invalid": {r"\.causes": "the same causes in another order"},
    "finalizer added late": {r"\.causes": "told once"},
    "rename-later by update": {r"\.causes": "told once"},
    "discovery": {r"\.resources": "sorted by name here"},
    "discovery of the core group": {r"\.resources$": "no `bindings` here"},
    "/apis/apps/v1/none in YAML": {"": "always a Status here, plain text there"},
    "discovery of v1beta1 admission": {r"\.resources": "sorted by name here"},
    "VolumeAttachment refused": {r"\.causes": "told once"},
    **{f"VolumeAttributesClass {each}": _PROTECTED for each in ("created", "changed", "read", "put", "table")},
    "VolumeAttributesClass deleted": {r"\.metadata\.\w+$": "there it waits for the finalizer of protection"},
    **{f"FlowSchema {each}": _UNWATCHED for each in ("changed", "put", "read", "table")},
    "IPAddress table": {r"\.rows\[0\]\.cells$": "one cell more than columns there"},
    "APIService of another server": _UNFORWARDED,
    "APIService changed": _UNFORWARDED,
    **{f"{each} of nothing": _EMPTY for each in ("CSINode", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass")},
    **{f"{each} of nothing": {r"\.causes": "told once"} for each in ("VolumeAttachment", "ResourceSlice")},
    "ResourceSlice refused": {r"\.causes": "told once"},
    "CSIStorageCapacity table": {r"\.rows\[0\]\.cells\[1\]$": "created by the clock of each server"},
    "DeviceClass not changed": {r"\.causes": "told once"},
    **{
        f"quota {each}": {r"\.status\.(hard|used)$": "counted with the write; a controller does it there"}
        for each in ("compute", "best-effort", "critical", "claims", "gold")
    },
    "range of a claim": {r"\.finalizers$": "no finalizer of protection: nothing mounts claims"},
    **{
        step: {r"\.finalizers$": "no finalizer of protection: nothing mounts claims"}
        for step in (
            "claim without a default class",
            "claim of the default class",
            "claim of no class",
            "claim of another class",
            "claim of a class in an annotation",
            "claim of the newest default class",
            "claim without a default class again",
        )
    },
    **dict.fromkeys((step.id for step in CLAIM_STEPS), _PROTECTED),
    "quota claim": {r"\.finalizers$": "no finalizer of protection: nothing mounts claims"},
    "quota attributes not met": {r"\.finalizers$": "no finalizer of protection: nothing mounts claims"},
    "invalid container escalation": {
        r"\.causes": "privileged containers are off there, and a plane has no such switch"
    },
    **{
        f"job that {each}": {r"controller-uid": "made of the uid"}
        for each in ("fails by a code", "of a manager", "is enough by indexes")
    },
    **{f"set {each}": {r"\.serviceName$": "Go writes it empty"} for each in ("of no service", "of claims")},
    "set forgets revisions": {r"\.serviceName$": "Go writes it empty"},
    "autoscaler of controllers": {r"\.status\.currentMetrics$": "null there, absent here"},
    **{
        f"claim of a {each}source": {
            r"\.finalizers$": "no finalizer of protection: nothing mounts claims",
            r"\.apiGroup$": "null there, absent here",
        }
        for each in ("", "newer ")
    },
    "node created": _OF_NODES,
    "node tainted": _OF_NODES,
    "node unschedulable": _OF_NODES,
    "node badly tainted": {r"\.causes": "told once"},
    "evict of two budgets": {r"\.reason$": "every error has a reason here"},
    "bind to no node": {"": "a client's mistake is 422 here and an unnamed 500 there"},
    "bind to a pod": {"": "a client's mistake is 422 here and an unnamed 500 there"},
}


def is_allowed(step: str, difference: str) -> bool:
    path = difference.partition(":")[0]
    if any(re.search(pattern, path) for pattern in EVERYWHERE):
        return True
    return any(re.search(pattern, path) for pattern in STEPS.get(step, {}))
