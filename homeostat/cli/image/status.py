"""`homeostat image status`: lists the tracked Deployments, their tags and the results of the last pass."""

from __future__ import annotations

from typing import Final

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import print_warning
from homeostat.cli.console.output import TABLE, is_table, output_option, print_list
from homeostat.cli.console.table import Table, shorten_commits
from homeostat.cli.image.targets import Known, find_deployments, read_known
from homeostat.objects.json import JsonObject
from homeostat.operators.images.api import PullRequest
from homeostat.operators.images.engine.annotations import Tracked

_HEADINGS: Final = ("NAMESPACE", "NAME", "ENABLED", "IMAGE", "RUNS", "TAG", "WANTED", "RESULT", "PINNED", "REQUEST")
_WIDE: Final = (*_HEADINGS, "MESSAGE", "COMMIT")
_TAGS: Final = ("runs", "tag", "wanted", "pinned")


@click.command(short_help="List the tracked Deployments, their tags and results.")
@output_option
@connected
async def command(connection: Connection, output: str) -> None:
    """List the tracked Deployments of all namespaces, or with --namespace those of one.

    RUNS is the tag in the Deployment, TAG the one in the manifests repository after the last pass, WANTED the one that
    is due, and REQUEST the pull request that proposes it: (refused) if somebody closed it, (changed) if somebody else
    pushed to its branch. Tags that are commits are shortened; -o wide has them whole, with the message of the last
    result.

    \b
    Examples:
      homeostat image status
      homeostat image status -o wide
      homeostat image status -n shop -o json
    """
    namespace = str(click.get_current_context().params["namespace"])
    found, known = await find_deployments(connection, namespace), await read_known(connection, namespace)
    rows = [_row(each, known) for each in sorted(found.tracked, key=lambda each: each.key)]
    for key, problem in sorted(found.problems.items()):
        print_warning(f"{key} is not tracked: {problem}")
    if not is_table(output):
        print_list(rows, output, name=lambda each: f"{each['namespace']}/{each['name']}")
        return
    if not rows and not found.problems:
        where = f"in the namespace {namespace}" if namespace else "here"
        click.echo(f"no workload {where} has the annotations of gitops.operator; see docs/images.md", err=True)
        return
    headings = _HEADINGS if output == TABLE else _WIDE
    shown = [_shortened(each) for each in rows] if output == TABLE else rows
    Table(headings).print([list(each.values())[: len(headings)] for each in shown])


def _row(tracked: Tracked, known: Known) -> JsonObject:
    status, update = known.status(tracked), known.find(tracked)
    pin = update.spec.pin if update is not None else None
    return {
        "namespace": tracked.namespace,
        "name": tracked.label,
        "enabled": tracked.settings.enabled,
        "image": tracked.settings.image,
        "runs": tracked.version,
        "tag": status.tag or "",
        "wanted": status.wanted or "",
        "result": status.result.action if status.result is not None else "",
        "pinned": "" if pin is None else pin.tag or "yes",
        "request": _request(status.pull_request),
        "message": status.result.message if status.result is not None else "",
        "commit": status.commit or "",
    }


def _shortened(row: JsonObject) -> JsonObject:
    return {**row, **{each: shorten_commits(row[each]) for each in _TAGS}}


def _request(pull: PullRequest | None) -> str:
    if pull is None:
        return ""
    return pull.url if pull.state == "open" else f"{pull.url or pull.branch} ({pull.state})"
