"""Opens the API over a client: beside a cluster, or from the plane's own process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from homeostat.client.base import Client, UnreachableError
from homeostat.edge.proxies import read_proxies
from homeostat.edge.server import Handler
from homeostat.external.oci.auth import Keychain
from homeostat.external.oci.errors import InvalidKeyError
from homeostat.external.oci.registry import Registry
from homeostat.external.oci.signature import Verifier
from homeostat.external.rest.client import RestClient
from homeostat.external.rest.settings import RestSettings
from homeostat.external.secrets.credentials import CredentialError
from homeostat.external.secrets.kubernetes import NamespaceStore
from homeostat.external.secrets.secrets import SecretError
from homeostat.objects.errors import ApiError
from homeostat.operators.contracts.api import GROUP
from homeostat.operators.contracts.live.trust import Trust, read_trust
from homeostat.operators.contracts.sources.cache import BlobCache
from homeostat.operators.contracts.sources.credential_order import operator_keychain
from homeostat.operators.contracts.sources.errors import AuthenticationError
from homeostat.operators.contracts.sources.errors import InvalidKeyError as UnusableKey
from homeostat.operators.contracts.sources.errors import UnreachableError as Unreached
from homeostat.operators.contracts.sources.pull_secret import read_pull_secret
from homeostat.operators.contracts.sources.registry import LIMITS, RegistrySource
from homeostat.operators.contracts.spec import KeyRef
from homeostat.runtime.control.failure_conditions import sole_error
from homeostat.runtime.faces.face import Surroundings
from homeostat.web.contracts.app import contracts_app
from homeostat.web.contracts.bundles import Bundles
from homeostat.web.contracts.context import ContractsFace
from homeostat.web.contracts.index import ServiceIndex
from homeostat.web.contracts.library import Library
from homeostat.web.contracts.repositories import Repositories
from homeostat.web.contracts.settings import read_settings
from homeostat.web.contracts.visibility import Visibility
from homeostat.web.kit.gate import KubernetesGate, OpenGate
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.review_gate import Kinds, ReviewGate


@asynccontextmanager
async def open_face(
    client: Client, *, gate: KubernetesGate, namespace: str, environment: Mapping[str, str], within: str = ""
) -> AsyncIterator[ContractsFace]:
    """Watches inside the block. `namespace` is where callers may create Pactos, unless they name another one. `within`
    is the only namespace that it may read; empty for all.
    """
    settings = read_settings(environment)
    index = ServiceIndex(client, namespace=settings.namespace or within)
    cache = None if settings.cache is None else BlobCache(settings.cache)
    own = operator_keychain(environment)
    async with RestClient(RestSettings(proxies=read_proxies(environment))) as http:

        def new_source(keychain: Keychain | None, trust: Trust | None) -> RegistrySource:
            found = keychain or own
            # Callers share this process, so each pull shows that its own credentials allow it.
            registry = Registry(http, keychain=found, limits=LIMITS)
            verify = None if trust is None else Verifier(registry, trust.keys)
            return RegistrySource(registry, cache, reads_cache=settings.reads_cache, checks_access=True, verify=verify)

        library = Library(new_source, PullSecrets(client), seconds=asyncio.get_running_loop().time)
        repositories = Repositories(settings.repositories, index, library)
        visibility = Visibility(index, gate, namespace=settings.namespace or namespace, origin=settings.cors_origin)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(index.run())]
            running += [tasks.create_task(repositories.run())] if settings.repositories else []
            try:
                bundles = Bundles(index, library, TrustedKeys(client))
                yield ContractsFace(visibility, bundles, library, repositories, settings)
            finally:
                await library.close()
                for task in running:
                    task.cancel()


class PullSecrets:
    """The credentials of pull secrets, read from the Kubernetes API."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, namespace: str, name: str) -> Keychain:
        try:
            return read_pull_secret(await NamespaceStore(self._client, namespace).read(name))
        except KeyError:
            raise AuthenticationError(f'Secret "{name}" does not exist in namespace "{namespace}"') from None
        except (CredentialError, SecretError) as error:
            raise AuthenticationError(f'Secret "{name}" cannot be used: {error}') from error
        except (ApiError, UnreachableError) as error:
            raise Unreached(f'Secret "{name}" cannot be read: {error}') from error


class TrustedKeys:
    """The keys that Pactos trust, read from the Kubernetes API whenever a bundle is wanted: they may have changed."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, namespace: str, ref: KeyRef) -> Trust:
        try:
            return await read_trust(self._client, namespace, ref)
        except (InvalidKeyError, SecretError) as error:
            raise UnusableKey(f"the signature cannot be verified: {error}") from error
        except (ApiError, UnreachableError) as error:
            raise Unreached(f'{ref.kind} "{ref.name}" cannot be read: {error}') from error


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """Opens the face that the operator declares."""
    client, namespace = surroundings.client, surroundings.namespace
    kinds = Kinds(of_type=lambda _name, _version: (GROUP, "pactos"), permissions={})
    gate: KubernetesGate = OpenGate() if surroundings.is_open else ReviewGate(client, namespace=namespace, kinds=kinds)
    try:
        environment, within = surroundings.environment, surroundings.within
        async with open_face(client, gate=gate, namespace=namespace, environment=environment, within=within) as face:
            yield contracts_app(face, figures=surroundings.figures.once(ContractsFigures))
    except ExceptionGroup as group:
        raise sole_error(group) from None


class ContractsFigures(RestFigures):
    prefix = "homeostat_contracts_api"
    title = "contracts API"
