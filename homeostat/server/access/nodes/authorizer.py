"""The Node authorizer: a kubelet reaches what the Pods on its Node need, and nothing of other Nodes.

It never denies: a call that it does not allow may still be allowed by a role. It decides by what a call names. What a
new object contains is left to admission control (`server/admission/plugins/node_restriction.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

from homeostat.objects.access.rule import Rule, allows, rule_of
from homeostat.objects.json import decode_stored
from homeostat.server.access.attributes import Attributes, Decision
from homeostat.server.access.nodes.graph import CLAIMS, PODS, Graph
from homeostat.server.access.nodes.identity import node_of
from homeostat.server.kinds.builtins.members import struct, text
from homeostat.store.base import Key, Store

LEASES: Final = "kube-node-lease"
"""The namespace of the Leases of Nodes."""
_ROLE = "system:node"
_YES = Decision(True)
_NO = Decision(False)
_OWN_VERBS = frozenset({"get", "create", "update", "patch", "delete"})
_READS = frozenset({"get", "list", "watch"})
_SLICE_VERBS = "get, watch, list, create, update, patch, delete, deletecollection"


class Nodes:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._graph = Graph(store)
        self.prepare = self._graph.prepare
        """To be awaited before the first decision about a Node."""
        self.close = self._graph.close
        self._of_resource: dict[tuple[str, str], Callable[[str, Attributes], Decision]] = {
            ("", "secrets"): self._read,
            ("", "configmaps"): self._read,
            ("", CLAIMS): self._claim,
            ("", "persistentvolumes"): self._get,
            ("", "serviceaccounts"): self._account,
            ("", "nodes"): _node,
            ("", PODS): self._pod,
            ("resource.k8s.io", "resourceclaims"): self._get,
            ("resource.k8s.io", "resourceslices"): self._slice,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("coordination.k8s.io", "leases"): _lease,
        }

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:
        """What every Node may do, by the default role. The stored role may have been changed and does not count."""
        from homeostat.server.access.rbac.default_roles import default_roles

        [role] = [
            each for each in default_roles() if each["kind"] == "ClusterRole" and each["metadata"]["name"] == _ROLE
        ]
        return tuple(rule_of(rule) for rule in role["rules"])

    def decide(self, attributes: Attributes) -> Decision:
        node = node_of(attributes.user)
        if node is None:
            return _NO
        if not node:
            return Decision(False, f'unknown node for user "{attributes.user.name}"')
        decide = None if attributes.path else self._of_resource.get((attributes.group, attributes.resource))
        if decide is not None:
            return decide(node, attributes)
        return _YES if any(allows(rule, attributes) for rule in self._rules) else _NO

    def _related(self, node: str, asked: Attributes) -> Decision:
        if not asked.name:
            return Decision(False, "No Object name found")
        resource = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
        key = Key(resource, asked.namespace, asked.name)
        is_related = self._graph.is_related(node, key) or self._names(key, node)
        why = f"no relationship found between node '{node}' and this object"
        return _YES if is_related else Decision(False, why)

    def _names(self, key: Key, node: str) -> bool:
        """Whether the object is about this Node by its own spec."""
        if key.resource not in ("resourceslices.resource.k8s.io", "volumeattachments.storage.k8s.io"):
            return False
        record = self._store.get(key)
        return record is not None and text(struct(decode_stored(record.value), "spec"), "nodeName") == node

    def _read(self, node: str, asked: Attributes) -> Decision:
        if asked.verb not in _READS:
            return Decision(False, "can only read resources of this type")
        if asked.subresource:
            return Decision(False, "cannot read subresource")
        if not asked.namespace:
            return Decision(False, "can only read namespaced object of this type")
        return self._related(node, asked)

    def _get(self, node: str, asked: Attributes) -> Decision:
        if asked.verb != "get":
            return Decision(False, "can only get individual resources of this type")
        if asked.subresource:
            return Decision(False, "cannot get subresource")
        return self._related(node, asked)

    def _claim(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource != "status":
            return self._get(node, asked)
        if asked.verb not in ("update", "patch"):
            return Decision(False, "can only get/update/patch this type")
        return self._related(node, asked)

    def _account(self, node: str, asked: Attributes) -> Decision:
        if asked.verb == "get" and not asked.subresource:
            return self._read(node, asked)
        if asked.verb != "create" or not asked.name:
            return Decision(False, "can only create tokens for individual service accounts")
        if asked.subresource != "token":
            return Decision(False, "can only create token subresource of serviceaccount")
        return self._related(node, asked)

    def _slice(self, node: str, asked: Attributes) -> Decision:
        if asked.subresource:
            return Decision(False, "cannot authorize ResourceSlice subresources")
        match asked.verb:
            case "create":
                return _YES
            case "get" | "update" | "patch" | "delete":
                return self._related(node, asked)
            case "watch" | "list" | "deletecollection":
                why = "can only list/watch/deletecollection resourceslices with nodeName field selector"
                return _YES if node in asked.selected_nodes else Decision(False, why)
        return Decision(False, f"only the following verbs are allowed for a ResourceSlice: {_SLICE_VERBS}")

    def _pod(self, node: str, asked: Attributes) -> Decision:
        match asked.subresource, asked.verb:
            case "", "get":
                return self._get(node, asked)
            case "", "list" | "watch":
                if node in asked.selected_nodes:
                    return _YES
                if asked.name:
                    return self._related(node, asked)
                return Decision(False, "can only list/watch pods with spec.nodeName field selector")
            case ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create"):
                return _YES
        return _NO


def _node(node: str, asked: Attributes) -> Decision:
    match asked.subresource, asked.verb:
        case ("", "create" | "update" | "patch") | ("status", "update" | "patch"):
            return _YES
        case "", "get" | "list" | "watch":
            if asked.name == node:
                return _YES
            what = f"read '{asked.name}'" if asked.name else "read all nodes"
            return Decision(False, f"node '{node}' cannot {what}, only its own Node object")
    return _NO


def _csi_node(node: str, asked: Attributes) -> Decision:
    if asked.verb not in _OWN_VERBS:
        return Decision(False, "can only get, create, update, patch, or delete a CSINode")
    if asked.subresource:
        return Decision(False, "cannot authorize CSINode subresources")
    if asked.verb != "create" and asked.name != node:
        return Decision(False, "can only access CSINode with the same name as the requesting node")
    return _YES


def _lease(node: str, asked: Attributes) -> Decision:
    if asked.verb not in _OWN_VERBS:
        return Decision(False, "can only get, create, update, patch, or delete a node lease")
    if asked.namespace != LEASES:
        return Decision(False, f'can only access leases in the "{LEASES}" system namespace')
    if asked.verb != "create" and asked.name != node:
        return Decision(False, "can only access node lease with the same name as the requesting node")
    return _YES
