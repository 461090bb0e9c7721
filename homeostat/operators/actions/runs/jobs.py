"""Which plugin reconciles a resource, with which configuration; and the one place that calls plugins.

The configuration of a resource overrides that of its type, field by field, if both are for the same plugin. An author
of resources is trusted less than an author of types: a resource may set only the fields that its type or the plugin
allows, use only secrets of its own namespace, and not change the address that credentials of its type are sent to.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection, Mapping
from typing import Any, NamedTuple, TypeVar, get_args

import msgspec

from homeostat.external.process import ProcessError
from homeostat.external.rest.errors import RestError
from homeostat.external.secrets.secrets import NAMESPACED, SecretError, SecretReference, Secrets, stores_named
from homeostat.objects.decision import Wait
from homeostat.objects.json import Json, JsonObject, encode
from homeostat.operators.actions.api import ActionReference, Resource
from homeostat.operators.actions.conditions import is_sound_condition
from homeostat.operators.actions.plugins.catalog import UnknownPluginError
from homeostat.operators.actions.plugins.plugin import ActionError, Plugin
from homeostat.operators.actions.runs.run import Outcome, shortened
from homeostat.operators.actions.world import Fault, Lost, Plan, Underway

log = logging.getLogger(__name__)

Result = TypeVar("Result", bound="Plan | Outcome | Underway | Lost")
_ANYTHING = (Plan, Outcome, Underway, Lost)
_EXPECTED = (SecretError, RestError, ProcessError, UnknownPluginError)
_LONGEST_MESSAGE = 2048
LARGEST_OUTPUTS = 256 << 10
MOST_CONDITIONS = 20
PLUGIN = "plugin"
"""Among the `resourceFields` of a type: its resources may name another plugin. Alone it does not limit the fields."""


class Effective(NamedTuple):
    """The plugin of a resource, and the configuration of its type and of the resource itself."""

    plugin: str
    usual: JsonObject
    own: JsonObject

    @property
    def config(self) -> JsonObject:
        return {**self.usual, **self.own}


class Configuration(NamedTuple):
    """The configuration in the plugin's own type; `operator_fields` come from the operator's settings."""

    read: msgspec.Struct
    operator_fields: frozenset[str]


def effective_action(resource: Resource, default: ActionReference, *, claimed: str = "") -> Effective:
    """`claimed` is the plugin that claims the type; it is used if neither the resource nor the type names a plugin."""
    own, usual = resource.action or ActionReference(), default.plugin or claimed
    if not own.plugin or own.plugin == usual:
        return Effective(usual, default.config, own.config)
    return Effective(own.plugin, {}, own.config)


def read_config(
    plugin: Plugin[Any], action: Effective, *, operator: JsonObject, allowed: Collection[str] | None = None
) -> Configuration:
    """Decodes the configuration into the plugin's own type. The layers are `operator`, the settings of the process,
    then the type, then the resource, which may set the `allowed` fields.
    """
    layers = [renamed(plugin, each) for each in (operator, action.usual, action.own)]
    config, own = {name: value for layer in layers for name, value in layer.items()}, layers[2]
    check_own_fields(plugin, own, allowed, usual=layers[1])
    _check_addresses(plugin, config, own)
    try:
        read: msgspec.Struct = msgspec.convert(config, plugin.config)
    except msgspec.ValidationError as error:
        raise ActionError("InvalidConfig", f"action.config: {error}") from error
    for field in msgspec.structs.fields(plugin.config) if own else ():
        if field.encode_name in own and (stores := stores_named(getattr(read, field.name)) - {NAMESPACED}):
            message = f'only the resource type may use secrets of the store "{min(stores)}"; use the store "secret"'
            raise ActionError("InvalidConfig", f"action.config.{field.encode_name}: {message}")
    return Configuration(read, frozenset(layers[0].keys() - layers[1].keys() - own.keys()))


def renamed(plugin: Plugin[Any], config: JsonObject) -> JsonObject:
    """Fields under the names that the plugin has now; `aliases` of a plugin are names that it accepts too."""
    aliases: Mapping[str, str] = getattr(plugin, "aliases", {})
    return {aliases.get(name, name): value for name, value in config.items()}


def check_own_plugin(own: str, usual: str, allowed: Collection[str] | None) -> None:
    """Raises `ActionError` if a resource names another plugin than its type: that one may have credentials of the
    operator, and the type has decided nothing about it.
    """
    if own and usual and own != usual and PLUGIN not in (allowed or ()):
        kept = "" if allowed else " (alone it leaves the safe fields allowed)"
        listing = f"list {PLUGIN} in spec.resourceFields of the type{kept}"
        message = f'its type names "{usual}"; remove the field, or {listing}'
        raise ActionError("InvalidConfig", f'action.plugin: resources may not name "{own}": {message}')


def check_own_fields(
    plugin: Plugin[Any], own: JsonObject, allowed: Collection[str] | None, *, usual: JsonObject
) -> None:
    """Raises `ActionError` for a field that a resource may not set. `allowed` are the fields that the type lists, and
    `usual` is the configuration of the type.
    """
    has_list = allowed is not None and set(allowed) != {PLUGIN}
    listed = renamed(plugin, dict.fromkeys(allowed or ())) if has_list else None
    for name in sorted(own):
        if name in getattr(plugin, "type_only", frozenset()):
            raise ActionError("InvalidConfig", f"action.config.{name}: only the resource type may set it")
        is_decided = name in usual and name in getattr(plugin, "targets", frozenset())
        is_allowed = name in listed if listed is not None else not is_decided and _is_safe(plugin, name, own[name])
        if not is_allowed and name in _field_names(plugin):
            message = f"resources may not set it; set it in the type, or list {name} in spec.resourceFields of the type"
            raise ActionError("InvalidConfig", f"action.config.{name}: {message}")


def _is_safe(plugin: Plugin[Any], name: str, value: Json) -> bool:
    """A field that does not say where the operator connects, what it sends there, and what comes back."""
    credentials: frozenset[str] = getattr(plugin, "credentials", frozenset())
    if name in credentials and isinstance(value, str):
        # A literal credential is the author's own.
        return name not in getattr(plugin, "restricted", frozenset())
    unsafe = credentials | getattr(plugin, "addresses", frozenset()) | getattr(plugin, "restricted", frozenset())
    return name not in unsafe and name not in _secret_fields(plugin.config)


def _field_names(plugin: Plugin[Any]) -> frozenset[str]:
    return frozenset(each.encode_name for each in msgspec.structs.fields(plugin.config))


def _secret_fields(config: Any) -> frozenset[str]:
    """Fields whose type contains a reference to a secret."""
    fields = msgspec.structs.fields(config)
    return frozenset(each.encode_name for each in fields if _mentions(each.type, SecretReference))


def _mentions(annotation: Any, wanted: type) -> bool:
    return annotation is wanted or any(_mentions(each, wanted) for each in get_args(annotation))


def _check_addresses(plugin: Plugin[Any], config: JsonObject, own: JsonObject) -> None:
    """Credentials of the type or the operator are sent only to addresses that these set."""
    theirs = {name for name, value in config.items() if value and name not in own}
    moved = sorted(getattr(plugin, "addresses", frozenset()) & own.keys())
    if moved and (sent := sorted(getattr(plugin, "credentials", frozenset()) & theirs)):
        message = (
            f'only the resource type may set it, because the resource does not own the "{sent[0]}" that '
            f"would be sent there"
        )
        raise ActionError("InvalidConfig", f"action.config.{moved[0]}: {message}")


async def called(
    secrets: Secrets, plugin: str, call: Awaitable[Result], shapes: tuple[type, ...] = _ANYTHING
) -> Result | Fault:
    """Awaits a call of the plugin and removes secrets from its result. All its errors are handled here, because their
    texts may contain anything.
    """
    try:
        message = await call
        if not isinstance(message, shapes):
            raise TypeError(f"the plugin returned a {type(message).__name__}")
        return _scrubbed(message, secrets)
    except Wait as wait:
        raise Wait(wait.reason, wait.after, message=secrets.scrub(str(wait))) from None
    except ActionError as error:
        return Fault(error.reason, _message(error, secrets), True, shortened(secrets.scrub(error.output)))
    except _EXPECTED as error:
        return Fault(error.reason, _message(error, secrets))
    except Exception as error:
        text = _message(error, secrets)
        log.error("action plugin failed", extra={"plugin": plugin, "error": type(error).__name__, "text": text})
        return Fault("PluginBroke", f"{type(error).__name__}: {text}")


def _message(error: Exception, secrets: Secrets) -> str:
    return shortened(secrets.scrub(str(error)) or type(error).__name__, _LONGEST_MESSAGE)


def _scrubbed(message: Result, secrets: Secrets) -> Result:
    match message:
        case Plan():
            outputs = secrets.scrub_json(message.outputs) if message.outputs else {}
            if len(encode(outputs)) > LARGEST_OUTPUTS:
                outputs = {}
            return msgspec.structs.replace(message, output=shortened(secrets.scrub(message.output)), outputs=outputs)
        case Outcome():
            # Secrets are removed before the text is cut: half a secret would not be recognised.
            clean = msgspec.convert(secrets.scrub_json(msgspec.to_builtins(message)), Outcome)
            return _bounded(clean)  # type: ignore[return-value]
        case Underway():
            return msgspec.structs.replace(message, handle=secrets.scrub_json(message.handle))
        case _:
            return message


def _bounded(outcome: Outcome) -> Outcome:
    """Limits the size of an outcome for the status. One that is too large loses its outputs, not its success."""
    message, outputs = outcome.message, outcome.outputs
    if len(encode(outputs)) > LARGEST_OUTPUTS:
        message, outputs = f"outputs exceed {LARGEST_OUTPUTS} bytes and were dropped; {message}", {}
    return msgspec.structs.replace(
        outcome,
        message=shortened(message, _LONGEST_MESSAGE),
        output=shortened(outcome.output),
        outputs=outputs,
        conditions=tuple(filter(is_sound_condition, outcome.conditions))[:MOST_CONDITIONS],
    )
