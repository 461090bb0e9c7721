"""Fetches the servers that tests use from Debian's archive: RabbitMQ, OpenSSH, OpenLDAP, docker-registry, Prometheus.

    python -m tools.fetch_servers

Into `.cache/servers`; nothing is installed, and what is there is kept. It takes some 80 MB, and needs no root. Exits
with `UNAVAILABLE` where there is no apt, or no archive that it can reach.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools import debian
from tools.provision import CACHE as ALL
from tools.provision import MissingProgramError, provide

CACHE = ALL / "servers"
PACKAGES = ("rabbitmq-server", "openssh-server", "slapd", "prometheus", "docker-registry")
PROGRAMS = ("rabbitmq-server", "epmd", "sshd", "slapd", "promtool", "prometheus", "docker-registry")
_PLACES = ("usr/sbin", "usr/bin", "usr/lib/rabbitmq/bin", "usr/lib/erlang/erts-*/bin")


def find_program(name: str) -> Path:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/rabbitmq/bin"])
    if found := shutil.which(name, path=path):
        return Path(found)
    for place in _PLACES:
        for fetched in CACHE.glob(f"{place}/{name}"):
            if fetched.exists():
                return fetched
    raise MissingProgramError(f"no {name}: make servers, with apt and Debian's archive")


def library_path() -> dict[str, str]:
    """What the environment of these servers needs, to find their libraries."""
    return debian.library_path(CACHE)


def is_here() -> bool:
    try:
        return all(find_program(each) for each in PROGRAMS)
    except MissingProgramError:
        return False


def bring() -> Path:
    if not is_here():
        debian.fetch(CACHE, PACKAGES)
    return CACHE


if __name__ == "__main__":
    provide(bring)
