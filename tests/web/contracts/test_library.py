"""Bundles in memory, pulled from a real registry."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from homeostat.external.oci.auth import ANONYMOUS, Keychain
from homeostat.external.oci.registry import Registry
from homeostat.external.oci.signature import Verifier
from homeostat.external.rest.client import RestClient
from homeostat.operators.contracts.live.trust import Trust, read_keys
from homeostat.operators.contracts.sources.errors import NotFoundError, SourceError, UntrustedError
from homeostat.operators.contracts.sources.registry import RegistrySource
from homeostat.web.contracts.library import FAILURE_LIFE_S, TAGS_LIFE_S, Library, Wanted
from tests.external.oci.signing import Signed, public_pem, signing_key
from tests.external.registries import running_registry
from tests.web.contracts.bundles import push


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


class Counting(Registry):
    """Counts what is asked for."""

    def __init__(self, client: RestClient) -> None:
        super().__init__(client)
        self.asked: list[str] = []

    async def tags(self, reference: object) -> list[str]:
        self.asked.append("tags")
        return await super().tags(reference)  # type: ignore[arg-type]

    async def resolve(self, reference: object):  # type: ignore[no-untyped-def]
        self.asked.append("resolve")
        return await super().resolve(reference)  # type: ignore[arg-type]


class Bundles:
    def __init__(self, client: RestClient, limit_bytes: int = 1 << 20) -> None:
        self.now = 100.0
        self.registry = Counting(client)
        self.library = Library(self._source, self._keychain, seconds=lambda: self.now, limit_bytes=limit_bytes)

    def _source(self, keychain: Keychain | None, trust: Trust | None) -> RegistrySource:
        verify = None if trust is None else Verifier(self.registry, trust.keys)
        return RegistrySource(self.registry, checks_access=True, verify=verify)

    async def _keychain(self, namespace: str, name: str) -> Keychain:
        return ANONYMOUS


@pytest.fixture
async def client() -> AsyncIterator[RestClient]:
    async with RestClient() as client:
        yield client


async def test_equal_requests_share_one_pull(client: RestClient, host: str) -> None:
    await push(host, "1.0.0")
    bundles, wanted = Bundles(client), Wanted(f"{host}/contracts/ledger:1.0.0")
    found = await asyncio.gather(*(bundles.library.bundle(wanted) for _ in range(10)))
    assert {id(each) for each in found} == {id(found[0])}
    assert bundles.registry.asked == ["resolve"]


async def test_a_request_that_goes_away_does_not_end_what_others_wait_for(client: RestClient, host: str) -> None:
    await push(host, "1.0.0")
    bundles, wanted = Bundles(client), Wanted(f"{host}/contracts/ledger:1.0.0")
    first = asyncio.create_task(bundles.library.bundle(wanted))
    second = asyncio.create_task(bundles.library.bundle(wanted))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).contract.service.version == "1.0.0"


async def test_a_failure_is_not_repeated_for_half_a_minute(client: RestClient, host: str) -> None:
    bundles, wanted = Bundles(client), Wanted(f"{host}/contracts/none:1.0.0")
    for _ in range(3):
        with pytest.raises(NotFoundError):
            await bundles.library.bundle(wanted)
    assert bundles.registry.asked == ["resolve"]
    bundles.now += FAILURE_LIFE_S + 1
    with pytest.raises(SourceError):
        await bundles.library.bundle(wanted)
    assert len(bundles.registry.asked) == 2


async def test_tags_are_listed_again_after_a_while_or_on_request(client: RestClient, host: str) -> None:
    await push(host, "1.0.0", name="rates")
    bundles, wanted = Bundles(client), Wanted(f"{host}/contracts/rates")
    assert await bundles.library.tags(wanted) == ["1.0.0"]
    await push(host, "1.1.0", name="rates")
    assert await bundles.library.tags(wanted) == ["1.0.0"]
    bundles.now += TAGS_LIFE_S + 1
    assert await bundles.library.tags(wanted) == ["1.1.0", "1.0.0"]
    await push(host, "1.2.0", name="rates")
    bundles.library.forget()
    assert (await bundles.library.tags(Wanted(f"{host}/contracts/rates:1.0.0")))[0] == "1.2.0"


async def test_bundles_stay_below_the_limit_and_the_least_recently_used_goes_first(
    client: RestClient, host: str
) -> None:
    digests = [await push(host, f"1.{each}.0", name="small") for each in range(3)]
    bundles = Bundles(client, limit_bytes=20 << 10)
    wanted = [Wanted(f"{host}/contracts/small:1.{at}.0", digest) for at, digest in enumerate(digests)]
    await bundles.library.bundle(wanted[0])
    await bundles.library.bundle(wanted[1])
    await bundles.library.bundle(wanted[0])
    await bundles.library.bundle(wanted[2])
    assert [bundles.library.held(each) is not None for each in wanted] == [True, False, True]


async def test_what_one_credential_pulled_is_not_given_to_another(client: RestClient, host: str) -> None:
    digest = await push(host, "1.0.0")
    bundles, ref = Bundles(client), f"{host}/contracts/ledger:1.0.0"
    await bundles.library.bundle(Wanted(ref, digest, secret=("shop", "pull")))
    assert bundles.library.held(Wanted(ref, digest, secret=("shop", "pull"))) is not None
    assert bundles.library.held(Wanted(ref, digest)) is None
    assert bundles.library.held(Wanted(ref, digest, secret=("pay", "pull"))) is None


async def test_what_was_not_verified_with_the_trusted_keys_is_not_given(client: RestClient, host: str) -> None:
    digest, key = await push(host, "1.0.0", name="sealed"), signing_key()
    bundles, ref = Bundles(client), f"{host}/contracts/sealed:1.0.0"
    trusts = [read_keys(public_pem(each), "cosign.pub") for each in (key, signing_key())]
    await bundles.library.bundle(Wanted(ref, digest))
    for trust in trusts:
        with pytest.raises(UntrustedError):
            await bundles.library.bundle(Wanted(ref, digest, trust=trust))
    await Signed(bundles.registry, f"{host}/contracts/sealed", digest).tag(key)
    bundles.library.forget()
    assert await bundles.library.bundle(Wanted(ref, digest, trust=trusts[0]))
    assert bundles.library.held(Wanted(ref, digest, trust=trusts[0])) is not None
    assert bundles.library.held(Wanted(ref, digest, trust=trusts[1])) is None
    with pytest.raises(UntrustedError):
        await bundles.library.bundle(Wanted(ref, digest, trust=trusts[1]))


async def test_closing_ends_what_is_under_way(client: RestClient) -> None:
    bundles = Bundles(client)
    waiting = asyncio.create_task(bundles.library.bundle(Wanted("192.0.2.1:1/contracts/far:1.0.0")))
    await asyncio.sleep(0.01)
    await bundles.library.close()
    with pytest.raises((asyncio.CancelledError, SourceError)):
        await waiting
