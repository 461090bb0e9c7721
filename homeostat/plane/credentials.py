"""The keys and certificates of a plane, and the kubeconfig for it.

Replicas on one database share a data directory: they have the same authority, keys and tokens, and a server certificate
each. The first start creates what is missing, one replica at a time.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from datetime import UTC, datetime

from homeostat.plane.plane import Plane
from homeostat.plane.settings import Settings
from homeostat.server.pki.directory import Pki, PkiError, hosts_of, keep_issued, prepare_pki, renew
from homeostat.server.pki.first_credentials import IssuedAhead
from homeostat.server.pki.kubeconfig import ClientCertificate, kubeconfig
from homeostat.server.pki.private_file import read_private, write_private
from homeostat.store.files import exclusive

log = logging.getLogger(__name__)

_RENEW_EVERY_S = 12 * 3600.0


def pki_of(settings: Settings) -> Pki:
    """Where the keys and certificates of a plane are."""
    name = f"server-{socket.gethostname()}-{settings.port}" if settings.is_shared else "server"
    return Pki(settings.data / "pki", name)


def prepare_credentials(settings: Settings, ahead: IssuedAhead | None) -> None:
    """Create or check keys and certificates; blocks. `PkiError` for files that exist and cannot be used."""
    pki = pki_of(settings)
    with exclusive(settings.data / "pki.lock"):
        if ahead is not None:
            keep_issued(pki, ahead.read())
        prepare_pki(pki, hosts=hosts_of(settings.bind, settings.address), now=datetime.now(UTC))


async def renew_credentials(plane: Plane, pki: Pki, context: ssl.SSLContext) -> None:
    while True:
        await asyncio.sleep(_RENEW_EVERY_S)
        try:
            if await asyncio.to_thread(_renew, plane.settings, pki, context):
                write_kubeconfig(plane, pki)
        except (PkiError, OSError) as error:
            log.error("failed to renew certificates", extra={"reason": str(error)})


def write_kubeconfig(plane: Plane, pki: Pki) -> None:
    from homeostat.objects import yaml

    if plane.settings.is_open:
        config = kubeconfig(plane.url)
    else:
        credential = ClientCertificate(pki.admin.read_bytes(), pki.admin.with_suffix(".key").read_bytes())
        config = kubeconfig(plane.url, authority=pki.authority.read_bytes(), credential=credential)
    data = yaml.dump(config)
    # On a full disk a plane that has served there before starts, and answers reads.
    if read_private(plane.kubeconfig_path) != data:
        write_private(plane.kubeconfig_path, data)


def _renew(settings: Settings, pki: Pki, context: ssl.SSLContext) -> bool:
    with exclusive(settings.data / "pki.lock"):
        return renew(pki, context, hosts=hosts_of(settings.bind, settings.address), now=datetime.now(UTC))
