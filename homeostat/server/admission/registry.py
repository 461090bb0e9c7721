"""The configured webhooks and policies, and which of them match which kind of write.

They are updated at each commit that changes a configuration. The matching ones are computed once for each kind,
subresource and operation, so a write costs one look-up. The modules that read and match configurations are imported
with the first one: most planes have none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from homeostat.objects.errors import ApiError
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.kinds.registry import Kind, Registry
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

if TYPE_CHECKING:
    from homeostat.server.admission.match import Occasion
    from homeostat.server.admission.policies.policy import Binding, Policy
    from homeostat.server.admission.policies.validating import BoundPolicy
    from homeostat.server.admission.webhooks.webhook import Matched, Webhook

log = logging.getLogger(__name__)

GROUP = "admissionregistration.k8s.io"

T = TypeVar("T")


class Interested(msgspec.Struct, frozen=True):
    mutations: tuple[BoundPolicy, ...] = ()
    mutating: tuple[Matched, ...] = ()
    policies: tuple[BoundPolicy, ...] = ()
    validating: tuple[Matched, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.mutations or self.mutating or self.policies or self.validating)


NOBODY = Interested()


class AdmissionRules:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._mutating: dict[str, list[Webhook]] = {}
        self._validating: dict[str, list[Webhook]] = {}
        self._policies: dict[str, Policy] = {}
        self._bindings: dict[str, Binding] = {}
        self._mutations: dict[str, Policy] = {}
        self._mutation_bindings: dict[str, Binding] = {}
        self._interested: dict[tuple[Kind, str, str], Interested] = {}
        self._generation = -1
        self.is_empty = True

    async def follow(self, store: Store) -> None:
        await _follow(store, "mutatingwebhookconfigurations", self._mutating, _webhooks_of, self._forget)
        await _follow(store, "validatingwebhookconfigurations", self._validating, _webhooks_of, self._forget)
        await _follow(store, "validatingadmissionpolicies", self._policies, _policy_of, self._forget)
        await _follow(store, "validatingadmissionpolicybindings", self._bindings, _binding_of, self._forget)
        await _follow(store, "mutatingadmissionpolicies", self._mutations, _policy_of, self._forget)
        await _follow(store, "mutatingadmissionpolicybindings", self._mutation_bindings, _binding_of, self._forget)

    def interested(self, kind: Kind, subresource: str, operation: str) -> Interested:
        if self._generation != self._registry.generation:
            self._interested.clear()
            self._generation = self._registry.generation
        occasion = (kind, subresource, operation)
        found = self._interested.get(occasion)
        if found is None:
            from homeostat.server.admission.match import Occasion

            found = self._interested[occasion] = self._find(Occasion(*occasion))
        return found

    def _forget(self) -> None:
        self._interested.clear()
        has_policies = (self._policies and self._bindings) or (self._mutations and self._mutation_bindings)
        self.is_empty = not (self._mutating or self._validating or has_policies)

    def _find(self, occasion: Occasion) -> Interested:
        kind = occasion.kind
        if kind.group == GROUP:
            # Otherwise a configuration could prevent its own correction.
            return NOBODY
        others = [
            each
            for each in self._registry.all()
            if each.resource == kind.resource and each.is_stored and each is not kind
        ]
        return Interested(
            mutating=_matched(self._mutating, occasion, others),
            mutations=_bound(self._mutations, self._mutation_bindings, occasion, others),
            policies=_bound(self._policies, self._bindings, occasion, others),
            validating=_matched(self._validating, occasion, others),
        )


def _bound(
    policies: dict[str, Policy], known: dict[str, Binding], occasion: Occasion, others: list[Kind]
) -> tuple[BoundPolicy, ...]:
    from homeostat.server.admission.policies.validating import BoundPolicy

    found = []
    of_policy: dict[str, list[Binding]] = {}
    for _, binding in sorted(known.items()):
        of_policy.setdefault(binding.policy, []).append(binding)
    for _, policy in sorted(policies.items()):
        narrowed = policy.match.narrow(occasion, others) if policy.name in of_policy else None
        if narrowed is None:
            continue
        bindings = tuple(
            (binding, rest)
            for binding in of_policy[policy.name]
            if (rest := binding.match.narrow(occasion, others)) is not None
        )
        if bindings:
            found.append(BoundPolicy(policy, narrowed, bindings))
    return tuple(found)


def _webhooks_of(configuration: JsonObject) -> list[Webhook]:
    from homeostat.server.admission.webhooks.webhook import webhooks_of

    return webhooks_of(configuration)


def _policy_of(obj: JsonObject) -> Policy:
    from homeostat.server.admission.policies.policy import policy_of

    return policy_of(obj)


def _binding_of(obj: JsonObject) -> Binding:
    from homeostat.server.admission.policies.policy import binding_of

    return binding_of(obj)


def _matched(configurations: dict[str, list[Webhook]], occasion: Occasion, others: list[Kind]) -> tuple[Matched, ...]:
    return tuple(
        (webhook, narrowed)
        for _, webhooks in sorted(configurations.items())
        for webhook in webhooks
        if (narrowed := webhook.match.narrow(occasion, others)) is not None
    )


async def _follow(
    store: Store, plural: str, known: dict[str, T], make: Callable[[JsonObject], T], changed: Callable[[], None]
) -> None:
    def put(record: Record) -> None:
        try:
            known[record.key.name] = make(decode_stored(record.value))
        except ApiError as error:
            # Validation refuses such a configuration; only a store that another program wrote can have one.
            log.error(
                "ignoring invalid admission configuration",
                extra={"resource": plural, "object": record.key.name, "why": str(error)},
            )
            known.pop(record.key.name, None)
        changed()

    def drop(record: Record) -> None:
        known.pop(record.key.name, None)
        changed()

    await follow(store, Scope(f"{plural}.{GROUP}"), put=put, drop=drop)
