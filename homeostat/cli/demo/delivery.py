"""Applies the manifests repository of a demo to its plane after each push, as a GitOps program does in a cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Never

import msgspec

from homeostat.cli.demo.git_server import GitServer
from homeostat.client.base import Client, UnreachableError
from homeostat.objects import yaml
from homeostat.objects.errors import ApiError
from homeostat.objects.kind import DEPLOYMENT
from homeostat.runtime.background import background

log = logging.getLogger(__name__)
AFTER_S: Final = 5.0
"""Long enough to be seen in the dashboard: the manifests declare the new tag, and it does not run yet."""
REPOSITORY: Final = "manifests"
FILE: Final = "web.yaml"


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str


class _Manifest(msgspec.Struct, frozen=True):
    metadata: _Metadata


@asynccontextmanager
async def delivering(git: GitServer, client: Client) -> AsyncIterator[None]:
    """Inside the block."""
    async with background(_deliver(git, client)):
        yield


async def _deliver(git: GitServer, client: Client) -> Never:
    while True:
        await git.pushed(REPOSITORY)
        await asyncio.sleep(AFTER_S)
        try:
            await apply_manifests(git, client)
        except (ApiError, UnreachableError, msgspec.ValidationError, TimeoutError) as error:
            log.warning("failed to apply manifests; waiting for the next push", extra={"reason": str(error)})


async def apply_manifests(git: GitServer, client: Client) -> None:
    """Everybody may push: a file that is no manifest raises `ApiError` or `ValidationError`."""
    manifest = yaml.load(await git.read(REPOSITORY, FILE))
    where = msgspec.convert(manifest, _Manifest).metadata
    await client.apply(DEPLOYMENT.path(where.namespace, where.name), manifest, manager="delivery", force=True)
