"""The `spec.conversion` of a CustomResourceDefinition: how its versions are converted into each other. Pure.

Errors name the fields as Kubernetes does, which is by their names in its internal version: `webhookClientConfig`.
"""

from __future__ import annotations

from homeostat.objects.client_config import check_client_config, check_review_versions
from homeostat.objects.errors import Cause, forbidden, required, unsupported
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.json import types as form

WEBHOOK = form.object_of(
    {
        "clientConfig": form.object_of(
            {
                **dict.fromkeys(("url", "caBundle"), form.text),
                "service": form.object_of(
                    {**dict.fromkeys(("namespace", "name", "path"), form.text), "port": form.whole}
                ),
            }
        ),
        "conversionReviewVersions": form.list_of(form.text),
    }
)
_STRATEGIES = ("None", "Webhook")
_PORT = 443


def default_conversion(conversion: Json) -> None:
    """Set the port of a webhook's Service, in place; leave out what says nothing."""
    webhook = conversion.get("webhook") if isinstance(conversion, dict) else None
    if not isinstance(webhook, dict):
        return
    config = webhook.get("clientConfig")
    if isinstance(config, dict):
        if not config.get("caBundle"):
            config.pop("caBundle", None)
        service = config.get("service")
        if isinstance(service, dict) and service.get("port") is None:
            service["port"] = _PORT
    if not any(value is not None for value in webhook.values()):
        del conversion["webhook"]


def check_conversion(conversion: JsonObject) -> list[Cause]:
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or ()
    at, versions_at = "spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"
    if strategy == "Webhook":
        causes = (
            check_client_config(config, at)
            if config is not None
            else [required(at, "required when strategy is set to Webhook")]
        )
        return causes + check_review_versions(versions, versions_at)
    causes = []
    if not strategy:
        causes.append(required("spec.conversion.strategy"))
    elif strategy not in _STRATEGIES:
        causes.append(unsupported("spec.conversion.strategy", strategy, _STRATEGIES))
    message = "should not be set when strategy is not set to Webhook"
    if config is not None:
        causes.append(forbidden(at, message))
    if versions:
        causes.append(forbidden(versions_at, message))
    return causes
