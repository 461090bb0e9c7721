"""Nobody has the operator fetch the credentials of its own machine."""

from __future__ import annotations

import pytest

from homeostat.external.rest.addresses import is_elsewhere
from homeostat.external.rest.client import Ask, ExchangeError, Http


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("169.254.169.254", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("fe80::a9fe:a9fe%eth0", False),
        ("fd00:ec2::254", False),
        ("100.100.100.200", False),
        ("nonsense", False),
        ("127.0.0.1", True),
        ("10.0.0.7", True),
        ("::1", True),
        ("fd00:ec2::255", True),
        ("140.82.112.5", True),
    ],
)
def test_addresses_of_metadata_services_are_known(address: str, expected: bool) -> None:
    assert is_elsewhere(address) is expected


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "http://[::ffff:a9fe:a9fe]/", "http://2852039166/"])
async def test_none_of_them_is_called_however_it_is_written(url: str) -> None:
    async with Http(allows=is_elsewhere) as http:
        with pytest.raises(ExchangeError):
            await http.send(Ask("GET", url, timeout_s=2))
