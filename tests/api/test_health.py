"""What the plane says of itself."""

from __future__ import annotations

import pytest

from homeostat.server.access.user import NOBODY
from tests.api.conftest import Api
from tests.api.objects import CONFIGMAPS, configmap
from tests.full_disk import full_disk

COMPONENTS = "/api/v1/componentstatuses"


async def test_a_plane_that_cannot_write_is_not_ready_until_it_can(api: Api) -> None:
    assert (await api("GET", "/readyz", user=NOBODY)).body == b"ok"
    with full_disk():
        refused = await api("POST", CONFIGMAPS, configmap())
        assert (refused.status, refused.reason) == (503, "ServiceUnavailable")
        unready = await api("GET", "/readyz", user=NOBODY)
        assert (unready.status, b"the store refuses writes" in unready.body) == (503, True)
        assert (await api("GET", "/livez", user=NOBODY)).status == 200
        assert (await api("GET", CONFIGMAPS)).status == 200
        [condition] = (await api("GET", f"{COMPONENTS}/etcd-0")).json["conditions"]
        assert (condition["status"], "the store refuses writes" in condition["error"]) == ("False", True)
    assert b"homeostat_store_failures 1.0" in (await api("GET", "/metrics")).body
    assert (await api("POST", CONFIGMAPS, configmap())).status == 201
    assert (await api("GET", "/readyz", user=NOBODY)).status == 200
    [store] = (await api("GET", COMPONENTS)).json["items"]
    assert store["conditions"] == [{"type": "Healthy", "status": "True", "message": "ok"}]


async def test_checks_are_listed_excluded_and_asked_for_one_by_one(api: Api) -> None:
    listed = await api("GET", "/readyz", verbose="")
    assert listed.body == b"[+]ping ok\n[+]etcd ok\nreadyz check passed\n"
    without = await api("GET", "/readyz", verbose="true", exclude="store")
    assert b"[+]etcd excluded: ok" in without.body
    assert (await api("GET", "/livez/ping")).body == b"ok"
    assert (await api("GET", "/livez/none")).status == 404
    with full_disk():
        await api("POST", CONFIGMAPS, configmap())
        failed = await api("GET", "/readyz", verbose="")
        assert (failed.status, b"[-]etcd failed: " in failed.body) == (503, True)
        assert (await api("GET", "/readyz", exclude="store")).status == 200


async def test_the_server_is_found_as_a_service(api: Api) -> None:
    service = (await api("GET", "/api/v1/namespaces/default/services/kubernetes")).json
    points = (await api("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")).json
    (port,) = service["spec"]["ports"]
    assert (port["name"], port["port"], port["targetPort"]) == ("https", 443, points["ports"][0]["port"])
    assert points["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    assert points["endpoints"][0]["addresses"] == ["127.0.0.1"]
    (subset,) = (await api("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).json["subsets"]
    assert subset == {"addresses": [{"ip": "127.0.0.1"}], "ports": points["ports"]}


async def test_steps_of_the_start_have_the_names_of_kube_apiserver(api: Api) -> None:
    for page in ("livez", "readyz", "healthz"):
        assert (await api("GET", f"/{page}/poststarthook/rbac/bootstrap-roles")).body == b"ok"
        assert (await api("GET", f"/{page}/poststarthook/start-service-ip-repair-controllers")).status == 404
    assert (await api("GET", "/readyz", verbose="", exclude="poststarthook/rbac/bootstrap-roles")).status == 200


@pytest.mark.parametrize("accept", ["text/html", "application/yaml", "application/vnd.kubernetes.protobuf"])
async def test_the_version_is_json_alone(api: Api, accept: str) -> None:
    assert (await api("GET", "/version", headers={"accept": accept})).status == 406
    assert (await api("GET", "/version", headers={"accept": f"{accept}, */*"})).status == 200


async def test_a_step_of_the_start_fails_alone_without_what_it_leaves(api: Api) -> None:
    step, classes = "/readyz/poststarthook/scheduling/bootstrap-system-priority-classes", "/apis/scheduling.k8s.io/v1"
    assert (await api("GET", step)).body == b"ok"
    assert (await api("DELETE", f"{classes}/priorityclasses/system-node-critical")).status == 200
    failed = await api("GET", step)
    assert (failed.status, b'"system-node-critical" is missing' in failed.body) == (503, True)
    assert (await api("GET", "/readyz")).body == b"ok"


@pytest.mark.parametrize("page", ["/openid/v1/jwks", "/.well-known/openid-configuration"])
async def test_the_keys_of_tokens_are_json_alone(api: Api, page: str) -> None:
    kept = {"/openid/v1/jwks": "application/jwk-set+json"}.get(page, "application/json")
    for accept in ("", kept, "application/json", "*/*"):
        shown = await api("GET", page, headers={"accept": accept})
        assert (shown.status, shown.content_type) == (200, kept)
    refused = await api("GET", page, headers={"accept": "application/vnd.kubernetes.protobuf"})
    assert refused.status == 406


async def test_a_check_has_the_name_of_kube_apiserver_too(api: Api) -> None:
    assert (await api("GET", "/readyz/etcd")).body == b"ok"
    assert (await api("GET", "/livez/etcd")).status == 404
    without = await api("GET", "/readyz", verbose="", exclude="etcd")
    assert b"[+]etcd excluded: ok\n" in without.body
    assert (await api("GET", "/readyz/store")).body == b"ok"
    odd = await api("GET", "/livez", verbose="", exclude="none")
    assert odd.body.splitlines()[1] == b'warn: some health checks cannot be excluded: no matches for "none"'


async def test_the_results_of_the_checks_are_metrics(api: Api) -> None:
    await api("GET", "/livez/ping")
    found = (await api("GET", "/metrics/slis")).body.decode().splitlines()
    assert 'kubernetes_healthcheck{name="etcd",type="readyz"} 1' in found
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1' in found
    assert (await api("GET", "/metrics/slis", user=NOBODY)).status in (401, 403)
