"""The endpoint of a program that runs in a Pod: the mounted service account."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from homeostat.client.endpoint.endpoint import Endpoint, KubeconfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster(environ: Mapping[str, str], *, directory: Path = SERVICE_ACCOUNT) -> bool:
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (directory / "token").exists()


def load_in_cluster(environ: Mapping[str, str], *, directory: Path = SERVICE_ACCOUNT) -> Endpoint:
    """Blocks; call it before the first request. The token is read again when the kubelet renews it."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise KubeconfigError("not in a cluster: KUBERNETES_SERVICE_HOST is not set; name a kubeconfig")
    authority, namespace = directory / "ca.crt", directory / "namespace"
    try:
        return Endpoint(
            server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
            namespace=namespace.read_text().strip() if namespace.exists() else "default",
            # Without an authority, the certificate of the cluster is signed by one that the system trusts.
            authority=authority.read_bytes() if authority.exists() else None,
            token=(directory / "token").read_text().strip(),
            token_file=directory / "token",
        )
    except OSError as error:
        raise KubeconfigError(
            f"cannot read the service account in {directory}: {error.strerror}; "
            "the Pod may have automountServiceAccountToken: false"
        ) from error
