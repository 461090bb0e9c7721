"""Which addresses may be called, however they are spelled and whatever name led there."""

from __future__ import annotations

import pytest

from homeostat.external.addresses import PrivateUrlError, UrlError, check_url, refusal_of

PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "140.82.112.5"]
PRIVATE = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.3.4", "192.168.1.1", "100.64.0.1", "fd00:ec2::255",
    "224.0.0.1", "255.255.255.255", "::1", "::", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:0:0:0:0:80ff:fffe",
]  # fmt: skip
NEVER = [
    "169.254.169.254", "169.254.0.1", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::", "fe80::1", "fe80::a9fe:a9fe%eth0", "fd00:ec2::254", "fd20:ce::254",
    "100.100.100.200", "168.63.129.16", "nonsense", "", "fd00:ec2::23", "192.0.0.192", "fd00:c1::a9fe:a9fe",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    assert refusal_of(address, allows_private=False) == ""


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_may_be_called_if_that_is_allowed(address: str) -> None:
    assert refusal_of(address, allows_private=False) == "not on the public network"
    assert refusal_of(address, allows_private=True) == ""


@pytest.mark.parametrize("address", NEVER)
def test_a_metadata_service_is_never_called(address: str) -> None:
    assert refusal_of(address, allows_private=True)
    assert refusal_of(address, allows_private=False)


BAD_URLS = {
    "another scheme": "ftp://example.com/",
    "no scheme": "no-url",
    "no host": "http:///x",
    "a line break": "http://example.com/\r\nX: y",
    "a space": "http://example.com/a b",
    "a port that is none": "http://example.com:99999/",
    "half an address": "http://[::1/",
    "a metadata service": "http://169.254.169.254/latest",
    "one as a number": "http://2852039166/",
    "one in hexadecimal": "http://0xA9.0xFE.0xA9FE/",
    "one in octal": "http://0251.0376.0251.0376/",
    "one in IPv6": "http://[::ffff:a9fe:a9fe]/",
    "one by its name": "http://Metadata.Google.Internal./",
}
LOCAL = ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "localhost", "A.LocalHost."]
NAMES = ["example.com", "1.example.com", "0x.example", "256.1.1.1.example", "1.2.3.4.5", "8.8.8.8", "134744072"]


@pytest.mark.parametrize("url", BAD_URLS.values(), ids=BAD_URLS)
def test_a_url_that_no_setting_allows_is_refused(url: str) -> None:
    with pytest.raises(UrlError) as caught:
        check_url(url, allows_private=True)
    assert not isinstance(caught.value, PrivateUrlError)


@pytest.mark.parametrize("host", LOCAL)
def test_a_private_url_is_refused_by_its_spelling_unless_allowed(host: str) -> None:
    check_url(f"http://{host}/", allows_private=True)
    with pytest.raises(PrivateUrlError):
        check_url(f"http://{host}/", allows_private=False)


@pytest.mark.parametrize("host", NAMES)
def test_a_name_is_judged_when_it_is_resolved(host: str) -> None:
    check_url(f"https://{host}/x", allows_private=False)
