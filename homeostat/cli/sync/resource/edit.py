"""`homeostat sync resource edit`: a resource of the repository in an editor."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.editor import EDITOR, check_terminal, edited_text
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.operators.sync.engine.errors import NotFoundError
from homeostat.operators.sync.engine.paths.logical import segments
from homeostat.operators.sync.engine.payload.codec import Payload, decode, encode
from homeostat.operators.sync.engine.tree.listing import read_payload
from homeostat.operators.sync.session.save import SaveOptions, save


@click.command("edit", short_help="Edit a resource of the repository.")
@path_arguments
@EDITOR
@sync_command(changes=True)
async def command(run: Run, path: str | None, path_option: str | None, editor: str | None) -> None:
    """Open the payload in an editor, and save it when the editor ends.

    \b
    Examples:
      homeostat sync resource edit /customers/acme
    """
    target = chosen_target(path, path_option)
    check_terminal("resource save -f")
    async with run.session(target.path, connects=False) as session:
        directory = session.root.at(segments(target.path))
        payload = read_payload(directory, target.path) if directory is not None else None
        if payload is None:
            raise NotFoundError(f"{target.path} is not in the repository")
        text = encode(payload.value, payload.form).decode()
        form = payload.form
        edited = await edited_text(run, text, editor, extension=form.extension, instead="resource save -f")
        if edited is None:
            return
        value = decode(edited.encode(), payload.form)
        names = await save(session, [(target.path, Payload(value, payload.form))], SaveOptions(force=True))
        await commit_files(session, f"declarest: save resource {target.path}", names)
