"""Publishes a bundle: one layer, a config with labels, and a manifest that any client of registries can read."""

from __future__ import annotations

from homeostat.external.oci.bundle import pack_tar
from homeostat.external.oci.deflate import gzip_bytes
from homeostat.external.oci.digest import digest_of
from homeostat.external.oci.manifest import Manifest
from homeostat.external.oci.push import push_blob, push_manifest
from homeostat.external.oci.registry import Registry
from homeostat.operators.contracts.engine.bundle.artifact import (
    CONFIG_TYPE,
    LAYER_TYPE,
    MANIFEST_TYPE,
    image_config,
)
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.sources.mapping import mapped


async def is_published(registry: Registry, target: str) -> bool:
    with mapped(target):
        return await registry.exists(target)


async def push_bundle(registry: Registry, target: str, bundle: Bundle) -> str:
    """Push to a reference with a tag (see `publish_reference`); the digest of the manifest. Equal files have equal
    digests.
    """
    tar = pack_tar(bundle.files)
    config = image_config(bundle.contract, digest_of(tar))
    with mapped(target):
        layer = await push_blob(registry, target, gzip_bytes(tar), LAYER_TYPE)
        described = await push_blob(registry, target, config, CONFIG_TYPE)
        manifest = Manifest(media_type=MANIFEST_TYPE, config=described, layers=(layer,))
        return (await push_manifest(registry, target, manifest)).digest
