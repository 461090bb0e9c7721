"""Discovery on a real cluster of which a part is away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from homeostat.client.base import Client
from homeostat.client.discovery import Discovery, discover
from homeostat.objects.errors import UnavailableError
from homeostat.testing.eventually import eventually
from tests.client.test_discovery import Plain
from tests.cluster.fixtures import Api

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


@pytest.fixture
async def away(real_api: Api) -> AsyncIterator[str]:
    """A group version that another API server should serve, which is not there."""
    group = f"away-{uuid4().hex[:8]}.example"
    spec = {
        "group": group,
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 1,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": real_api.namespace, "name": "nowhere"},
    }
    await real_api.client.create(SERVICES, {"metadata": {"name": f"v1.{group}"}, "spec": spec})
    await eventually(lambda: discover(real_api.client), lambda told: bool(told.stale), within_s=30)
    yield f"{group}/v1"
    await real_api.client.delete(f"{SERVICES}/v1.{group}")
    await eventually(lambda: discover(real_api.client), lambda told: not told.stale, within_s=30)


@pytest.mark.parametrize("is_plain", [False, True], ids=["aggregated", "plain"])
async def test_a_group_version_whose_server_is_away_is_stale_and_the_others_are_listed(
    real_api: Api, away: str, is_plain: bool
) -> None:
    client = Client(Plain(real_api.client._transport)) if is_plain else real_api.client
    discovery = Discovery(client)
    assert (await discovery.find("apps/v1", "Deployment")).plural == "deployments"
    assert discovery.stale == (away,)
    with pytest.raises(UnavailableError, match=away):
        await discovery.find(away, "Thing")
