"""`homeostat sync import`: a live server into the repository, in one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from homeostat.cli.sync.console.flags import ALLOW_PLAINTEXT, MESSAGE, PRUNE_DEFAULTS, PUSH
from homeostat.cli.sync.console.output import is_text, print_value
from homeostat.cli.sync.console.run import Run, sync_command
from homeostat.cli.sync.repository.commits import check_push, commit_files, commit_message
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.errors import SyncError, ValidationError
from homeostat.operators.sync.engine.paths.logical import is_within, parse, segments
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.tree.listing import has_payload
from homeostat.operators.sync.session.discover import (
    MOST_RESOURCES,
    Report,
    declare_secrets,
    discover,
    infer_metadata,
    known_collections,
)
from homeostat.operators.sync.session.save import Prepared, SaveOptions, metadata_files, prepare, write_prepared
from homeostat.operators.sync.session.session import Session


@click.command("import", short_help="Save all objects of a server into the repository.")
@click.argument("paths", nargs=-1)
@click.option("--exclude", multiple=True, help="Leave out what lies at this path or below it. Repeatable.")
@click.option("--full", is_flag=True, help="Read each object by itself, where lists show only a part of it.")
@ALLOW_PLAINTEXT
@PRUNE_DEFAULTS
@click.option("--force", is_flag=True, help="Replace resources that the repository has.")
@click.option(
    "--max-resources",
    type=click.IntRange(1, 200_000),
    default=MOST_RESOURCES,
    help=f"Stop if the server has more.  [default: {MOST_RESOURCES}]",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@PUSH
@MESSAGE
@sync_command(changes=True)
async def command(
    run: Run,
    paths: tuple[str, ...],
    exclude: tuple[str, ...],
    full: bool,
    allow_plaintext: bool,
    prune_defaults: bool,
    force: bool,
    max_resources: int,
    dry_run: bool,
    push: bool,
    message: str,
) -> None:
    """Read every collection that metadata or the OpenAPI document knows, and write one file for each object.

    Metadata is inferred from the OpenAPI document for collections that have none. What looks like a secret goes to the
    secret store, and the file gets a placeholder. Nothing is written if one object cannot be saved.

    \b
    Examples:
      homeostat sync import --dry-run
      homeostat sync import
      homeostat sync import /vhosts /users --exclude /users/guest
    """
    wanted, left_out = [parse(each).path for each in paths or ("/",)], [parse(each).path for each in exclude]
    async with run.session("/", is_recursive=True) as session:
        check_push(session, pushes=push)
        if not paths and not known_collections(session):
            raise ValidationError(
                "neither metadata nor an OpenAPI document names collections; give their paths, or set metadata.bundle "
                "or managedService.http.openapi in the context"
            )
        documents = infer_metadata(session)
        found = await discover(session, wanted, _reporter(run), is_full=full, most=max_resources)
        if not found.payloads and found.skipped:
            raise next(iter(found.skipped.values()))
        found.payloads = [each for each in found.payloads if not any(is_within(each[0], path) for path in left_out)]
        if not allow_plaintext:
            declare_secrets(session, documents, found)
        _check_new(session, [path for path, _ in found.payloads], force=force)
        options = SaveOptions(force=force, prune_defaults=prune_defaults, allow_plaintext=allow_plaintext)
        prepared = prepare(session, found.payloads, options)
        metadata = _metadata_files(session, documents)
        if not dry_run:
            names = await write_prepared(session, prepared)
            await session.files.write(metadata)
            text = commit_message(f"declarest: import {len(prepared)} resources", message)
            await commit_files(session, text, [*names, *metadata], pushes=push)
        _show(run, prepared, sorted(metadata), found.skipped)


def _reporter(run: Run) -> Report:
    def report(path: str, count: int) -> None:
        if not run.settings.is_quiet:
            click.echo(f"{path}: {count} resource{'s' * (count != 1)}", err=True)

    return report


def _metadata_files(session: Session, documents: Mapping[str, JsonObject]) -> dict[str, bytes | None]:
    return {
        name: data
        for address, document in documents.items()
        for name, data in metadata_files(session, Selector(tuple(segments(address)), True), document).items()
    }


def _check_new(session: Session, paths: Sequence[str], *, force: bool) -> None:
    existing = [] if force else [each for each in paths if has_payload(session.root.at(segments(each)))]
    if existing:
        more = f" and {len(existing) - 5} more" if len(existing) > 5 else ""
        raise ValidationError(
            f"the repository has {', '.join(existing[:5])}{more} already; pass --force to replace them, or --exclude"
        )


def _show(run: Run, prepared: Sequence[Prepared], metadata: list[str], skipped: Mapping[str, SyncError]) -> None:
    """What was written, and what was not."""
    secrets = sorted(key for each in prepared for key in each.secrets)
    errors = {path: run.scrubber.scrub(str(error)) for path, error in skipped.items()}
    if not is_text(run):
        entries = [{"path": path, "error": text} for path, text in errors.items()]
        paths = [each.path for each in prepared]
        print_value(run, {"resources": paths, "metadata": metadata, "secrets": secrets, "skipped": entries})
        return
    for path, text in errors.items():
        click.echo(f"skipped {path}: {text}")
    for word, names in (("metadata", metadata), ("secret", secrets)):
        for each in names:
            click.echo(f"{word} {each}")
    counts = f"{len(metadata)} metadata documents, {len(secrets)} secrets, {len(skipped)} skipped collections"
    click.echo(f"{len(prepared)} resources, {counts}")
