"""`homeostat contract push`: publishes a bundle to a registry."""

from __future__ import annotations

import click

from homeostat.cli.console.failure import print_warning
from homeostat.cli.contract.publish.pack import check_valid
from homeostat.cli.contract.session.loaded import Loaded, load_local, published_files, require_directory
from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import Settings, current_settings
from homeostat.operators.contracts.engine.bundle.artifact import check_target, publish_reference
from homeostat.operators.contracts.engine.bundle.bundle import Bundle
from homeostat.operators.contracts.engine.reference import location
from homeostat.operators.contracts.engine.validate import Overrides, check_contract


@click.command(short_help="Publish a bundle to a registry.")
@click.argument("ref", metavar="REF")
@click.option("-p", "--path", default=".", show_default=True, metavar="DIRECTORY", help="The bundle.")
@click.option("-f", "--force", "is_forced", is_flag=True, help="Overwrite the tag if it exists.")
@override_options(has_short=False)
def command(ref: str, path: str, is_forced: bool, values: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Validate a bundle with all policies and push it to REF, such as oci://registry.example.org/contracts/billing.

    Without a tag, the tag is the version of the service. A tag that exists is left as it is, with a warning and exit
    code 0. A contract that refers to local directories cannot be published. Credentials: homeostat contract login, or
    those of Docker.

    \b
    Examples:
      homeostat contract push oci://registry.example.org/contracts/billing -p billing
      homeostat contract push oci://registry.example.org/contracts/billing:next -p billing --force
    """
    chosen = current_settings()
    pushed = run(_push(chosen, ref, path, read_overrides(values, settings), is_forced=is_forced))
    if pushed is None:
        return
    name = f"{pushed['Name']}@{pushed['Version']}"
    print_result(chosen, lambda: pushed, lambda: f"Pushed {name} -> {pushed['Ref']}\nDigest: {pushed['Digest']}")


async def _push(
    chosen: Settings, ref: str, path: str, overrides: Overrides, *, is_forced: bool
) -> dict[str, str] | None:
    from homeostat.operators.contracts.sources.push import is_published, push_bundle
    from homeostat.operators.contracts.sources.registry import check_reference

    check_target(ref)
    check_reference(location(ref))
    loaded = load_local(require_directory(path, "push"), overrides)
    contract = loaded.parsed.contract
    async with Session(chosen) as session:
        target = await _checked(session, loaded, ref)
        bundle = Bundle(contract, published_files(loaded, overrides))
        if not is_forced and await is_published(session.source.registry, target):
            print_warning(f"artifact already exists: {target} (use --force to overwrite)")
            return None
        digest = await push_bundle(session.source.registry, target, bundle)
    return {"Ref": target, "Digest": digest, "Name": contract.service.name, "Version": contract.service.version}


async def _checked(session: Session, loaded: Loaded, ref: str) -> str:
    """The reference to push to, once everything holds. Local references are refused before policies are fetched."""
    findings = check_contract(loaded.parsed, loaded.files)
    if not findings.errors:
        target = publish_reference(ref, loaded.parsed.contract)
        await session.verify_lock(loaded)
        findings = (await session.closure(loaded).validate(loaded.parsed, loaded.files)).findings
    check_valid(findings)
    return target
