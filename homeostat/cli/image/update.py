"""`homeostat image update`: triggers passes and waits for them, previews them, or edits the files of a checkout."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.image.checkout import Checkout, edit_checkout
from homeostat.cli.image.preview import delivery_of, previews
from homeostat.cli.image.targets import named_deployments, read_known
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.operators.images.api import REQUESTED, ImageUpdateStatus
from homeostat.operators.images.decide import pinned_text
from homeostat.operators.images.engine.annotations import Tracked
from homeostat.operators.images.engine.entry import patched, skipped

_POLL_EVERY_S = 0.5


@click.command(short_help="Update Deployments now, or files of a checkout.")
@click.argument("names", nargs=-1, metavar="[NAMESPACE/NAME]...")
@click.option("--dry-run", "is_dry_run", is_flag=True, help="Print the difference that would be pushed; push nothing.")
@click.option(
    "--timeout",
    "within_s",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    default=300,
    show_default=True,
    help="Seconds to wait for the passes.",
)
@click.option(
    "--path",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Edit the files of a checkout, without a cluster; needs --image and --tag.",
)
@click.option("--image", default="", help="With --path: the image, as org/app or ghcr.io/org/app.")
@click.option("--tag", default="", help="With --path: the tag to write.")
@click.option("--file", "files", multiple=True, metavar="FILE", help="With --path: a file in it.  [default: all YAML]")
@click.option("--value-path", default="", help="With --path: the path of the value in files of Helm values.")
@click.option("--allow-file", is_flag=True, help="With --dry-run: allow repositories of this machine (file://).")
def command(
    names: tuple[str, ...],
    is_dry_run: bool,
    within_s: int,
    path: Path | None,
    image: str,
    tag: str,
    files: tuple[str, ...],
    value_path: str,
    allow_file: bool,
    **connection: str,
) -> None:
    """Update Deployments now: trigger a pass of the operator over those that are named, or all, and wait for it.

    With --dry-run nothing is pushed: the difference is computed here and printed. With --path the files of a checkout
    are edited by the same engine, without a cluster. Exits with 1 if an update fails.

    \b
    Examples:
      homeostat image update shop/web
      homeostat image update --dry-run
      homeostat image update --path . --image org/app --tag 1.5.0 --dry-run
    """
    if path is not None:
        if not image or not tag or names:
            raise click.UsageError("--path needs --image and --tag, and takes no names of Deployments")
        edit_checkout(Checkout(path, image, tag, files, value_path), is_dry_run=is_dry_run)
        return
    if image or tag or files or value_path:
        # Who forgot --path must not get an update of everything.
        raise click.UsageError("--image, --tag, --file and --value-path are for a checkout; add --path DIR")
    if allow_file and not is_dry_run:
        raise click.UsageError("--allow-file is for --dry-run; the operator has --images-allow-file")
    _on_cluster(names=names, is_dry_run=is_dry_run, within_s=within_s, allow_file=allow_file, **connection)


async def _update(
    connection: Connection, names: Sequence[str], *, is_dry_run: bool, within_s: int, allow_file: bool
) -> None:
    tracked = await named_deployments(connection, names)
    if not tracked:
        raise Failure("no Deployment is tracked; give one the annotations of gitops.operator")
    has_failed = (
        await _preview(connection, tracked, allow_file=allow_file)
        if is_dry_run
        else await _trigger(connection, tracked, within_s)
    )
    if has_failed:
        sys.exit(1)


_on_cluster = connected(_update)
# The options that choose a server; with --path none is needed.
command.params.extend(reversed(_on_cluster.__click_params__))  # type: ignore[attr-defined]


async def _preview(connection: Connection, tracked: Sequence[Tracked], *, allow_file: bool) -> bool:
    known, has_failed = await read_known(connection), False
    for preview in await previews(connection.client, tracked, known, allows_file=allow_file):
        for each in preview.plan.settled:
            has_failed |= each.entry.action == "failed"
            click.echo(f"{each.tracked.key}: {each.entry.action}: {each.entry.message}", err=True)
        for due in preview.plan.updates:
            if due.rules.pull is not None:
                click.echo(f"{due.tracked.key}: would be proposed by {delivery_of(due)}", err=True)
        click.echo(preview.diff, nl=False)
    return has_failed


async def _trigger(connection: Connection, tracked: Sequence[Tracked], within_s: int) -> bool:
    known = await read_known(connection, is_required=True)
    asked = list[Tracked]()
    for each in tracked:
        record = known.of(each)
        if not each.settings.enabled:
            click.echo(f"{each.key}: skipped: {skipped(each).message}")
        elif record.pin is not None:
            # A pass would change nothing: say so now, and not after waiting for it.
            click.echo(f"{each.key}: skipped: {pinned_text(each, record.pin, record)}")
        else:
            asked.append(each)
    request = format_micro_time(datetime.now(UTC))
    before = {each.key: known.status(each) for each in asked}
    for each in asked:
        patch = {"metadata": {"annotations": {REQUESTED: request}}}
        await connection.client.merge(each.kind.path(each.namespace, each.name), patch)
    waiting = {each.key: each for each in asked}
    has_failed = False
    try:
        async with asyncio.timeout(within_s):
            while waiting:
                known = await read_known(connection)
                for key, each in list(waiting.items()):
                    status = known.status(each)
                    if status.handled_request == request and status.result is not None:
                        has_failed |= status.result.action == "failed"
                        click.echo(f"{key}: {result_since(before[key], status, each)}")
                        del waiting[key]
                if waiting:
                    await asyncio.sleep(_POLL_EVERY_S)
    except TimeoutError:
        names = ", ".join(waiting)
        raise Failure(f"timed out after {within_s} s waiting for {names}; does the operator images run?") from None
    return has_failed


def result_since(before: ImageUpdateStatus, status: ImageUpdateStatus, tracked: Tracked) -> str:
    """Of the update: a pass right after it, which found nothing left to do, may have replaced its result."""
    assert status.result is not None
    if status.result.action == "up_to_date" and status.history and status.history[:1] != before.history[:1]:
        written = status.history[0]
        entry = patched(tracked, old=written.old, new=written.new)
        return f"{entry.action}: {entry.message}"
    return f"{status.result.action}: {status.result.message}"
