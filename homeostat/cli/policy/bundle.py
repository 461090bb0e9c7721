"""`homeostat policy bundle`: prints a shipped policy as an object."""

from __future__ import annotations

import click

from homeostat.cli.console.output import documents_option, print_object
from homeostat.cli.policy.files.policies import PolicyFailure
from homeostat.operators.policy.bundle import UnknownBundleError, load_bundle, policy_of


@click.command(short_help="Print a shipped policy as a DevOpsPolicy.")
@click.argument("name")
@click.option("-n", "--namespace", default="default", show_default=True, metavar="NS", help="Namespace of the policy.")
@click.option("--policy-name", default="devops-policy", show_default=True, metavar="NAME", help="Name of the policy.")
@documents_option
def command(name: str, namespace: str, policy_name: str, output: str) -> None:
    """Print a policy that ships with the operator as a DevOpsPolicy. The case of NAME does not matter.

    \b
    Examples:
      homeostat policy bundle restricted --namespace shop | kubectl apply -f -
      homeostat policy bundle hardened > policy.yaml
    """
    try:
        bundle = load_bundle(name)
    except UnknownBundleError as error:
        raise PolicyFailure(str(error)) from error
    print_object(policy_of(bundle, namespace=namespace, name=policy_name), output)
