"""`homeostat top`: CPU and memory of Nodes and Pods, from `metrics.k8s.io`, as `kubectl top` prints them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import click

from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.console.output import is_table, output_option, print_list
from homeostat.cli.console.selection import all_namespaces_option, selector_option
from homeostat.cli.console.table import Table
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.cli.top.usage import Usage, percent, total, usage_of
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

_NODES: Final = Kind("metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", is_namespaced=False)
_PODS: Final = Kind("metrics.k8s.io", "v1beta1", "pods", "PodMetrics", is_namespaced=True)
_WORDS: Final = {"nodes": _NODES, "node": _NODES, "no": _NODES, "pods": _PODS, "pod": _PODS, "po": _PODS}


class _Measured(NamedTuple):
    names: tuple[str, ...]
    """The cells before the numbers."""
    usage: Usage
    obj: JsonObject | None = None


@click.command(short_help="Show the CPU and memory that Nodes and Pods use.")
@click.argument("kind", type=click.Choice(list(_WORDS)), metavar="nodes|pods")
@click.argument("name", default="")
@all_namespaces_option
@selector_option
@click.option("--containers", "is_detailed", is_flag=True, help="Of Pods: print each container.")
@click.option("--sort-by", type=click.Choice(["cpu", "memory"]), default=None, help="Print the highest first.")
@output_option
@connected
async def command(
    connection: Connection,
    kind: str,
    name: str,
    all_namespaces: bool,
    selector: str,
    is_detailed: bool,
    sort_by: str | None,
    output: str,
) -> None:
    """Show the CPU and memory that Nodes or Pods use, where the server has metrics.

    A plane has them with --workloads simulated, for Pods whose use is declared. A cluster has them with metrics-server.

    \b
    Examples:
      homeostat top nodes
      homeostat top pods -A --sort-by cpu
      homeostat top pods -n shop -l app=web --containers
      homeostat top pods -n shop -o json
    """
    if name and (selector or all_namespaces):
        raise click.UsageError("pass a NAME, or --selector and --all-namespaces, not both")
    chosen = _WORDS[kind]
    if is_detailed and chosen is _NODES:
        raise click.UsageError("--containers is for pods")
    namespace = "" if all_namespaces else connection.namespace
    found = await _read(connection.client, chosen, namespace, name, selector)
    if not found and is_table(output):
        click.echo("No metrics found.", err=True)
        return
    if not is_table(output):
        _print_objects(chosen, found, sort_by, output, is_single=bool(name))
    elif chosen is _NODES:
        await _print_nodes(connection.client, found, sort_by)
    else:
        _print_pods(found, sort_by, is_detailed=is_detailed, has_namespaces=all_namespaces)


async def _read(client: Client, kind: Kind, namespace: str, name: str, selector: str) -> list[JsonObject]:
    try:
        if name:
            return [await client.get(kind.path(namespace, name))]
        return (await client.list(kind.path(namespace), labelSelector=selector))[0]
    except NotFoundError as error:
        if name and await _has_metrics(client):
            raise
        raise Failure(
            "the server has no metrics (metrics.k8s.io); a plane has them with --workloads simulated, a cluster with "
            "metrics-server"
        ) from error


async def _has_metrics(client: Client) -> bool:
    try:
        await client.get(f"/apis/{_PODS.group}/{_PODS.version}")
    except ApiError:
        return False
    return True


def _print_objects(
    kind: Kind, found: Sequence[JsonObject], sort_by: str | None, output: str, *, is_single: bool
) -> None:
    """The objects as the server has them: each container of a Pod is in its object."""
    measured = [
        _Measured((each["metadata"].get("namespace", ""), each["metadata"]["name"]), _used_by(each), each)
        for each in found
    ]
    objects = [with_type_meta(kind, each.obj) for each in _sorted(measured, sort_by) if each.obj is not None]
    print_list(objects, output, is_single=is_single)


def _used_by(obj: JsonObject) -> Usage:
    """Of a Node, or of all containers of a Pod."""
    if "usage" in obj:
        return usage_of(obj["usage"] or {})
    return total(usage_of(each.get("usage") or {}) for each in obj.get("containers") or ())


async def _print_nodes(client: Client, found: Sequence[JsonObject], sort_by: str | None) -> None:
    nodes, _ = await client.list("/api/v1/nodes")
    allocatable = {
        each["metadata"]["name"]: usage_of(each.get("status", {}).get("allocatable") or {}) for each in nodes
    }
    measured = [_Measured((each["metadata"]["name"],), usage_of(each.get("usage") or {})) for each in found]
    table = Table(("NAME", "CPU(cores)", "CPU(%)", "MEMORY(bytes)", "MEMORY(%)"))
    table.print(
        (
            *each.names,
            each.usage.cpu_text,
            percent(each.usage.cpu, allocatable.get(each.names[0], Usage()).cpu),
            each.usage.memory_text,
            percent(each.usage.memory, allocatable.get(each.names[0], Usage()).memory),
        )
        for each in _sorted(measured, sort_by)
    )


def _print_pods(found: Sequence[JsonObject], sort_by: str | None, *, is_detailed: bool, has_namespaces: bool) -> None:
    measured: list[_Measured] = []
    for each in found:
        place = (each["metadata"].get("namespace", ""),) if has_namespaces else ()
        pod, containers = each["metadata"]["name"], each.get("containers") or []
        used = [(one.get("name", ""), usage_of(one.get("usage") or {})) for one in containers]
        if is_detailed:
            measured += [_Measured((*place, pod, name), usage) for name, usage in used]
        else:
            measured.append(_Measured((*place, pod), total(usage for _, usage in used)))
    headings: tuple[str, ...] = ("NAMESPACE",) if has_namespaces else ()
    headings += ("POD", "NAME") if is_detailed else ("NAME",)
    table = Table((*headings, "CPU(cores)", "MEMORY(bytes)"))
    table.print((*each.names, each.usage.cpu_text, each.usage.memory_text) for each in _sorted(measured, sort_by))


def _sorted(measured: Sequence[_Measured], sort_by: str | None) -> list[_Measured]:
    orders: dict[str | None, Callable[[_Measured], tuple[int, tuple[str, ...]]]] = {
        "cpu": lambda each: (-each.usage.cpu.nanos, each.names),
        "memory": lambda each: (-each.usage.memory.nanos, each.names),
        None: lambda each: (0, each.names),
    }
    return sorted(measured, key=orders[sort_by])
