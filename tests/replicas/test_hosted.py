"""An operator beside replicas that run it: it stands for their Lease, or it is refused."""

from __future__ import annotations

from functools import partial

import pytest

from homeostat.cli.console.failure import Failure
from homeostat.cli.operators.hosted import refuse_hosted
from homeostat.client.base import Client
from homeostat.objects.kind import LEASE
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.testing.eventually import eventually


@pytest.mark.parametrize("leases", ["", "default"])
async def test_one_that_does_not_stand_for_their_lease_is_refused(clients: list[Client], leases: str) -> None:
    with pytest.raises(Failure, match=r"join its leader election \(--leader-elect --lease-namespace kube-system"):
        await refuse_hosted(clients[0], ["actions"], leases=leases)


async def test_one_that_stands_for_their_lease_is_not(clients: list[Client]) -> None:
    await refuse_hosted(clients[0], ["actions"], leases="kube-system")
    # An operator without objects sleeps, and takes part in no election.
    await clients[0].create(RESOURCE_TYPE.kind.path(""), RESOURCE_TYPE.kind.new("hosted", spec={"name": "Hosted"}))
    await eventually(lambda: clients[0].get(LEASE.path("kube-system", "homeostat-actions")))


async def test_an_object_wakes_its_operator_on_every_replica(clients: list[Client]) -> None:
    await clients[0].create(RESOURCE_TYPE.kind.path(""), RESOURCE_TYPE.kind.new("woken", spec={"name": "Woken"}))
    for client in clients:
        await eventually(partial(client.get, "/version"), lambda told: "actions" in told["homeostat"]["awake"])
