"""Checks the webhook configurations of the admission webhook in a cluster, for `homeostat doctor`."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from homeostat.client.base import Client
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import GROUP
from homeostat.runtime.checkup import Finding

_HOOKS: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_HOOK: Final = f"validate.{GROUP}"
_INSTALL: Final = "homeostat policy webhook install-config"


async def check_webhooks(client: Client) -> Sequence[Finding]:
    try:
        configurations, _ = await client.list(_HOOKS)
    except ForbiddenError:
        return [Finding("webhook", "SKIPPED", "not allowed to list ValidatingWebhookConfigurations")]
    found = [
        _webhook(each["metadata"]["name"], hook)
        for each in configurations
        for hook in each.get("webhooks") or ()
        if hook["name"] == _HOOK
    ]
    text = "not installed: Pods are not checked at admission"
    return found or [Finding("webhook", "SKIPPED", text, "to install it: see homeostat policy webhook --help")]


def _webhook(name: str, hook: JsonObject) -> Finding:
    from homeostat.web.certificates.authority import RenewalError, validity_of

    check, failure = f"webhook {name}", hook.get("failurePolicy", "Fail")
    try:
        _, end = validity_of(b64decode(hook["clientConfig"].get("caBundle") or ""))
    except (RenewalError, ValueError):
        return Finding(check, "FAIL", "its caBundle is not a certificate", f"see {_INSTALL}")
    if end <= datetime.now(UTC):
        detail = f"its authority expired at {end:%Y-%m-%d}; API servers skip it ({failure})"
        return Finding(
            check, "FAIL", detail, f"create certificates (homeostat policy webhook cert-generate), {_INSTALL}"
        )
    return Finding(check, "OK", f"failurePolicy {failure}, authority valid until {end:%Y-%m-%d}")
