"""The proxy of an endpoint: from the kubeconfig, or from the environment as other clients read it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError, is_address
from homeostat.edge.proxies import read_proxies


def proxy_of(endpoint: Endpoint, environ: Mapping[str, str] = os.environ) -> str:
    """The proxy of the kubeconfig comes first. Loopback is reached directly unless the kubeconfig has a proxy."""
    if endpoint.proxy:
        return endpoint.proxy
    parts = urlsplit(endpoint.server)
    proxy = read_proxies(environ).proxy_for(parts.scheme, parts.hostname or "")
    if proxy and not is_address(proxy):
        # Not shown, because it may contain a password.
        name = f"{parts.scheme}_proxy"
        raise KubeconfigError(f"the variable {name} names no proxy that is supported; expected http://host:port")
    return proxy
