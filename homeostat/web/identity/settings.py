"""Checks all environment variables about users and logins before anything is served."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.web.identity.credentials.token import expiry_hours, given_key
from homeostat.web.identity.first_admin import first_admin
from homeostat.web.identity.ldap.directory import read_directory, sync_interval_s


def check_settings(environment: Mapping[str, str]) -> None:
    """`SettingError` names the variable that `open_identity` would refuse."""
    for read in (first_admin, given_key, expiry_hours, read_directory, sync_interval_s):
        read(environment)
