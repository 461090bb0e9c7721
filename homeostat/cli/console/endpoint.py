"""Addresses of long-running commands: which server they connect to, and where they listen themselves."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import click

from homeostat.cli.console.kubeconfig import kubeconfig_paths

if TYPE_CHECKING:
    from homeostat.client.endpoint.endpoint import Endpoint

KUBECONFIG_HELP = "Kubeconfig.  [default: the Pod's service account, $KUBECONFIG, the data directory's, ~/.kube/config]"


def chosen_endpoint(kubeconfig: str, context: str) -> Endpoint:
    """The service account of the Pod where there is one, unless a kubeconfig or a context is named."""
    from homeostat.client.endpoint.in_cluster import is_in_cluster, load_in_cluster
    from homeostat.client.endpoint.kubeconfig import load_endpoint

    if not kubeconfig and not context and is_in_cluster(os.environ):
        return load_in_cluster(os.environ)
    return load_endpoint(kubeconfig_paths(kubeconfig), context=context)


def read_address(text: str, *, option: str, otherwise: str = "") -> tuple[str, int]:
    """Parse the ADDR:PORT of an option. `otherwise` names other accepted values in the error message."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise click.UsageError(f"{option} takes ADDR:PORT{otherwise}, got {text!r}")
    return host.strip("[]"), int(port)


def why_not_listening(error: OSError, where: str, *, option: str, purpose: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use; choose another with {option}"
    return f"cannot {purpose} at {where}: {error.strerror or error}; choose another with {option}"
