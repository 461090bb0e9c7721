"""One run of a command: its registry connections, opened when first needed, and what it has fetched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from homeostat import __version__
from homeostat.cli.contract.session.loaded import Loaded, load_local, read_lock_file
from homeostat.cli.contract.session.result import failures
from homeostat.cli.contract.session.settings import Settings
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.lock.check import check_lock
from homeostat.operators.contracts.engine.lock.lock import Lock, read_lock
from homeostat.operators.contracts.engine.reference import is_oci
from homeostat.operators.contracts.engine.validate import Overrides, load
from homeostat.operators.contracts.sources.closure import Closure, Pulls

if TYPE_CHECKING:
    from homeostat.external.oci.registry import Registry
    from homeostat.external.oci.signature import Verifier
    from homeostat.external.rest.client import RestClient
    from homeostat.operators.contracts.sources.registry import Pulled, RegistrySource

T = TypeVar("T")


class Session:
    """Use it as a context."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._settings, self._environ = settings, environ
        self._client: RestClient | None = None
        self._source: RegistrySource | None = None
        self._pulls = Pulls(self._fetch)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._client is not None:
            await self._client.close()

    @property
    def source(self) -> RegistrySource:
        if self._source is None:
            self._source = self._opened()
        return self._source

    async def load(self, ref: str, overrides: Overrides | None = None) -> Loaded:
        """Load a bundle of a directory or a registry. Raises `SourceError` or `ParseError`."""
        if not is_oci(ref):
            self._settings.debug(f"reading {ref}")
            return load_local(ref, overrides)
        pulled = await self.pull(ref)
        return Loaded(ref, None, load(pulled.files, overrides), pulled.files, pulled.digest)

    async def pull(self, ref: str, constraint: str = "") -> Pulled:
        found = await self.source.resolve(ref, constraint)
        self._settings.debug(f"resolved {ref} {constraint} to {found.ref} at {found.digest}")
        return await self.source.pull(found)

    def closure(self, loaded: Loaded, *, prefers_siblings: bool = False) -> Closure:
        """What the bundle refers to. With `prefers_siblings`, directories beside a local bundle replace dependencies of
        registries that have the same last segment.
        """
        siblings = None
        if prefers_siblings and loaded.root is not None:
            siblings = os.path.dirname(os.path.abspath(loaded.root))
        return Closure(self._pulls, loaded.root, siblings=siblings)

    async def fresh_lock(self, loaded: Loaded) -> Lock:
        return await self.closure(loaded).lock(loaded.parsed.contract, tool_version=__version__)

    async def verify_lock(self, loaded: Loaded) -> None:
        """Raises `LockError` if a local bundle has a lock that does not match."""
        data = read_lock_file(loaded.root) if loaded.root is not None else None
        if data is not None:
            check_lock(read_lock(data), await self.fresh_lock(loaded))

    async def _fetch(self, ref: str, constraint: str = "") -> Bundle:
        return (await self.pull(ref, constraint)).bundle()

    def _opened(self) -> RegistrySource:
        from homeostat.edge.proxies import read_proxies
        from homeostat.external.oci.registry import Registry
        from homeostat.external.rest.client import RestClient
        from homeostat.external.rest.retry import RetryPolicy
        from homeostat.external.rest.settings import RestSettings
        from homeostat.operators.contracts.sources.cache import BlobCache
        from homeostat.operators.contracts.sources.credential_order import user_keychain
        from homeostat.operators.contracts.sources.registry import LIMITS, RegistrySource

        self._client = RestClient(RestSettings(proxies=read_proxies(self._environ), retry=RetryPolicy(attempts=3)))
        registry = Registry(self._client, keychain=user_keychain(self._environ), limits=LIMITS)
        cache = BlobCache(cache_directory(self._environ))
        verify = self._verifier(registry) if self._settings.keys else None
        return RegistrySource(registry, cache, reads_cache=self._settings.reads_cache, verify=verify)

    def _verifier(self, registry: Registry) -> Verifier:
        from homeostat.external.oci.signature import Verifier, read_public_key
        from homeostat.operators.contracts.sources.mapping import mapped

        with mapped("--verify-key"):
            return Verifier(registry, [read_public_key(pem, f'"{name}"') for name, pem in self._settings.keys])


def cache_directory(environ: Mapping[str, str]) -> Path:
    if own := environ.get("PACTO_CACHE_DIR"):
        return Path(own)
    home = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return Path(home) / "homeostat" / "contracts"


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run the work of a command to its end; what goes wrong is one message."""
    with failures():
        return asyncio.run(work)
