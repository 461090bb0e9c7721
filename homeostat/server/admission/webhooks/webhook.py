"""An admission webhook as its configuration declares it: what it matches, where it is, and what its failure means."""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.objects.json import JsonObject
from homeostat.server.admission.expressions import Conditions, webhook_environment
from homeostat.server.admission.match import Match, Narrowed, match_of, rule_of
from homeostat.server.admission.webhooks.client import Endpoint, endpoint_of


@dataclass(frozen=True, slots=True, eq=False)
class Webhook:
    name: str
    match: Match
    conditions: Conditions
    endpoint: Endpoint
    fails: bool
    """A failed call denies the write."""
    timeout_s: int
    allows_dry_run: bool
    is_reinvoked: bool
    accepts_v1: bool


Matched = tuple[Webhook, Narrowed]
"""A webhook whose rules match a kind of write, and what remains to be matched."""


def webhooks_of(configuration: JsonObject) -> list[Webhook]:
    return [_webhook(each) for each in configuration.get("webhooks") or ()]


def _webhook(value: JsonObject) -> Webhook:
    fails = value.get("failurePolicy") != "Ignore"
    return Webhook(
        name=value["name"],
        match=match_of(value, tuple(rule_of(each) for each in value.get("rules") or ())),
        conditions=Conditions(value.get("matchConditions"), webhook_environment(), fails=fails),
        endpoint=endpoint_of(value.get("clientConfig") or {}),
        fails=fails,
        timeout_s=value.get("timeoutSeconds") or 10,
        allows_dry_run=value.get("sideEffects") in ("None", "NoneOnDryRun"),
        is_reinvoked=value.get("reinvocationPolicy") == "IfNeeded",
        accepts_v1="v1" in (value.get("admissionReviewVersions") or ()),
    )
