"""Where a webhook may be."""

from __future__ import annotations

import pytest

from homeostat.web.actions.webhooks.targets import TargetError, allows_private, check_target, is_public

PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]
NOT_PUBLIC = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:0:0:0:0:80ff:fffe", "nonsense", "",
]  # fmt: skip
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
    "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://169.254.169.254/latest/", "http://10.1.2.3/",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_that_anybody_reaches_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_only_some_reach_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("url", BAD_URLS.values(), ids=BAD_URLS)
def test_a_url_that_is_no_good_is_refused_whatever_is_allowed(url: str) -> None:
    with pytest.raises(TargetError) as caught:
        check_target(url, is_private_allowed=True)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("url", PRIVATE_URLS)
def test_a_private_target_is_refused_unless_it_is_allowed(url: str) -> None:
    with pytest.raises(TargetError, match="HOMEOSTAT_HOOKS_ALLOW_PRIVATE"):
        check_target(url, is_private_allowed=False)
    check_target(url, is_private_allowed=True)


def test_a_name_is_judged_when_it_is_resolved() -> None:
    check_target("https://hooks.example.com/admit", is_private_allowed=False)


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("0", False), ("", False), ("yes", False)])
def test_private_targets_are_allowed_by_a_one(value: str, expected: bool) -> None:
    assert allows_private({"HOMEOSTAT_HOOKS_ALLOW_PRIVATE": value}) is expected
