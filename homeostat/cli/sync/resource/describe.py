"""`homeostat sync resource describe`: what metadata and the OpenAPI document say of a resource."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import print_value
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.engine.metadata.call import Place
from homeostat.operators.sync.engine.paths.logical import parent
from homeostat.operators.sync.session.remote import render


@click.command("describe", short_help="Describe a resource: its identity and operations.")
@path_arguments
@sync_command()
async def command(run: Run, path: str | None, path_option: str | None) -> None:
    """Print the collection, the identity templates, the secrets and the operations of a resource.

    \b
    Examples:
      homeostat sync resource describe /customers/acme
    """
    target = chosen_target(path, path_option)
    async with run.session(target.path) as session:
        rules = session.metadata.rules(target.path, is_collection=target.is_collection)
        operations: JsonObject = {}
        for each in rules.operations:
            if each == "compare":
                continue
            try:
                place = Place(path=target.path, is_collection=target.is_collection)
                call = await render(session, rules, each, place)
            except SyncError:
                continue
            operations[each] = {"method": call.method, "path": call.path}
        print_value(
            run,
            {
                "path": target.path,
                "collection": target.path if target.is_collection else parent(target.path),
                "identity": {"id": rules.id.text, "alias": rules.alias.text},
                "format": rules.form.type if rules.form is not None else "any",
                "secretAttributes": list(rules.secret_attributes),
                "requiredAttributes": list(rules.required),
                "operations": operations,
            },
        )
