"""`homeostat contract pull`: fetches a bundle from a registry into a directory."""

from __future__ import annotations

from pathlib import Path

import click

from homeostat.cli.contract.init import is_service_name
from homeostat.cli.contract.session.files import write_files
from homeostat.cli.contract.session.result import ContractFailure, failures, print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import Settings, current_settings, verify_option
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.reference import is_oci
from homeostat.operators.contracts.sources.errors import InvalidRefError


@click.command(short_help="Fetch a bundle from a registry.")
@click.argument("ref", metavar="REF")
@click.option("-o", "--output", metavar="DIRECTORY", help="The directory to write to.  [default: the service's name]")
@verify_option
def command(ref: str, output: str | None) -> None:
    """Fetch the bundle REF, such as oci://registry.example.org/contracts/billing, and write its files to a directory.

    Without tag and digest it is the highest version. Files that the directory already has are overwritten; links in it
    are not followed.

    \b
    Examples:
      homeostat contract pull oci://registry.example.org/contracts/billing
      homeostat contract pull oci://registry.example.org/contracts/billing:1.2.0 -o vendor/billing
      homeostat contract pull oci://registry.example.org/contracts/billing --verify-key cosign.pub
    """
    chosen = current_settings()
    found, bundle = run(_pull(chosen, ref))
    service = bundle.contract.service
    target = output or service.name
    if not output and not is_service_name(target):
        raise ContractFailure(f'"{target}" is not a name of a directory; choose one with -o')
    with failures():
        write_files(Path(target), bundle.files)
    fields = {"Ref": found, "Output": target, "Name": service.name, "Version": service.version}
    print_result(chosen, lambda: fields, lambda: f"Pulled {service.name}@{service.version} -> {target}/")


async def _pull(chosen: Settings, ref: str) -> tuple[str, Bundle]:
    if not is_oci(ref) and "/" not in ref:
        raise InvalidRefError(f'pull requires an OCI reference (oci://...): got "{ref}"')
    async with Session(chosen) as session:
        pulled = await session.pull(ref)
        return pulled.ref, pulled.bundle()
