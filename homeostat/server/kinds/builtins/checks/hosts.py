"""How a pod resolves names: its DNS policy and configuration, and its host aliases."""

from __future__ import annotations

from homeostat.objects.errors import Cause, invalid, required
from homeostat.objects.identifiers import dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import numbered, strings, text
from homeostat.server.kinds.builtins.value import check_address, check_text

_MOST_SERVERS, _MOST_SEARCHES = 3, 32


def check_hosts(spec: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, alias in numbered(spec, "hostAliases", path):
        causes += check_address(text(alias, "ip"), f"{at}.ip")
        for index, name in enumerate(strings(alias, "hostnames")):
            causes += check_text(name, f"{at}.hostnames[{index}]", dns1123_subdomain)
    return causes + _check_dns(spec, path)


def _check_dns(spec: JsonObject, path: str) -> list[Cause]:
    config, at = spec.get("dnsConfig"), f"{path}.dnsConfig"
    is_own = text(spec, "dnsPolicy") == "None"
    if not isinstance(config, dict):
        return [required(at, "must provide `dnsConfig` when `dnsPolicy` is None")] if is_own else []
    servers, searches = strings(config, "nameservers"), strings(config, "searches")
    causes: list[Cause] = []
    if is_own and not servers:
        message = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        causes.append(required(f"{at}.nameservers", message))
    if len(servers) > _MOST_SERVERS:
        causes.append(invalid(f"{at}.nameservers", servers, f"must not have more than {_MOST_SERVERS} nameservers"))
    for index, server in enumerate(servers):
        causes += check_address(server, f"{at}.nameservers[{index}]")
    if len(searches) > _MOST_SEARCHES:
        message = f"must not have more than {_MOST_SEARCHES} search paths"
        causes.append(invalid(f"{at}.searches", searches, message))
    for index, search in enumerate(searches):
        plain = search.removesuffix(".").replace("_", "-")
        if plain:
            causes += check_text(plain, f"{at}.searches[{index}]", dns1123_subdomain)
    for option_at, option in numbered(config, "options", at):
        if not text(option, "name"):
            causes.append(required(option_at, "must not be empty"))
    return causes
