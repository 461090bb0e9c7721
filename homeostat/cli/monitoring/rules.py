"""`homeostat monitoring rules`: prints the alerts as a rule file of Prometheus."""

from __future__ import annotations

import sys

import click

from homeostat.cli.monitoring.alerts import rule_group
from homeostat.cli.monitoring.signals import chosen_signals, signals_options
from homeostat.cli.monitoring.target import one_target
from homeostat.objects import yaml


@click.command(short_help="Print the alerts as a rule file of Prometheus.")
@signals_options
@click.option("--job", default="homeostat", show_default=True, help="The job that scrapes the plane or the operators.")
@click.option("--webhook-job", default="", metavar="JOB", help="The job of admission webhooks.  [default: as of --job]")
@click.option("-n", "--namespace", default="", metavar="NS", help="The namespace that Prometheus adds, in a cluster.")
@click.option(
    "--runbooks", default="", metavar="URL", help="Where docs/runbooks.md is served: alerts then link to their section."
)
def command(operators: str, has_plane: bool, job: str, webhook_job: str, namespace: str, runbooks: str) -> None:
    """Print the alerts of a plane, of the controllers and of operators as a rule file of Prometheus.

    \b
    Examples:
      homeostat monitoring rules > homeostat.rules.yaml
      homeostat monitoring rules --job plane --operators policy,images
      homeostat monitoring rules --no-plane --job homeostat --namespace homeostat
    """
    target = one_target(job, namespace=namespace, webhook=webhook_job)
    groups = [
        rule_group(each, target, name=f"homeostat-{each.name}", runbooks=runbooks)
        for each in chosen_signals(operators, has_plane=has_plane)
        if each.alerts
    ]
    sys.stdout.buffer.write(yaml.dump({"groups": groups}))
    sys.stdout.buffer.flush()
