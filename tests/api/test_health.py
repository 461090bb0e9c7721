"""What the plane says of itself."""

from __future__ import annotations

from homeostat.server.access.user import NOBODY
from tests.api.conftest import Api
from tests.api.objects import CONFIGMAPS, configmap
from tests.full_disk import full_disk


async def test_a_plane_that_cannot_write_is_not_ready_until_it_can(api: Api) -> None:
    assert (await api("GET", "/readyz", user=NOBODY)).body == b"ok"
    with full_disk():
        refused = await api("POST", CONFIGMAPS, configmap())
        assert (refused.status, refused.reason) == (503, "ServiceUnavailable")
        unready = await api("GET", "/readyz", user=NOBODY)
        assert (unready.status, b"the store refuses writes" in unready.body) == (503, True)
        assert (await api("GET", "/livez", user=NOBODY)).status == 200
        assert (await api("GET", CONFIGMAPS)).status == 200
    assert b"homeostat_store_failures 1.0" in (await api("GET", "/metrics")).body
    assert (await api("POST", CONFIGMAPS, configmap())).status == 201
    assert (await api("GET", "/readyz", user=NOBODY)).status == 200
