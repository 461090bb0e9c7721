"""`homeostat policy analyze`: checks live clusters once, several at a time.

A cluster that does not answer is reported and skipped. Exit codes: 0 checked, 1 failed (`--fail-on`), 2 wrong usage,
3 no cluster answered, 4 some clusters did not answer.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

import click
import msgspec

from homeostat.cli.console.connection import reporting_errors
from homeostat.cli.console.failure import UnreachableFailure
from homeostat.cli.console.kubeconfig import kubeconfig_paths
from homeostat.cli.console.progress import counting
from homeostat.cli.console.table import Table
from homeostat.cli.policy.evaluation.report import print_report, report_options
from homeostat.cli.policy.evaluation.selection import chosen_policies, policy_options
from homeostat.cli.policy.evaluation.survey import Survey, survey_cluster
from homeostat.cli.policy.evaluation.threshold import FAILED, UNREADABLE, Threshold, fail_on_option, is_failed
from homeostat.client.base import Client, UnreachableError
from homeostat.client.connect import open_client
from homeostat.client.endpoint.kubeconfig import KubeconfigError, load_contexts, load_endpoint
from homeostat.client.projection import ProjectionError
from homeostat.objects.errors import ApiError, ForbiddenError, NotFoundError
from homeostat.objects.kind import NAMESPACE
from homeostat.objects.report.report import Entry, Problem, Report, Summary
from homeostat.operators.policy.document import PolicyDocument, policy_document
from homeostat.operators.policy.engine.inspection import TERMS, aggregate_line
from homeostat.operators.policy.spec import ORIGINAL_CHECKS

_ALL = sys.maxsize


@click.command(short_help="Check the Pods of live clusters.")
@click.option("--contexts", default="", metavar="A,B", help="Contexts of the kubeconfig.  [default: its current one]")
@click.option("--all-contexts", is_flag=True, help="Every context of the kubeconfig.")
@click.option("-n", "--namespace", default="", metavar="NS", help="One namespace only.  [default: all]")
@click.option("--kubeconfig", default="", metavar="FILE", help="Kubeconfig.  [default: as for other commands]")
@click.option("--per-cluster", is_flag=True, help="Report each cluster separately.")
@click.option("--violations", "is_long", is_flag=True, help="List violations in the table too; other forms always do.")
@policy_options
@fail_on_option(default="never")
@report_options
def command(
    contexts: str,
    all_contexts: bool,
    namespace: str,
    kubeconfig: str,
    per_cluster: bool,
    is_long: bool,
    files: tuple[str, ...],
    bundles: tuple[str, ...],
    thresholds: tuple[Threshold, ...],
    output: str,
    output_file: Path | None,
    limit: int,
) -> None:
    """Check all Pods of live clusters outside their system namespaces, once, without changing anything.

    Without --policy and --bundle it runs the five original checks. It checks several contexts at the same time and
    weighs their scores by their Pods; it reports and skips a cluster that does not answer.

    \b
    Examples:
      homeostat policy analyze
      homeostat policy analyze --bundle hardened --namespace shop
      homeostat policy analyze --contexts staging,production --per-cluster
      homeostat policy analyze --all-contexts -o html --output-file clusters.html
    """
    policies = chosen_policies(files, bundles, otherwise=policy_document("", "usual", ORIGINAL_CHECKS))
    with reporting_errors():
        paths = kubeconfig_paths(kubeconfig)
        names = _chosen(paths, contexts, is_all=all_contexts)
        is_short = output == "table" and not is_long
        most = 0 if is_short else _ALL
        surveys, problems = asyncio.run(_survey_all(paths, names, policies, namespace, most))
    if not surveys:
        raise UnreachableFailure("; ".join(f"{each.source}: {each.message}" for each in problems))
    if output == "table" and output_file is None:
        _print_counts(surveys, per_cluster=per_cluster)
    report = _report(surveys, problems, policies)
    print_report(report, output=output, output_file=output_file, limit=limit, heading="CLUSTER")
    severities = {severity for each in surveys for severity in each.totals.severities}
    if is_failed(thresholds, severities=severities, scores=report.summaries):
        sys.exit(FAILED)
    if problems:
        sys.exit(UNREADABLE)


def _chosen(paths: Sequence[Path], contexts: str, *, is_all: bool) -> list[str]:
    current, known = load_contexts(paths)
    if is_all:
        if contexts:
            raise click.UsageError("--contexts and --all-contexts exclude each other")
        return known
    names = list(dict.fromkeys(each.strip() for each in contexts.split(",") if each.strip()))
    if missing := [each for each in names if each not in known]:
        raise click.UsageError(f"the kubeconfig has no context {', '.join(missing)}; it has {', '.join(known)}")
    if not names and not current:
        raise KubeconfigError("the kubeconfig names no current context; choose with --contexts")
    return names or [current]


async def _survey_all(
    paths: Sequence[Path], names: Sequence[str], policies: Sequence[PolicyDocument], namespace: str, limit: int
) -> tuple[list[Survey], list[Problem]]:
    now = time.time()

    async def one(name: str, on_pods: Callable[[int], None]) -> list[Survey] | Problem:
        try:
            async with open_client(load_endpoint(paths, context=name)) as client:
                found = await survey_cluster(
                    client, policies, cluster=name, namespace=namespace, now=now, limit=limit, on_pods=on_pods
                )
                if namespace and not any(each.line.subjects for each in found):
                    await _require_namespace(client, namespace)
                return found
        except ProjectionError as error:
            problem = Problem(name, 0, str(error))
        except (UnreachableError, KubeconfigError, ApiError) as error:
            if len(names) == 1:
                raise
            problem = Problem(name, 0, error.message if isinstance(error, ApiError) else str(error))
        return problem

    with counting(names, "Pods") as counters:
        found = await asyncio.gather(*(one(name, counters[name]) for name in names))
    surveys = [survey for each in found if isinstance(each, list) for survey in each]
    return surveys, [each for each in found if isinstance(each, Problem)]


async def _require_namespace(client: Client, name: str) -> None:
    """A list in a namespace that does not exist is empty. `NotFoundError` names one that exists, if the caller may list
    them; a caller who may not read namespaces gets no error.
    """
    try:
        await client.get(NAMESPACE.path("", name))
    except ForbiddenError:
        return
    except NotFoundError as error:
        known = [each["metadata"]["name"] for each in (await client.list(NAMESPACE.path("")))[0]]
        near = get_close_matches(name, known, n=1)
        advice = f'did you mean "{near[0]}"?' if near else "list them with: homeostat get namespaces"
        raise NotFoundError(f'there is no namespace "{name}"; {advice}') from error


def _report(surveys: Sequence[Survey], problems: Sequence[Problem], policies: Sequence[PolicyDocument]) -> Report:
    """The clusters under each policy, with their aggregate where there are several."""
    several = len({each.cluster for each in surveys}) > 1
    lines: list[Summary] = []
    for policy in policies:
        own = [each.line for each in surveys if each.policy == policy.title]
        shown = [*own, aggregate_line(own, thresholds=policy.spec.thresholds)] if several else own
        lines += [_named(each, f"{each.title} {policy.title}") for each in shown] if len(policies) > 1 else shown
    entries = (entry for each in surveys for entry in (_of_clusters(each) if several else each.entries))
    return Report(tuple(entries), tuple(lines), tuple(problems), TERMS)


def _named(line: Summary, title: str) -> Summary:
    return msgspec.structs.replace(line, title=title)


def _of_clusters(survey: Survey) -> Iterator[Entry]:
    """The findings, each with its cluster before its policy."""
    for each in survey.entries:
        yield msgspec.structs.replace(each, origin=f"{survey.cluster}: {each.origin}")


def _print_counts(surveys: Sequence[Survey], *, per_cluster: bool) -> None:
    """Prints the units of each check, over all clusters or for each cluster."""
    counts: dict[tuple[str, ...], int] = {}
    for each in surveys:
        for name, units in each.totals.units.items():
            key = (each.cluster, name) if per_cluster else (name,)
            counts[key] = counts.get(key, 0) + units
    if counts:
        headings = ("CLUSTER", "CHECK", "UNITS") if per_cluster else ("CHECK", "UNITS")
        Table(headings).print([(*key, units) for key, units in counts.items()])
        click.echo()
