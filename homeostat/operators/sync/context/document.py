"""A context as the catalog has it: repository, managed server, secret store, metadata. Pure.

Read strictly: an unknown key is an error. `${NAME}` stands for a variable of the environment and is replaced at use,
so that the file keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from homeostat.external.secrets.scrub import scrub_urls
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.secrets.detect import is_secret_header

MASK: Final = "***"
_SHORTEST: Final = 4
"""Characters of a secret that is masked, here as in every other output."""
_SECRETS: Final = frozenset({"password", "clientSecret", "passphrase", "token", "secretID", "key"})
_environment = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}").fullmatch
_TEXT: Final = "text"
_REF: Final = {"name": _TEXT}
_TLS: Final = {"caCertFile": _TEXT, "clientCertFile": _TEXT, "clientKeyFile": _TEXT, "insecureSkipVerify": "bool"}
_PROXY: Final[dict[str, Any]] = {
    "http": _TEXT,
    "https": _TEXT,
    "noProxy": _TEXT,
    "auth": {"credentialsRef": _REF, "username": "any", "password": "any"},
}
_AUTH: Final[dict[str, Any]] = {
    "oauth2": {
        "tokenURL": _TEXT,
        "grantType": _TEXT,
        "clientID": "any",
        "clientSecret": "any",
        "username": "any",
        "password": "any",
        "scope": _TEXT,
        "audience": _TEXT,
    },
    "basic": {"credentialsRef": _REF},
    "customHeaders": [{"header": _TEXT, "prefix": _TEXT, "value": "any"}],
    "none": "any",
}
_THROTTLE: Final = dict.fromkeys(("maxConcurrentRequests", "queueSize", "requestsPerSecond", "burst"), "number")
_GIT_AUTH: Final[dict[str, Any]] = {
    "basic": {"credentialsRef": _REF},
    "ssh": {
        "user": _TEXT,
        "privateKeyFile": _TEXT,
        "passphrase": "any",
        "knownHostsFile": _TEXT,
        "insecureIgnoreHostKey": "bool",
    },
    "accessKey": {"token": "any"},
}
SCHEMA: Final[dict[str, Any]] = {
    "name": _TEXT,
    "repository": {
        "git": {
            "local": {"baseDir": _TEXT, "autoInit": "bool"},
            "remote": {
                "url": _TEXT,
                "branch": _TEXT,
                "provider": _TEXT,
                "autoSync": "bool",
                "auth": _GIT_AUTH,
                "tls": _TLS,
                "proxy": _PROXY,
            },
        },
        "filesystem": {"baseDir": _TEXT},
    },
    "managedService": {
        "http": {
            "url": _TEXT,
            "healthCheck": _TEXT,
            "openapi": _TEXT,
            "defaultHeaders": "map",
            "auth": _AUTH,
            "proxy": _PROXY,
            "tls": _TLS,
            "requestThrottling": _THROTTLE,
        }
    },
    "secretStore": {
        "file": {
            "path": _TEXT,
            "key": "any",
            "keyFile": _TEXT,
            "passphrase": "any",
            "passphraseFile": _TEXT,
            "kdf": {"time": "number", "memory": "number", "threads": "number"},
        },
        "vault": {
            "address": _TEXT,
            "mount": _TEXT,
            "pathPrefix": _TEXT,
            "kvVersion": "number",
            "auth": {
                "token": "any",
                "password": {"credentialsRef": _REF, "mount": _TEXT},
                "appRole": {"roleID": "any", "secretID": "any", "mount": _TEXT},
                "kubernetes": {"role": _TEXT, "tokenFile": _TEXT, "mount": _TEXT},
            },
            "tls": _TLS,
            "proxy": _PROXY,
        },
    },
    "metadata": {"baseDir": _TEXT, "bundle": _TEXT, "bundleFile": _TEXT, "proxy": _PROXY},
    "preferences": "map",
}
# What --set may change.
SETTABLE: Final = (
    "repository.git.local.baseDir",
    "repository.filesystem.baseDir",
    "managedService.http.url",
    "managedService.http.healthCheck",
    "managedService.http.proxy.http",
    "managedService.http.proxy.https",
    "managedService.http.proxy.noProxy",
    "metadata.baseDir",
    "metadata.bundle",
    "metadata.bundleFile",
)


def read_context(value: Json) -> JsonObject:
    """The context in the order of its fields, with an empty `metadata` where there is none."""
    found = _read(value, SCHEMA, "context")
    assert isinstance(found, dict)
    if not found.get("name"):
        raise ValidationError("context.name is missing")
    if not found.get("repository") and not found.get("managedService"):
        raise ValidationError(f'context "{found["name"]}" needs a repository or a managedService')
    _check(found)
    return {**found, "metadata": found.get("metadata", {})} if "preferences" not in found else found


def read_credentials(value: Json) -> tuple[JsonObject, ...]:
    """`{name, username, password}`, each value a text, `${NAME}`, or `{prompt, persistInSession}`."""
    found = _read(value, [{"name": _TEXT, "username": "any", "password": "any"}], "credentials")
    assert isinstance(found, list)
    names = [each.get("name") for each in found]
    if None in names or len(set(names)) != len(names):
        raise ValidationError("credentials need a name each, and no two may have the same")
    for each in found:
        for key in ("username", "password"):
            item = each.get(key)
            if isinstance(item, dict):
                _read(item, {"prompt": "bool", "persistInSession": "bool"}, f"credentials {each['name']}: {key}")
            elif item is not None and not isinstance(item, str):
                raise ValidationError(f"credentials {each['name']}: {key} is neither a string nor a prompt")
    return tuple(found)


def _check(context: JsonObject) -> None:
    _one_of(context, "repository", "git", "filesystem")
    _one_of(context, "secretStore", "file", "vault")
    http = context.get("managedService", {}).get("http")
    if "managedService" in context and (not http or not http.get("url")):
        raise ValidationError("context.managedService.http.url is missing")
    if http and len(http.get("auth", {})) > 1:
        raise ValidationError("context.managedService.http.auth has more than one way; expected one")
    file = context.get("secretStore", {}).get("file")
    locks = ("key", "keyFile", "passphrase", "passphraseFile")
    if file and sum(each in file for each in locks) != 1:
        raise ValidationError(f"context.secretStore.file needs exactly one of {', '.join(locks)}")
    if len([each for each in context.get("metadata", {}) if each != "proxy"]) > 1:
        raise ValidationError("context.metadata has more than one of baseDir, bundle, bundleFile")


def _one_of(context: JsonObject, key: str, *names: str) -> None:
    if key in context and sum(each in context[key] for each in names) != 1:
        raise ValidationError(f"context.{key} needs exactly one of {', '.join(names)}")


def _read(value: Json, schema: Any, where: str) -> Json:
    match schema:
        case dict():
            if not isinstance(value, dict):
                raise ValidationError(f"{where} is not an object")
            for key in value:
                if key not in schema:
                    raise ValidationError(f'{where} has an unknown key "{key}"')
            return {
                key: _read(value[key], each, f"{where}.{key}")
                for key, each in schema.items()
                if value.get(key) is not None
            }
        case list():
            if not isinstance(value, list):
                raise ValidationError(f"{where} is not a list")
            return [_read(each, schema[0], f"{where}[{place}]") for place, each in enumerate(value)]
        case "text" if not isinstance(value, str):
            raise ValidationError(f"{where} is not a string")
        case "bool" if not isinstance(value, bool):
            raise ValidationError(f"{where} is not true or false")
        case "number" if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValidationError(f"{where} is not a number")
        case "map" if not isinstance(value, dict):
            raise ValidationError(f"{where} is not a map")
    return value


def expanded(value: Json, environment: Mapping[str, str]) -> Json:
    """With variables of the environment in place of `${NAME}`; one that is not set is empty."""
    match value:
        case str():
            found = _environment(value)
            return environment.get(found[1], "") if found else value
        case dict():
            return {key: expanded(item, environment) for key, item in value.items()}
        case list():
            return [expanded(item, environment) for item in value]
        case _:
            return value


def check_addresses(context: JsonObject) -> None:
    """Of a context that is added: an address that is no variable has to be one of http."""
    http = context.get("managedService", {}).get("http", {})
    token = http.get("auth", {}).get("oauth2", {}).get("tokenURL")
    for where, value in (("url", http.get("url")), ("auth.oauth2.tokenURL", token)):
        if value is not None and not _environment(str(value)) and not str(value).startswith(("http://", "https://")):
            raise ValidationError(f'managedService.http.{where} "{value}" is not an http or https address')


def with_settings(context: JsonObject, settings: Mapping[str, str]) -> JsonObject:
    """The context with some of its fields replaced, as `--set` gives them."""
    for key, text in settings.items():
        if key not in SETTABLE:
            raise ValidationError(f'"{key}" cannot be set; expected one of {", ".join(SETTABLE)}')
        context = _with(context, key.split("."), text)
    return context


def _with(value: Json, names: list[str], text: str) -> JsonObject:
    members = value if isinstance(value, dict) else {}
    inner = _with(members.get(names[0]), names[1:], text) if len(names) > 1 else text
    return {**members, names[0]: inner}


def masked(value: Json, name: str = "") -> Json:
    """Without secrets: the fields that hold one are masked, unless a variable or a prompt stands there.

    So are credentials in addresses, and all headers but those that say nothing secret.
    """
    match value:
        case dict() if name == "defaultHeaders":
            return {key: _hidden(item) if is_secret_header(key) else item for key, item in value.items()}
        case dict() if "header" in value and "value" in value:
            return {**value, "value": _hidden(value["value"])}
        case dict():
            return {key: masked(item, key) for key, item in value.items()}
        case list():
            return [masked(each, name) for each in value]
        case str():
            return _hidden(value) if name in _SECRETS else scrub_urls(value)
        case _:
            return value


def _hidden(value: Json) -> Json:
    is_shown = not isinstance(value, str) or len(value) < _SHORTEST or _environment(value)
    return value if is_shown else MASK


def check_unmasked(context: JsonObject) -> None:
    """`ValidationError` if a context was printed with masks: they would replace its secrets."""
    if at := next(_masks(context, "context"), None):
        raise ValidationError(f'{at} is "{MASK}", a mask; print the context with --show-secrets, or set the value')


def _masks(value: Json, at: str) -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                yield from _masks(item, f"{at}.{key}")
        case list():
            for place, item in enumerate(value):
                yield from _masks(item, f"{at}[{place}]")
        case str() if value == MASK or f"//{MASK}@" in value or f":{MASK}@" in value:
            yield at
