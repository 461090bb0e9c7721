"""How a pod resolves names: its DNS policy and configuration, and its host aliases."""

from __future__ import annotations

import re

from homeostat.objects.errors import Cause, invalid, required
from homeostat.objects.identifiers import Messages, dns1123_subdomain
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import numbered, strings, text
from homeostat.server.kinds.builtins.value import check_address, check_text

_MOST_SERVERS, _MOST_SEARCHES, _MOST_CHARACTERS = 3, 32, 2048
_LABEL = "[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?"
_search = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*").fullmatch


def _search_name(search: str) -> Messages:
    """A subdomain whose labels may begin and end with underscores."""
    return [] if _search(search) else dns1123_subdomain(search)


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
        return []
    servers, searches = strings(config, "nameservers"), strings(config, "searches")
    causes: list[Cause] = []
    if is_own and not servers:
        message = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        return [required(f"{at}.nameservers", message)]
    if len(servers) > _MOST_SERVERS:
        causes.append(invalid(f"{at}.nameservers", servers, f"must not have more than {_MOST_SERVERS} nameservers"))
    for index, server in enumerate(servers):
        causes += check_address(server, f"{at}.nameservers[{index}]")
    if len(searches) > _MOST_SEARCHES:
        message = f"must not have more than {_MOST_SEARCHES} search paths"
        causes.append(invalid(f"{at}.searches", searches, message))
    if len(" ".join(searches)) > _MOST_CHARACTERS:
        message = f"must not have more than {_MOST_CHARACTERS} characters (including spaces) in the search list"
        causes.append(invalid(f"{at}.searches", searches, message))
    for index, search in enumerate(searches):
        if search != ".":
            causes += check_text(search.removesuffix("."), f"{at}.searches[{index}]", _search_name)
    for option_at, option in numbered(config, "options", at):
        if not text(option, "name"):
            causes.append(required(option_at, "must not be empty"))
    return causes
