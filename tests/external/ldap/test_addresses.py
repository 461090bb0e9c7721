"""A directory at an address that the rule refuses is not connected to."""

from __future__ import annotations

import pytest

from homeostat.external.ldap.client import LdapError, Server, open_ldap


@pytest.mark.parametrize("url", ["ldap://169.254.169.254", "ldaps://[fe80::1]", "ldap://0xa9fea9fe"])
async def test_a_link_local_directory_is_refused(url: str) -> None:
    with pytest.raises(LdapError, match="link-local"):
        async with open_ldap(Server(url)):
            pass
