"""Admission control of a write, in the order of Kubernetes.

Mutating policies and webhooks change the object before validation. Then follow the check of privilege escalation,
validating policies and validating webhooks. Last come the checks of operators in this process, which a cluster does
not have (`guards.py`). If none of them matches, a write costs one look-up.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from homeostat.edge.threads import in_thread
from homeostat.objects.errors import Cause, invalid_object
from homeostat.objects.json import JsonObject
from homeostat.server import strategy
from homeostat.server.access.authz import Authorizer
from homeostat.server.access.nodes.identity import NODE_PREFIX
from homeostat.server.access.rbac.escalation import check_grant, takes_long
from homeostat.server.access.signers import GROUP as CERTIFICATES
from homeostat.server.access.signers import check_signing
from homeostat.server.admission.attempt import Attempt
from homeostat.server.admission.guards import Guards
from homeostat.server.admission.plugins.claim_growth import CLAIMS, require_growth
from homeostat.server.admission.plugins.node_restriction import restrict_node
from homeostat.server.admission.plugins.plugins import COMPLETED, Plugins
from homeostat.server.admission.plugins.runtime_class import require_class
from homeostat.server.admission.pod_security.plugin import NAMESPACES, SECURED, PodSecurity
from homeostat.server.admission.registry import GROUP, AdmissionRules, Interested
from homeostat.server.admission.reserved import Reservations
from homeostat.server.admission.webhooks.client import WebhookClient
from homeostat.server.kinds.registry import Registry
from homeostat.server.request.call import Call
from homeostat.server.request.offload import is_heavy, is_large
from homeostat.server.verbs.scale import with_replicas
from homeostat.store.base import Put, Store

if TYPE_CHECKING:
    from homeostat.server.admission.policies.mutating import Mutations
    from homeostat.server.admission.policies.validating import Policies
    from homeostat.server.admission.webhooks.calls import Webhooks

_NOT_GUARDED = frozenset({"eviction", "binding"})
"""Subresources whose object is not of the guarded kind."""
_RBAC = "rbac.authorization.k8s.io"
_SERVER_OWNED = ("uid", "creationTimestamp", "generation", "resourceVersion", "deletionTimestamp")

T = TypeVar("T")


class AdmissionChain:
    completed: Collection[str] = COMPLETED

    def __init__(self, authorizer: Authorizer, registry: Registry, client: WebhookClient) -> None:
        self._authorizer = authorizer
        self._registry = registry
        self._client = client
        self._rules = AdmissionRules(registry)
        self._plugins, self._pod_security = Plugins(registry), PodSecurity()
        self.guards, self.reserved = Guards(), Reservations()

    @cached_property
    def _webhooks(self) -> Webhooks:
        from homeostat.server.admission.webhooks.calls import Webhooks

        return Webhooks(self._client)

    @cached_property
    def _policies(self) -> Policies:
        from homeostat.server.admission.policies.validating import Policies

        return Policies()

    @cached_property
    def _mutations(self) -> Mutations:
        from homeostat.server.admission.policies.mutating import Mutations

        return Mutations()

    async def follow(self, store: Store) -> None:
        await self._rules.follow(store)
        await self._plugins.follow(store)
        await self._pod_security.follow(store)

    async def close(self) -> None:
        await self._client.close()

    def is_idle(self, call: Call, operation: str) -> bool:
        return self._rules.is_empty or not self._rules.interested(call.kind, call.subresource, operation)

    async def complete(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        await self._plugins.complete(call, obj, old)

    def has_quotas(self, namespace: str) -> bool:
        return namespace in self._plugins.quotas.namespaces

    def is_charged(self, call: Call, new: JsonObject | None, old: JsonObject | None) -> bool:
        return self._plugins.quotas.is_charged(call, new, old)

    async def in_turn(self, namespace: str, work: Callable[[], Awaitable[T]]) -> T:
        async with self._plugins.quotas.turns.of(namespace):
            return await work()

    async def charges(self, call: Call, new: JsonObject | None, old: JsonObject | None) -> tuple[Put, ...]:
        return await self._plugins.quotas.charges(call, new, old)

    async def mutate(
        self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str
    ) -> JsonObject | None:
        interested = self._rules.interested(call.kind, call.subresource, operation)
        if not (interested.mutating or interested.mutations):
            return obj
        attempt = Attempt(call, obj, old, operation)
        changed = await self._mutated(attempt, interested)
        if changed is attempt or changed.obj is None or obj is None:
            return obj
        wanted = _rescaled(call, obj, changed.obj) if call.subresource == "scale" else changed.obj
        settle = partial(_settled, call, wanted, obj, old)
        is_slow = is_large(call) or is_heavy(wanted)
        return await in_thread(settle, user=call.user.name) if is_slow else settle()

    async def _mutated(self, attempt: Attempt, interested: Interested) -> Attempt:
        """After policies and webhooks, each of which may be asked again if a later one changed the object."""
        hooks, policies, invoked = interested.mutating, interested.mutations, set[str]()
        changed = attempt
        if policies:
            changed, invoked = await self._mutations.mutate(attempt, policies)
        after_policies = changed
        if hooks:
            changed, asked, again = await self._webhooks.mutate(changed, hooks)
        if invoked and (after_policies is not attempt or changed is not after_policies):
            before = changed
            repeated = tuple(each for each in policies if each.policy.name in invoked and each.policy.is_reinvoked)
            changed, _ = await self._mutations.mutate(changed, repeated)
            if hooks and changed is not before:
                again.update(each for each in asked if each.is_reinvoked)
        return await self._webhooks.mutate_again(changed, hooks, again) if hooks else changed

    async def validate(self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
        group = call.kind.group
        if call.user.name.startswith(NODE_PREFIX):
            restrict_node(call, obj, old, operation)
        if obj is not None:
            await self.reserved.check(self._authorizer, call, obj)
        if obj is not None and group in (_RBAC, GROUP, CERTIFICATES):
            await self._check(call, obj, old)
        if call.kind.resource == "pods" and obj is not None and old is None and not call.subresource:
            require_class(call, obj)
        if call.kind.resource == CLAIMS and obj is not None and old is not None and not call.subresource:
            require_growth(call, obj, old)
        if obj is not None and self._plugins.limits and call.namespace in self._plugins.limits:
            self._plugins.require_limits(call, obj, old)
        if obj is not None and call.kind.resource in SECURED and call.namespace in self._pod_security.policies:
            self._pod_security.review(call, obj, old)
        elif obj is not None and call.kind.resource == NAMESPACES:
            await self._pod_security.review_namespace(call, obj, old)
        if not self._rules.is_empty:
            await self._ask(call, obj, old, operation)
        if call.kind.resource in self.guards.checks and call.subresource not in _NOT_GUARDED:
            await self.guards.validate(call, obj, old, operation)

    async def _ask(self, call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
        interested = self._rules.interested(call.kind, call.subresource, operation)
        if not (interested.policies or interested.validating):
            return
        attempt = Attempt(call, obj, old, operation)
        if interested.policies:
            await self._policies.validate(attempt, interested.policies)
        if interested.validating:
            await self._webhooks.validate(attempt, interested.validating)

    async def _check(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        """Check privilege escalation, and the configuration of admission itself."""
        kind = call.kind
        if kind.group == _RBAC:
            await self._check_grant(call, obj, old)
        elif kind.group == CERTIFICATES:
            check_signing(self._authorizer, call.user, subresource=call.subresource, obj=obj, old=old)
        elif causes := await self._configuration_causes(call, obj, old):
            raise invalid_object(kind.kind, kind.group, obj["metadata"]["name"], causes)
        elif kind.kind == "ValidatingAdmissionPolicy" and not call.subresource and _is_unchecked(obj, old):
            obj["status"] = await in_thread(partial(_checked_status, obj, self._registry), user=call.user.name)

    async def _check_grant(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        authorizer, user, namespace = self._authorizer, call.user, call.namespace
        check = partial(check_grant, authorizer, user, kind=call.kind.kind, namespace=namespace, obj=obj, old=old)
        if takes_long(authorizer, user, namespace=namespace, obj=obj):
            await in_thread(check, user=user.name)
        else:
            check()

    async def _configuration_causes(self, call: Call, obj: JsonObject, old: JsonObject | None) -> list[Cause]:
        causes = await in_thread(partial(_configuration_causes, obj), user=call.user.name)
        if causes and old is not None:
            # What was stored by the rules of then may stay.
            kept = await in_thread(partial(_configuration_causes, old), user=call.user.name)
            causes = [each for each in causes if each not in kept]
        if causes or call.subresource:
            return causes
        from homeostat.server.admission.policies.params import reading_causes

        return await reading_causes(self._authorizer, call, obj, old)


def _configuration_causes(obj: JsonObject) -> list[Cause]:
    from homeostat.server.admission.configuration import configuration_causes

    return configuration_causes(obj)


def _is_unchecked(obj: JsonObject, old: JsonObject | None) -> bool:
    return old is None or obj.get("spec") != old.get("spec")


def _checked_status(obj: JsonObject, registry: Registry) -> JsonObject:
    from homeostat.server.admission.policies.type_checking import checked_status

    return checked_status(obj, registry)


def _settled(call: Call, changed: JsonObject, obj: JsonObject, old: JsonObject | None) -> JsonObject:
    """A changed object with the fields restored that no webhook may change: the server's, and other subresources'."""
    if old is None:
        metadata = changed["metadata"]
        for name in _SERVER_OWNED:
            metadata.pop(name, None)
            if name in obj["metadata"]:
                metadata[name] = obj["metadata"][name]
        return changed
    changed["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if call.subresource == "status":
        return strategy.prepare_status_update(call.kind, changed, old)
    strategy.prepare_update(call.kind, changed, old, call.subresource)
    call.kind.behaviour.prepare(changed, old, call.timestamp(), writer=id(call))
    return changed


def _rescaled(call: Call, obj: JsonObject, scale: JsonObject) -> JsonObject:
    return with_replicas(call.kind, obj, scale["spec"].get("replicas", 0))
