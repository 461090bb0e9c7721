"""The users of an LDAP directory: listed by a search, authenticated by a bind. Configured by environment variables.

LDAP_URL           ldaps://ldap.example.com; without it there is no directory
LDAP_BASE_DN       where the search starts
LDAP_BIND_DN, LDAP_BIND_PASSWORD    the account that searches
LDAP_USER_FILTER   (objectClass=inetOrgPerson); for Active Directory (objectClass=user)
LDAP_ATTR_USERNAME, LDAP_ATTR_EMAIL, LDAP_ATTR_DISPLAY_NAME    uid, mail, cn
LDAP_SYNC_INTERVAL seconds between two synchronizations; 0 synchronizes on request only
LDAP_ALLOW_PLAIN   1 sends passwords unencrypted to a directory on another machine
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.external.environment import SettingError, number
from homeostat.external.ldap.client import Entry, LdapError, Server, open_ldap
from homeostat.external.ldap.filter import FilterError, encode_filter
from homeostat.external.secrets.credentials import BasicAuth
from homeostat.web.identity.ldap.sync import DirectoryError, Person

INTERVAL: Final = "LDAP_SYNC_INTERVAL"
_FILTER: Final = "LDAP_USER_FILTER"
_DEFAULT_FILTER: Final = "(objectClass=inetOrgPerson)"
_MOST_SECONDS: Final = 10**7


class LdapDirectory(msgspec.Struct, frozen=True):
    server: Server
    base: str
    reader: BasicAuth = BasicAuth("", "")
    """The account that searches; anonymous without a name."""
    wanted: str = _DEFAULT_FILTER
    username: str = "uid"
    email: str = "mail"
    display_name: str = "cn"

    async def check(self, directory_name: str, password: str) -> bool:
        try:
            async with open_ldap(self.server) as connection:
                return await connection.bind(directory_name, password)
        except LdapError as error:
            raise DirectoryError(str(error)) from error

    async def people(self) -> list[Person]:
        try:
            async with open_ldap(self.server) as connection:
                reader = self.reader
                if reader.username and not await connection.bind(reader.username, reader.password):
                    raise DirectoryError("the directory rejected LDAP_BIND_DN and LDAP_BIND_PASSWORD")
                attributes = [self.username, self.email, self.display_name]
                found = [each async for each in connection.search(self.base, self.wanted, attributes)]
        except LdapError as error:
            raise DirectoryError(str(error)) from error
        return [self._person(each) for each in found if _first(each, self.username)]

    def _person(self, entry: Entry) -> Person:
        return Person(
            entry.name, _first(entry, self.username), _first(entry, self.email), _first(entry, self.display_name)
        )


def _first(entry: Entry, attribute: str) -> str:
    return next(iter(entry.attributes.get(attribute.lower(), ())), "")


def read_directory(environment: Mapping[str, str]) -> LdapDirectory | None:
    """None without LDAP_URL; `SettingError` if a setting is invalid."""
    url = environment.get("LDAP_URL")
    if not url:
        return None
    if not url.startswith(("ldap://", "ldaps://")):
        raise SettingError("LDAP_URL must begin with ldaps:// or ldap://")
    wanted = environment.get(_FILTER) or _DEFAULT_FILTER
    try:
        encode_filter(wanted)
    except FilterError as error:
        raise SettingError(f"{_FILTER} is not a valid filter: {error}") from error
    return LdapDirectory(
        Server(url, is_plain_allowed=environment.get("LDAP_ALLOW_PLAIN") == "1"),
        environment.get("LDAP_BASE_DN", ""),
        BasicAuth(environment.get("LDAP_BIND_DN", ""), environment.get("LDAP_BIND_PASSWORD", "")),
        wanted,
        environment.get("LDAP_ATTR_USERNAME") or "uid",
        environment.get("LDAP_ATTR_EMAIL") or "mail",
        environment.get("LDAP_ATTR_DISPLAY_NAME") or "cn",
    )


def sync_interval_s(environment: Mapping[str, str]) -> float:
    """0 synchronizes on request only."""
    return number(environment, INTERVAL, 0, most=_MOST_SECONDS, unit="seconds")
