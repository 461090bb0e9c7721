"""Where a process renews the certificate that it serves, from its options: in a Secret, or in its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from homeostat.cli.webhook.storage import DirectoryStorage
    from homeostat.client.base import Client
    from homeostat.runtime.control.recorder import Recorder
    from homeostat.web.certificates.files import FileCertificate
    from homeostat.web.certificates.renewal import Renewal


def read_secret_name(text: str, *, option: str) -> tuple[str, str]:
    """Namespace and name; `UsageError` if the text has another form."""
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise click.UsageError(f'{option} takes NAMESPACE/NAME, not "{text}"')
    return namespace, name


def renewal_of(
    client: Client, certificate: FileCertificate, place: tuple[str, str] | DirectoryStorage, recorder: Recorder
) -> Renewal:
    """Files without the key of their authority are not renewed; their expiry is reported."""
    from homeostat.web.certificates.renewal import Renewal, SecretStorage, event_report

    def served() -> bytes:
        return certificate.certificate

    if isinstance(place, tuple):
        return Renewal(SecretStorage(client, *place), served, report=event_report(recorder, *place))
    return Renewal(place if place.can_renew else None, served)
