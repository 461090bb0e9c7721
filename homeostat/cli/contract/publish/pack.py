"""`homeostat contract pack`: writes a bundle to a file, the same bytes on every machine."""

from __future__ import annotations

from pathlib import Path

import click

from homeostat.cli.contract.session.loaded import load_local, published_files, require_directory
from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import ContractFailure, failures, print_problem, print_result
from homeostat.cli.contract.session.settings import BUNDLE, current_settings
from homeostat.external.oci.bundle import pack_bundle
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.validate import validate


@click.command(short_help="Write a bundle to a file.")
@click.argument("ref", metavar="[DIRECTORY]", default=".", type=BUNDLE)
@click.option("-o", "--output", metavar="FILE", help="The file to write.  [default: NAME-VERSION.tar.gz]")
@override_options()
def command(ref: str, output: str | None, values: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Validate a bundle and write its files, as a gzipped tar archive. Equal files give equal bytes.

    Files that .pactoignore names are left out. Policies of other bundles are not enforced here; validate does that.

    \b
    Examples:
      homeostat contract pack billing
      homeostat contract pack billing -o dist/billing.tar.gz --set service.version=1.3.0
    """
    chosen = current_settings()
    with failures():
        overrides = read_overrides(values, settings)
        loaded = load_local(require_directory(ref, "pack"), overrides)
        check_valid(validate(loaded.parsed, loaded.files).findings)
        service = loaded.parsed.contract.service
        target = output or f"{service.name}-{service.version}.tar.gz"
        files = published_files(loaded, overrides, but=Path(target).resolve())
        Path(target).write_bytes(pack_bundle(files))
    fields = {"Output": target, "Name": service.name, "Version": service.version}
    print_result(chosen, lambda: fields, lambda: f"Packed {service.name}@{service.version} -> {target}")


def check_valid(findings: Findings) -> None:
    """Fail if there is an error, and print what is wrong. Warnings and codes are those of `validate`: scripts that pack
    and push look for codes of locks alone.
    """
    for each in findings.errors:
        print_problem(f"  ERROR {each.path}: {each.message}" if each.path else f"  ERROR {each.message}")
    if findings.errors:
        raise ContractFailure(f"contract validation failed with {len(findings.errors)} error(s)")
