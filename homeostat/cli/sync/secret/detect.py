"""`homeostat sync secret detect`: finds attributes that look like secrets."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.payloads import structured_input
from homeostat.cli.sync.console.run import Run, path_arguments, sync_command
from homeostat.cli.sync.console.scope import listed
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.operators.sync.engine.errors import NotFoundError, ValidationError
from homeostat.operators.sync.engine.paths.logical import parse, segments
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.secrets.detect import detect
from homeostat.operators.sync.session.desired import local_payload
from homeostat.operators.sync.session.save import metadata_files
from homeostat.operators.sync.session.session import Session


@click.command("detect", short_help="Find attributes that look like secrets.")
@path_arguments
@click.option("-f", "--payload", default=None, help="A payload instead of resources of the repository.")
@click.option("--fix", is_flag=True, help="Add what is found to the metadata of the resources.")
@click.option("--secret-attribute", default=None, help="Only this pointer; it fails if it was not detected.")
@sync_command()
async def command(
    run: Run, path: str | None, path_option: str | None, payload: str | None, fix: bool, secret_attribute: str | None
) -> None:
    """Print the pointers of attributes that look like plain secrets, of a payload or of all resources below a path.

    \b
    Examples:
      homeostat sync secret detect -f customer.json
      homeostat sync secret detect /customers --fix
    """
    given = path if path is not None else path_option
    if given is None:
        if fix:
            raise ValidationError("--fix needs a path")
        print_value(run, _chosen(detect(await structured_input(payload or "-")), secret_attribute))
        return
    target = parse(given)
    async with run.session(target.path, is_recursive=True, connects=False) as session:
        found = dict[str, list[str]]()
        for each in listed(session, target, is_recursive=True):
            value = local_payload(session, each)
            if value is not None and (pointers := detect(value.value)):
                found[each] = pointers
        if secret_attribute is not None:
            found = {each: [secret_attribute] for each, pointers in found.items() if secret_attribute in pointers}
            if not found:
                raise NotFoundError(f"attribute {secret_attribute} was not detected as a secret")
        if fix:
            for each, pointers in found.items():
                await _fix(session, each, pointers)
        print_value(run, [{"LogicalPath": each, "Attributes": pointers} for each, pointers in found.items()])


def _chosen(pointers: list[str], wanted: str | None) -> list[str]:
    if wanted is None:
        return pointers
    if wanted not in pointers:
        raise ValidationError(f"attribute {wanted} was not detected as a secret")
    return [wanted]


async def _fix(session: Session, path: str, pointers: list[str]) -> None:
    declared = session.metadata.rules(path).secret_attributes
    merged = [*declared, *(each for each in pointers if each not in declared)]
    selector = Selector(tuple(segments(path)), False)
    files = metadata_files(session, selector, {"resource": {"secretAttributes": merged}})
    await session.files.write(files)
    await commit_files(session, f"declarest: set metadata {path}", list(files))
