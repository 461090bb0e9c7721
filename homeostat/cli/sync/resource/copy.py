"""`homeostat sync resource copy`: a copy of a resource in the repository."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.flags import MESSAGE
from homeostat.cli.sync.console.payloads import assigned
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.repository.commits import commit_files, commit_message
from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import SyncError, ValidationError
from homeostat.operators.sync.engine.lists.items import identity_of
from homeostat.operators.sync.engine.paths.logical import parent, parse, segments
from homeostat.operators.sync.engine.payload.codec import Payload
from homeostat.operators.sync.engine.tree.listing import read_payload
from homeostat.operators.sync.session.remote import find, payload_of
from homeostat.operators.sync.session.save import SaveOptions, save
from homeostat.operators.sync.session.session import Session


@click.command("copy", short_help="Copy a resource in the repository.")
@path_arguments
@click.argument("target", required=False)
@click.option("--target-path", default=None, help="The target, instead of the argument.")
@click.option("--override-attributes", default="", help="Attributes to change: /pointer=value, with commas.")
@click.option("--force", is_flag=True, help="Replace a target that exists.")
@MESSAGE
@sync_command(changes=True)
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    target: str | None,
    target_path: str | None,
    override_attributes: str,
    force: bool,
    message: str,
) -> None:
    """Copy a resource to another path, with other attributes. One that the repository lacks is read from the server.

    \b
    Examples:
      homeostat sync resource copy /customers/acme /customers/bravo --override-attributes /id=bravo
    """
    if path_option is not None and path is not None and path != path_option and target is None:
        # With --path the argument is the target.
        path, target = None, path
    chosen = target if target is not None else target_path
    if chosen is None or (target is not None and target_path is not None and target != target_path):
        raise ValidationError("copy needs one target: an argument or --target-path")
    source, wanted = chosen_target(path, path_option).path, parse(chosen).path
    async with run.session("/", is_recursive=True) as session:
        directory = session.root.at(segments(source))
        local = read_payload(directory, source) if directory is not None else None
        payload = local if local is not None else await _of_server(session, source)
        value = assigned(payload.value, override_attributes) if override_attributes else payload.value
        options = SaveOptions(force=force, allow_plaintext=local is not None, form=payload.form)
        names = await save(session, [(wanted, Payload(value, payload.form))], options)
        if _is_same_object(session, source, payload.value, wanted, value):
            run.warn(f"{source} and {wanted} declare the same object; change its id with --override-attributes")
        text = commit_message(f"declarest: copy resource {source} to {wanted}", message)
        await commit_files(session, text, names)


async def _of_server(session: Session, path: str) -> Payload:
    try:
        return payload_of(await find(session, path))
    except SyncError as error:
        raise type(error)(f"{path} is not in the repository, and cannot be read from the server: {error}") from error


def _is_same_object(session: Session, source: str, before: Json, target: str, after: Json) -> bool:
    if parent(source) != parent(target) or not isinstance(before, dict) or not isinstance(after, dict):
        return False
    rules = session.metadata.rules(source)
    identity = identity_of(rules, after)
    return any(identity) and identity == identity_of(rules, before)
