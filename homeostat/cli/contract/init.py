"""`homeostat contract init`: creates a bundle that is valid as it is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from homeostat.cli.contract.session.result import ContractFailure, failures, print_result
from homeostat.cli.contract.session.settings import current_settings
from homeostat.operators.contracts.engine.files import CONTRACT_FILE
from homeostat.operators.contracts.engine.scaffold import new_bundle

is_service_name = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", re.ASCII).fullmatch


@click.command(short_help="Create a new bundle.")
@click.argument("name")
def command(name: str) -> None:
    """Create the directory NAME with a valid contract of the service NAME, an OpenAPI file and a schema.

    \b
    Examples:
      homeostat contract init billing
      homeostat contract init billing && homeostat contract validate billing
    """
    settings = current_settings()
    directory = name.rstrip("/") or name
    service = os.path.basename(directory)
    if not is_service_name(service):
        raise ContractFailure(f'"{service}" is not a name of a service; use lower-case letters, digits and -')
    if os.path.lexists(directory):
        raise ContractFailure(f'directory "{directory}" already exists')
    with failures():
        for path, data in new_bundle(service).items():
            file = Path(directory, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    contract = os.path.join(directory, CONTRACT_FILE)
    lines = (f"Created {directory}/", contract, f"{directory}/interfaces/", f"{directory}/configuration/")
    print_result(settings, lambda: {"Dir": directory, "Path": contract}, lambda: "\n  ".join(lines))
