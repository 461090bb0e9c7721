"""Which proxy stands before an endpoint: the kubeconfig's, or the environment's as other clients read it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError, is_address


def proxy_of(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> str:
    """The kubeconfig's comes first; this machine itself is reached directly unless the kubeconfig says otherwise."""
    parts = urlsplit(endpoint.server)
    host = parts.hostname or ""
    if endpoint.proxy or _is_loopback(host):
        return endpoint.proxy
    name = f"{parts.scheme}_proxy"
    told = environ.get(name) or environ.get(name.upper()) or ""
    passed_by = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if not told or any(_covers(each.strip(), host) for each in passed_by.split(",")):
        return ""
    proxy = told if "://" in told else f"http://{told}"
    if not is_address(proxy):
        # It may have a password in it, so it is not told.
        raise KubeconfigError(f"the variable {name} names no proxy that is supported; expected http://host:port")
    return proxy


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _covers(entry: str, host: str) -> bool:
    """An entry of NO_PROXY is a domain with all below it, an address, a network, or `*`."""
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        domain = entry.lstrip("*").lstrip(".").lower()
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))
