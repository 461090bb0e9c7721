"""Changes the file that holds the credentials of `login`; its other contents stay as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from homeostat.cli.contract.session.result import ContractFailure
from homeostat.external.files import replace_private_file

_is_host = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?|\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
).fullmatch


def host_of(registry: str) -> str:
    """The host and port of a registry, also if it is given as the URL of its API. Raises `ContractFailure`."""
    host = host_key(registry)
    if not _is_host(host):
        raise ContractFailure(
            f'"{registry}" is not the host of a registry; expected one such as registry.example.org:5000'
        )
    return host


def host_key(key: str) -> str:
    return re.sub(r"/(v[12]/?)?$", "", re.sub(r"^https?://", "", key))


def change_credentials(environ: Mapping[str, str], change: Callable[[dict[str, Any]], None]) -> None:
    """Apply a change to the entries by registry. The file is replaced as a whole and only its owner can read it."""
    from homeostat.operators.contracts.sources.credential_order import config_file

    path = config_file(environ)
    config = _read(path)
    auths = config.get("auths") or {}
    if not isinstance(auths, dict):
        raise ContractFailure(f'"auths" of "{path}" is not a map; correct or remove it')
    before = dict(auths)
    change(auths)
    if auths != before:
        replace_private_file(path, msgspec.json.format(msgspec.json.encode({**config, "auths": auths}), indent=2))


def _read(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        # The error's own text may quote a secret.
        raise ContractFailure(f'"{path}" is not JSON; correct or remove it') from None
