"""Where a webhook may be."""

from __future__ import annotations

import pytest

from homeostat.external.addresses import UrlError
from homeostat.web.actions.webhooks.targets import allows_private, check_target

BAD_URLS = {
    "another scheme": "ftp://example.com/",
    "a file": "file:///etc/passwd",
    "no host": "http:///x",
    "credentials": "https://user:pw@example.com/",
    "a line break": "http://example.com/\r\nX: y",
    "a port that is none": "http://example.com:99999/",
    "half an address": "http://[::1/",
}
PRIVATE_URLS = [
    "http://127.0.0.1/", "http://[::1]:80/", "http://localhost:8080/x", "http://LOCALHOST./", "http://a.localhost/",
    "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://10.1.2.3/",
]  # fmt: skip


@pytest.mark.parametrize("url", BAD_URLS.values(), ids=BAD_URLS)
def test_an_invalid_url_is_refused_whatever_is_allowed(url: str) -> None:
    with pytest.raises(UrlError) as caught:
        check_target(url, is_private_allowed=True)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("url", PRIVATE_URLS)
def test_a_private_target_is_refused_unless_it_is_allowed(url: str) -> None:
    with pytest.raises(UrlError, match="HOMEOSTAT_HOOKS_ALLOW_PRIVATE"):
        check_target(url, is_private_allowed=False)
    check_target(url, is_private_allowed=True)


def test_a_name_is_judged_when_it_is_resolved() -> None:
    check_target("https://hooks.example.com/admit", is_private_allowed=False)


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", False), ("", False), ("yes", False)])
def test_private_targets_are_allowed_by_a_one(value: str, expected: bool) -> None:
    assert allows_private({"HOMEOSTAT_HOOKS_ALLOW_PRIVATE": value}) is expected
