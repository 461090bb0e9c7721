"""What a context's blocks mean."""

from __future__ import annotations

from homeostat.external.secrets.scrub import Scrubber
from homeostat.operators.sync.context.catalog import Catalog
from homeostat.operators.sync.context.settings import Surroundings, proxies_of


def test_the_credentials_of_a_proxy_are_used_and_hidden() -> None:
    catalog = Catalog(credentials=({"name": "p", "username": "me", "password": "${WORD}"},))
    environment = {"WORD": "pass:word@1", "HTTP_PROXY": "http://environment:3128"}
    around = Surroundings(catalog, environment, Scrubber())
    block = {"https": "http://proxy:3128", "auth": {"credentialsRef": {"name": "p"}}}
    found = proxies_of(block, around)
    assert found.https == "http://me:pass%3Aword%401@proxy:3128"
    assert found.http == "http://environment:3128"
    assert "pass" not in around.scrubber.scrub("pass:word@1 pass%3Aword%401")
    typed = {**block, "auth": {"username": "a", "password": "word-of-a"}}
    assert proxies_of(typed, around).https == "http://a:word-of-a@proxy:3128"
    assert proxies_of({"http": ""}, around).http == ""
