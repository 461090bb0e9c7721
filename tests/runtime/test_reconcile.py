from homeostat.runtime.reconcile import Request


def test_a_request_is_a_name_and_prints_as_one() -> None:
    assert str(Request("Deployment.apps", "shop", "web")) == "Deployment.apps shop/web"
    assert str(Request("Namespace", "", "shop")) == "Namespace shop"
    assert Request("Pod", "shop", "web") == Request("Pod", "shop", "web")
