"""Authorization of calls, and the error message of a denial.

Members of `system:masters` may do everything, other users what roles and bindings allow, and kubelets also what the
Pods on their Node need.
"""

from __future__ import annotations

from functools import partial

from homeostat.edge.threads import in_thread
from homeostat.objects.errors import ForbiddenError, quoted
from homeostat.server.access.attributes import Attributes, Decision
from homeostat.server.access.nodes.authorizer import Nodes
from homeostat.server.access.nodes.identity import NODE_PREFIX
from homeostat.server.access.rbac.authorizer import Rbac
from homeostat.server.access.user import MASTERS

_MASTER = Decision(True)


class Authorizer:
    def __init__(self, rbac: Rbac, nodes: Nodes | None = None) -> None:
        self.rbac = rbac
        self.nodes = nodes

    def authorize(self, attributes: Attributes) -> Decision:
        if MASTERS in attributes.user.groups:
            return _MASTER
        return self._joined(attributes, self.rbac.decide(attributes))

    def _joined(self, attributes: Attributes, decision: Decision) -> Decision:
        """With what the Node authorizer decides, if it has a say."""
        if decision.is_allowed or self.nodes is None or not attributes.user.name.startswith(NODE_PREFIX):
            return decision
        own = self.nodes.decide(attributes)
        reasons = [each for each in (own.reason, decision.reason) if each]
        return own if own.is_allowed else Decision(False, "\n".join(reasons))

    def close(self) -> None:
        """Stop following what Nodes reach."""
        if self.nodes is not None:
            self.nodes.close()

    def require(self, attributes: Attributes) -> None:
        """Raise `ForbiddenError` for a call that is not allowed."""
        _require_allowed(attributes, self.authorize(attributes))

    async def require_soon(self, attributes: Attributes) -> None:
        """As `require`, for callers that can wait: a decision that takes long is made in a thread."""
        _require_allowed(attributes, await self.authorize_soon(attributes))

    async def authorize_soon(self, attributes: Attributes) -> Decision:
        """As `authorize`, for callers that can wait."""
        return self._joined(attributes, await self._decide(attributes))

    async def _decide(self, attributes: Attributes) -> Decision:
        if MASTERS in attributes.user.groups:
            return _MASTER
        if not self.rbac.takes_long(attributes):
            return self.rbac.decide(attributes)
        return await in_thread(partial(self.rbac.decide, attributes), user=attributes.user.name)


def _require_allowed(attributes: Attributes, decision: Decision) -> None:
    if not decision.is_allowed:
        raise refusal(attributes, decision.reason)


def refusal(attributes: Attributes, reason: str = "") -> ForbiddenError:
    import html

    message = html.escape(_cannot(attributes), quote=False)
    return forbidden(
        f"{message}: {reason}" if reason else message,
        resource=attributes.resource,
        group=attributes.group,
        name=attributes.name,
    )


def forbidden(why: str, *, resource: str, group: str, name: str) -> ForbiddenError:
    """A 403 with the message of Kubernetes, about an object or, with an empty resource, about none."""
    full_resource = f"{resource}.{group}" if group else resource
    subject = f"{full_resource} {quoted(name)}" if name else full_resource
    message = f"{subject} is forbidden: {why}" if resource else f"forbidden: {why}"
    return ForbiddenError(message, kind=resource, group=group, name=name)


def _cannot(attributes: Attributes) -> str:
    who = f"User {quoted(attributes.user.name)} cannot {attributes.verb}"
    if attributes.path:
        return f"{who} path {quoted(attributes.path)}"
    resource = f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
    where = f"in the namespace {quoted(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    return f"{who} resource {quoted(resource)} in API group {quoted(attributes.group)} {where}"
