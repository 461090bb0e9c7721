"""`homeostat sync context check`: whether the parts of a context can be used."""

from __future__ import annotations

import click

from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import working_tree
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.errors import NotFoundError, SyncError, ValidationError
from homeostat.operators.sync.session.session import Session, fetch_shared

_PARTS = ("repository", "metadata", "managedService", "secretStore")


@click.command("check", short_help="Check that a context's parts can be used.")
@sync_command()
async def command(run: Run) -> None:
    """Check repository, metadata, managed server and secret store of the context.

    \b
    Examples:
      homeostat sync context check
    """
    async with run.session("/", fetches=False) as session:
        parts = [await _checked(run, session, each) for each in _PARTS]
        counts = {word: sum(each["status"] == word for each in parts) for word in ("ok", "warn", "fail", "skip")}
        passed = counts["fail"] == 0
        name = session.context["name"]
        if is_text(run):
            for each in parts:
                click.echo(f"{each['component']}: {each['status']} {each['error'] or each['details']}".rstrip())
        else:
            print_value(run, {"context": name, "passed": passed, "summary": counts, "components": parts})
        if not passed:
            raise ValidationError(f'context "{name}" has parts that cannot be used')


async def _checked(run: Run, session: Session, part: str) -> JsonObject:
    found = {"component": part, "status": "ok", "details": "", "error": ""}
    try:
        found["status"], found["details"] = await _check(run, session, part)
    except SyncError as error:
        found["status"], found["error"] = "fail", run.scrubber.scrub(str(error))
    return dict(found)


async def _check(run: Run, session: Session, part: str) -> tuple[str, str]:
    if part == "repository" and session.repository is not None:
        if not session.files.base.is_dir():
            raise NotFoundError(f"there is no directory {session.files.base}; create it with `context init`")
        if session.is_git:
            await working_tree(session).check()
        return "ok", str(session.files.base)
    if part == "metadata":
        session.shared, session.openapi = await fetch_shared(session.context, await run.surroundings())
        session.use(session.root)
        session.metadata.rules("/", is_collection=True)
        return "ok", ""
    if part == "managedService" and session.server is not None:
        try:
            await session.remote.check_health()
        except NotFoundError:
            return "warn", "the server answers 404 to the health check"
        return "ok", session.server.base
    if part == "secretStore" and session.store is not None:
        await session.store.keys()
        return "ok", ""
    return "skip", "not configured"
