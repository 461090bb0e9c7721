"""A bundle as an artifact of a registry: media types, labels and the config blob. Pure.

The manifest has one layer, which `external/oci/bundle.py` packs and unpacks. The config is that of an image without a
program, and carries the labels.
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.operators.contracts.engine.document.contract import Contract
from homeostat.operators.contracts.engine.reference import has_tag_or_digest, is_oci, location

MANIFEST_TYPE: Final = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE: Final = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE: Final = "application/vnd.pacto.bundle.layer.v1.tar+gzip"


class PublishError(ValueError):
    """The contract cannot be published as it is."""


def image_config(contract: Contract, tar_digest: str) -> bytes:
    """Return the config blob; `tar_digest` is the digest of the layer before compression."""
    service = contract.service
    labels = {
        "io.pacto.name": service.name,
        "io.pacto.pactoVersion": contract.pacto_version,
        "io.pacto.version": service.version,
    }
    return msgspec.json.encode(
        {
            "architecture": "",
            "os": "",
            "config": {"Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [tar_digest]},
        },
        order="deterministic",
    )


def publish_reference(ref: str, contract: Contract) -> str:
    """Return the reference to push to; the service's version is the default tag.

    Raises `PublishError` for a local reference, and for a contract that refers to local directories.
    """
    check_target(ref)
    _check_publishable(contract)
    target = location(ref)
    return target if has_tag_or_digest(target) else f"{target}:{contract.service.version}"


def check_target(ref: str) -> None:
    if not is_oci(ref):
        raise PublishError(f'push requires an OCI reference (oci://...): got "{ref}"')


def _check_publishable(contract: Contract) -> None:
    for dependency in contract.dependencies:
        if not is_oci(dependency.ref):
            raise PublishError(
                f"local dependency detected: {dependency.ref}\n"
                "Local dependencies are not allowed when publishing. "
                "All dependencies must use OCI references (oci://...)"
            )
    for kind, field, sources in (
        ("config", "configurations", [(each.name, each.ref) for each in contract.configurations]),
        ("policy", "policies", [(each.name, each.ref) for each in contract.policies]),
    ):
        for name, ref in sources:
            if ref and not is_oci(ref):
                raise PublishError(
                    f'local {kind} ref detected: {ref} ({field}["{name}"])\n'
                    "Local references are not allowed when publishing. Use an OCI reference (oci://...)"
                )
    chart = contract.service.chart
    if chart is not None and not is_oci(chart.ref):
        raise PublishError(
            f"local chart reference detected: {chart.ref}\n"
            "Local chart references are not allowed when publishing. Use an OCI reference (oci://...)"
        )
